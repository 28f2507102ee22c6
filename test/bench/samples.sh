#!/bin/bash
# SPDX-License-Identifier: MIT
#
# samples.sh [shares] [quality] [cost] [speed] [walks] [loss] [stage] - accuracy and cost
# of CPU samples, compared with perf on the same programs. As root.
#
#   shares    self and inclusive shares of both samplers in the same run, 20 000 samples, ROUNDS=3 times; and how far
#             two runs of perf alone are apart
#   quality   of all stacks, those that reach the thread's first function
#   cost      the target's wall time: alone, under perf record -g, under --call-graph dwarf, ours
#   speed     CPU of the helper for each sample; perf script's for each of its samples
#   walks     the same of recorded samples read again: no process, no kernel, so it can be had twice
#   loss      two busy threads at 4 kHz
#   stage     the report on SECONDS (60) of two cc1plus

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
have perf || exit 0
[ "$(id -u)" = 0 ] || { echo "skipped: perf and rings of 8 MiB need root"; exit 0; }
[ $# -gt 0 ] || set -- shares quality cost speed walks loss stage
tmp=$(mktemp -d) || exit
trap 'rm -rf "$tmp"' EXIT
export HOTPATH_PROFILE_DIR=off

# --- programs ---

programs()
{
	local source

	compile -fomit-frame-pointer -o "$out/known" -xc - <<-'END' || return
		#include <stdlib.h>
		static volatile unsigned long sink;
		#define WORK(name, n) __attribute__((noinline)) void name(void) \
			{ for (long i = 0; i < (n); i++) sink += (unsigned long)i; }
		WORK(ten, 10000) WORK(twenty, 20000) WORK(thirty, 30000)
		__attribute__((noinline)) void both(void) { ten(); thirty(); sink++; }
		int main(int argc, char **argv)
		{
			for (long i = argc > 1 ? atol(argv[1]) : 1000; i > 0; i--) {
				both();
				twenty();
			}
			return 0;
		}
	END
	if [ ! -x "$out/plainlua" ]; then
		source=$(scripts/fetch-source lua5.4 "$build/source") &&
			CC=gcc scripts/build-program lua5.4 "$source" "$out/plainlua" -O2 -fomit-frame-pointer >/dev/null 2>&1
	fi
	cat >"$out/work.lua" <<-'END'
		local n = tonumber(arg[1]) or 1
		for round = 1, n do
			local t = {}
			for i = 1, 60000 do t[i] = (i * 7919) % 60013 end
			table.sort(t)
			local s = {}
			for i = 1, 20000 do s[#s + 1] = string.format("%d:%s", i, t[i]) end
			local all = table.concat(s, ",")
			for w in all:gmatch("%d+:%d+") do t[w] = #w end
		end
	END
	[ -s "$out/random" ] || seq 3000000 | awk '{ print ($1 * 7919) % 1000003 }' >"$out/random"
	big_source
}

# Templates enough to keep the compiler busy; N of it = some 2.5 s.
big_source()
{
	[ -s "$out/big.ii" ] || {
		echo '#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>'
		for i in $(seq 4); do
			echo "struct s$i { int a; std::string b; bool operator<(const s$i &o) const { return a < o.a; } };
int f$i(int n) { std::map<s$i, std::vector<std::string>> m; std::vector<s$i> v;
 for (int j = 0; j < n; j++) { v.push_back({ j, std::to_string(j) }); m[v.back()].push_back(\"x\"); }
 std::sort(v.begin(), v.end()); std::regex r(\"a+\"); std::unordered_map<int, s$i> u;
 for (auto &x : v) u[x.a] = x; return (int)m.size() + (int)u.size() + std::regex_match(v[0].b, r); }"
		done
	} >"$tmp/big.cc" && [ -s "$out/big.ii" ] || g++ -E -o "$out/big.ii" "$tmp/big.cc"
}

rust_program()
{
	[ -x "$out/rusty" ] && return
	have rustc >/dev/null || return
	cat >"$tmp/rusty.rs" <<-'END'
		use std::collections::{BTreeMap, HashMap};
		fn parse(line: &str) -> Vec<u64> { line.split(',').filter_map(|p| p.trim().parse().ok()).collect() }
		fn main() {
		    let n: u64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(10);
		    let mut sum = 0u64;
		    for round in 0..n {
		        let text: Vec<String> = (0..20000u64).map(|i| format!("{},{},{}", i, i * round, i ^ 77)).collect();
		        let mut tree = BTreeMap::new();
		        let mut map: HashMap<u64, Vec<u64>> = HashMap::new();
		        for line in &text { let v = parse(line); tree.insert(v[1], v[0]); map.entry(v[2] % 997).or_default().push(v[0]); }
		        sum += tree.values().take(100).sum::<u64>() + map.values().map(|v| v.len() as u64).max().unwrap_or(0);
		    }
		    println!("{}", sum);
		}
	END
	rustc -O -o "$out/rusty" "$tmp/rusty.rs" 2>/dev/null
}

cc1plus=$(g++ -print-prog-name=cc1plus)
sql="WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<%d) SELECT sum(length(hex(x*x))), count(DISTINCT x%%977) FROM c;"
python="import json,re
for i in range(%d):
    d={str(k):[k*j for j in range(20)] for k in range(2000)}
    s=json.dumps(d); json.loads(s); len(re.findall(r'[0-9]+5', s)); sorted(d, key=lambda x: x[::-1])"

# run PROGRAM AMOUNT - as the words of a command, in `words`.
words_of()
{
	case $1 in
	known) words=("$out/known" "$(($2 * 6000))") ;;
	lua) words=("$out/plainlua" "$out/work.lua" "$(($2 * 20))") ;;
	bzip2) words=(sh -c "for i in $(seq -s ' ' "$2"); do bzip2 -9 -c $out/random >/dev/null; done") ;;
	cc1plus) words=("$cc1plus" -quiet -O2 -o /dev/null "$out/big.ii") ;;
	sqlite3) words=(sqlite3 :memory: "$(printf "$sql" "$(($2 * 1000000))")") ;;
	python3) words=(/usr/bin/python3 -c "$(printf "$python" "$(($2 * 10))")") ;;
	rust) words=("$out/rusty" "$(($2 * 40))") ;;
	esac
}

comm_of()
{
	case $1 in
	lua) echo plainlua ;;
	rust) echo rusty ;;
	*) echo "$1" ;;
	esac
}

# ours AMOUNT PROGRAM [VARIABLE=VALUE...] - profiles it, the report in $tmp/json.
ours()
{
	local amount=$1 program=$2
	shift 2
	words_of "$program" "$amount"
	env HOTPATH_REPORT=functions-cpu HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$tmp/json" \
		HOTPATH_FUNCTIONS_NAME_DEPTH=0 "$@" "$build/hotpath-run" "${words[@]}" >/dev/null
}

cpu()
{
	python3 -c "import json, sys; c = json.load(open('$tmp/json'))['functions_cpu']; print($1)"
}

# --- figures ---

# Our samples and perf's are from the same run but are not the same samples, as with two runs of
# perf: their difference is the resolution of any comparison.
shares()
{
	local run

	printf '%-10s%8s%8s%6s%8s%8s  %s\n' shares ours perf rows self incl 'largest difference (ours/perf), points'
	for program in ${PROGRAMS:-known lua bzip2}; do
		words_of "$program" "${SHARES:-7}"
		for run in $(seq "${ROUNDS:-3}"); do
			perf record -q -F 3999 -e cpu-clock --call-graph dwarf,16384 -o "$tmp/perf.data" -- env \
				HOTPATH_REPORT=functions-cpu HOTPATH_CPU_HZ=3999 HOTPATH_LIMIT=0 HOTPATH_FUNCTIONS_NAME_DEPTH=0 \
				HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$tmp/json" \
				"$build/hotpath-run" "${words[@]}" >/dev/null 2>"$tmp/err"
			perf script --no-inline --max-stack 1024 -i "$tmp/perf.data" -F comm,ip,sym,dso >"$tmp/script.$run" 2>/dev/null
			printf '%-10s' "$program"
			python3 test/bench/samples.py shares "$tmp/json" "$(comm_of "$program")" <"$tmp/script.$run"
		done
		printf '%-32s' '  perf against perf'
		python3 test/bench/samples.py spread "$(comm_of "$program")" "$tmp"/script.*
		rm -f "$tmp"/script.* "$tmp/perf.data"
	done
}

quality()
{
	printf '%-10s%10s%10s%10s%10s\n' quality samples ours samples 'perf dwarf'
	for program in cc1plus sqlite3 python3 rust; do
		[ "$program" != rust ] || rust_program || continue
		ours "${AMOUNT:-2}" "$program" 2>/dev/null
		printf '%-10s%10s%9s%%' "$program" "$(cpu "c['sample_count']")" \
			"$(cpu "'%.2f' % (100 * c['complete_count'] / c['sample_count'])")"
		perf record -q -F 999 -e cpu-clock --call-graph dwarf,16384 -o "$tmp/perf.data" -- "${words[@]}" \
			>/dev/null 2>&1
		perf script --no-inline --max-stack 1024 -i "$tmp/perf.data" -F comm,ip,sym,dso 2>/dev/null |
			python3 test/bench/samples.py quality "$(comm_of "$program")" |
			while read -r share count; do printf '%10s%9s%%\n' "$count" "$share"; done
	done
}

# The program's own time, without the time in which a profiler starts and writes its files.
once()
{
	words_of "$subject" "${AMOUNT:-1}"
	cat >"$tmp/timed" <<-'END'
		#!/bin/bash
		TIMEFORMAT=%3R
		out=$1; shift
		{ time "$@" >/dev/null 2>&1; } 2>"$out"
	END
	set -- "$1" bash "$tmp/timed" "$tmp/took" chrt -f 20 "${words[@]}"
	case $1 in
	none) "${@:2}" ;;
	perf-fp) perf record -q -F 999 -e cpu-clock -g -o "$tmp/perf.data" -- "${@:2}" ;;
	perf-dwarf) perf record -q -F 999 -e cpu-clock --call-graph dwarf -o "$tmp/perf.data" -- "${@:2}" ;;
	ours) HOTPATH_OUTPUT_FORMAT=none HOTPATH_REPORT=functions-cpu "$build/hotpath-run" "${@:2}" ;;
	esac >/dev/null 2>&1
	cat "$tmp/took"
}

cost()
{
	printf '%-10s%10s%10s%10s%10s\n' cost none 'perf -g' 'dwarf' ours
	for subject in lua known; do
		least=()
		turns "${ROUNDS:-7}" none perf-fp perf-dwarf ours
		printf '%-10s%9ss%10s%10s%10s\n' "$subject" "${least[none]}" \
			"$(reckon "${least[perf-fp]} / ${least[none]}" %.3f)" \
			"$(reckon "${least[perf-dwarf]} / ${least[none]}" %.3f)" \
			"$(reckon "${least[ours]} / ${least[none]}" %.3f)"
	done
}

# helper_cpu - CPU time in ns of the helper of the session in $tmp/segment, at its last scan.
helper_cpu()
{
	local pid last=0 now

	until pid=$(segment_sampler "$tmp/segment" 2>/dev/null) && [ "${pid:-0}" -gt 0 ]; do
		sleep 0.02
	done
	while now=$(awk '{ s += $1 } END { print s }' "/proc/$pid"/task/*/schedstat 2>/dev/null) && [ -n "$now" ]; do
		last=$now
		sleep 0.05
	done
	echo "$last"
}

# helped HZ PROGRAM - profiles it; `count` samples, `spent` ns of the helper's CPU, `worked` of the program's.
helped()
{
	local helper

	rm -f "$tmp/segment"
	helper_cpu >"$tmp/helper" &
	helper=$!
	ours "${AMOUNT:-3}" "$2" HOTPATH_SEGMENT_PATH="$tmp/segment" HOTPATH_CPU_HZ="$1" 2>/dev/null
	wait "$helper"
	count=$(cpu "c['sample_count']")
	spent=$(cat "$tmp/helper")
	worked=$(cpu "c['total_samples'] * 1000")
}

# The cost of one more sample: the helper also starts, scans threads, opens
# counters.
speed()
{
	local start took count spent worked few few_spent

	printf '%-10s%10s%12s%16s%16s\n' speed samples 'helper %' 'µs one more' 'perf script µs'
	for program in ${PROGRAMS:-lua python3 cc1plus}; do
		helped 999 "$program"
		few=$count few_spent=$spent
		printf '%-10s%10s%12s' "$program" "$count" "$(reckon "100 * $spent / $worked" %.2f)"
		helped 7999 "$program"
		printf '%16s' "$(reckon "($spent - $few_spent) / 1000 / ($count - $few)" %.2f)"
		perf record -q -F 999 -e cpu-clock --call-graph dwarf -o "$tmp/perf.data" -- "${words[@]}" >/dev/null 2>&1
		start=$EPOCHREALTIME
		took=$( { TIMEFORMAT=%U; time perf script --no-inline --max-stack 1024 -i "$tmp/perf.data" -F comm,ip,sym >"$tmp/script" 2>/dev/null; } 2>&1)
		printf '%16s\n' "$(reckon "$took * 1e6 / $(grep -c '^[^[:blank:]]' "$tmp/script")" %.1f)"
	done
}

walks()
{
	local parts

	mapfile -t parts < <(find "$build"/obj/{segment,unwind,sampler} -maxdepth 1 -name '*.o' ! -name main.o)
	compile -std=gnu11 -D_GNU_SOURCE -o "$out/stacks" test/bench/stacks.c "${parts[@]}" || return
	for program in ${PROGRAMS:-lua python3 cc1plus}; do
		words_of "$program" 2
		"$out/stacks" record "$tmp/records" 2000 "${words[@]}" >/dev/null &&
			printf 'walks     %-10s%s\n' "$program" "$("$out/stacks" replay "$tmp/records" 5)"
	done
}

loss()
{
	compile -o "$out/busy" -xc - -lpthread <<-'END' || return
		#include <pthread.h>
		static volatile unsigned long sinks[2][64];
		static void *spin(void *at)
		{
			for (long i = 0; i < 2500000000; i++)
				*(volatile unsigned long *)at += 1;
			return 0;
		}
		int main(void)
		{
			pthread_t t;
			pthread_create(&t, 0, spin, (void *)sinks[0]);
			spin((void *)sinks[1]);
			return pthread_join(t, 0);
		}
	END
	HOTPATH_CPU_HZ=4000 HOTPATH_REPORT=functions-cpu HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$tmp/json" \
		"$build/hotpath-run" "$out/busy"
	cpu "'loss: %d samples at 4 kHz on 2 threads, lost %d' % (c['sample_count'], c['lost_count'])"
}

stage()
{
	local file

	words_of cc1plus 1
	# Two at once, until each has used its part of the time.
	cat >"$tmp/two" <<-END
		#!/bin/bash
		work() { local end=\$((SECONDS + ${SECONDS_EACH:-60})); while [ \$SECONDS -lt \$end ]; do ${words[*]}; done; }
		work & work & wait
	END
	chmod +x "$tmp/two"
	HOTPATH_KEEP=1 XDG_STATE_HOME=$tmp/state HOTPATH_SEGMENT_PATH="$tmp/segment" HOTPATH_OUTPUT_FORMAT=none \
		HOTPATH_REPORT=functions-cpu "$build/hotpath-run" "$tmp/two"
	for what in "report -r functions-cpu $tmp/segment" "report --export firefox -o $tmp/hp.json.gz $tmp/segment" \
		"report --export flamegraph -o $tmp/f.html $tmp/segment" "report -r functions-cpu"; do
		# shellcheck disable=SC2086
		XDG_STATE_HOME=$tmp/state command time -f "stage: %e s, %U user, %M KiB: ${what//$tmp\//}" \
			"$build/hotpath" $what >"$tmp/out"
	done
	grep 'total samples' "$tmp/out"
	ls -l "$tmp"/hp.json.gz "$tmp"/f.html "$tmp"/segment | awk '{ print $5, $9 }'
}

programs || exit
for figure in "$@"; do
	"$figure"
done
