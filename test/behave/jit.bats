#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# jit.bats - samples of code made at run time, and of ourselves, are shown as such.

load helper

setup_file()
{
	# A page for a moment, a file in its place, then the page with the code, as a virtual
	# machine does it.
	compile made -fno-instrument-functions <<-'EOF'
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <time.h>
		#include <unistd.h>
		#define ALL (PROT_READ | PROT_WRITE | PROT_EXEC)
		/* Adds 1 to the word as often as told, then returns. */
		#if defined(__x86_64__)
		static const unsigned char code[] = { 0x48, 0xff, 0x07, 0x48, 0xff, 0xce, 0x75, 0xf8, 0xc3 };
		#else
		static const unsigned char code[] = { 0x02, 0x00, 0x40, 0xf9, 0x42, 0x04, 0x00, 0x91, 0x02, 0x00, 0x00, 0xf9,
			0x21, 0x04, 0x00, 0xf1, 0x81, 0xff, 0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6 };
		#endif
		int main(int argc, char **argv)
		{
			unsigned char *page, *first = mmap(NULL, 4096, ALL, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			int file = open(argv[argc - 1], O_RDONLY);
			struct timespec t = { 0, 0 };
			char name[64];
			unsigned long word = 0;
			if (mmap(first, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0) != first)
				return 1;
			int memory = getenv("NAMED") ? memfd_create("code", 0) : -1;
			if (memory >= 0 && ftruncate(memory, 1 << 20))
				return 1;
			page = mmap(NULL, 1 << 20, ALL, memory >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, memory, 0);
			memcpy(page + 64, code, sizeof(code));
			__builtin___clear_cache((char *)page, (char *)page + 4096);
			snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
			FILE *map = fopen(getenv("NO_MAP") ? "/dev/null" : name, "w");
			fprintf(map, "%lx 40 made_here\n", (unsigned long)page + 64);
			fclose(map);
			while (t.tv_sec == 0 && t.tv_nsec < 300000000) {
				((void (*)(unsigned long *, unsigned long))(page + 64))(&word, 100000);
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
			}
			puts(name);
			return 0;
		}
	EOF
	compile keeper -fno-instrument-functions <<-'EOF'
		#include <stdlib.h>
		#include <time.h>
		int main(void)
		{
			struct timespec t = { 0, 0 };
			while (t.tv_sec == 0 && t.tv_nsec < 300000000) {
				for (int i = 0; i < 1000; i++) {
					void *volatile block = malloc(32);
					free(block);
				}
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
			}
			return 0;
		}
	EOF
}

teardown_file()
{
	[ ! -s "$T/map" ] || rm -f "$(cat "$T/map")"
	eventually helpers_are_gone
}

@test "jit: JIT code has its map's names, whatever was at the same address before" {
	HOTPATH_REPORT=functions-cpu HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" \
		"$HP_RUN" "$T/made" "$T/made" >"$T/map"
	[ "$(jq -r '.functions_cpu.raw | length' "$T/json")" -gt 0 ] || skip "no samples: $(jq -r .functions_cpu.message "$T/json")"
	jq -r '.functions_cpu.raw[] | "\(.self_ns / 1e6) ms  \(.name)"' "$T/json"
	# Nearly everything that the program does.
	[ "$(jq '.functions_cpu | ([.raw[] | select(.name == "made_here") | .self_ns] | add // 0) >= 500 * .total_samples' "$T/json")" = true ]
}

@test "jit: the same in memory that has a name" {
	NAMED=1 HOTPATH_REPORT=functions-cpu HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" \
		"$HP_RUN" "$T/made" "$T/made" >"$T/map.named"
	rm -f "$(cat "$T/map.named")"
	[ "$(jq -r '.functions_cpu.raw | length' "$T/json")" -gt 0 ] || skip "no samples: $(jq -r .functions_cpu.message "$T/json")"
	jq -r '.functions_cpu.raw[] | "\(.self_ns / 1e6) ms  \(.name)"' "$T/json"
	[ "$(jq '.functions_cpu | ([.raw[] | select(.name == "made_here") | .self_ns] | add // 0) >= 500 * .total_samples' "$T/json")" = true ]
}

@test "jit: the first screen says what gives JIT code its names" {
	NO_MAP=1 HOTPATH_REPORT=short "$HP_RUN" "$T/made" "$T/made" >"$T/none" 2>"$T/said"
	cat "$T/said"
	grep -q 'shares are accurate' "$T/said" || skip "too few samples"
	grep -q 'made at run time. *$\|made at run time. .*kernel' "$T/said"
	grep -q 'made at run time. has no names: let the JIT compiler write /tmp/perf-PID.map' "$T/said"
}

# Rows of the table in the file that have the profiler's own functions.
own_rows()
{
	grep -cE '^hp_[a-z_]+ ' "$1" || true
}

@test "cpu: the profiler's own code is one row, the last, and in none of the program's shares" {
	HOTPATH_REPORT=functions-cpu,alloc-sites "$HP_RUN" "$T/keeper" 2>"$T/table"
	grep -q "([0-9,]* samples" "$T/table" || skip "no samples here"
	cat "$T/table"
	grep -Eq '^\[hotpath\] .* - +- ' "$T/table"
	[ "$(own_rows "$T/table")" = 0 ]
	"$HP_BUILD/hotpath" report -r functions-cpu -n 0 -f json >"$T/json"
	jq -e '.functions_cpu | .raw[-1].name == "[hotpath]" and .raw[-1].percent == null' "$T/json"
	jq -e '.functions_cpu | [.raw[:-1][].percent] | add | . > 99.9 and . < 100.1' "$T/json"
	jq -e '.functions_cpu | .raw[-1].self_ns == .profiler_ns' "$T/json"
	jq -e '.functions_cpu | .profiler_sample_count + ([.raw[:-1][].self_samples] | add) == .sample_count' "$T/json"
	# Exports contain no function of ours, and lose no time.
	"$HP_BUILD/hotpath" report --export folded >"$T/folded"
	run ! grep -q ';hp_[a-z]' "$T/folded"
	awk '{ sum += $NF } END { print sum }' "$T/folded" >"$T/folded.us"
	[ "$(jq ".functions_cpu | (.total_samples + .profiler_ns / 1000 - $(cat "$T/folded.us")) | . >= -1 and . <= $(wc -l <"$T/folded") + 2" "$T/json")" = true ]
	# On request they are listed one by one, from the same kept run.
	"$HP_BUILD/hotpath" report --internals -r functions-cpu -n 0 >"$T/internals"
	run ! grep -q '^\[hotpath\] ' <(tail -n +2 "$T/internals")
	HOTPATH_INTERNALS=1 "$HP_BUILD/hotpath" report -r functions-cpu -n 0 -f json >"$T/json"
	[ "$(jq '[.functions_cpu.raw[].name | select(test("^hp_"))] | length' "$T/json")" -gt 0 ]
	[ "$(jq '.functions_cpu | (.sample_count - ([.raw[].self_samples] | add))' "$T/json")" = 0 ]
	# What they cost is the same, listed or not.
	jq .summary.profiling_cost_ns "$T/json" >"$T/cost"
	"$HP_BUILD/hotpath" report -r functions-cpu -f json | jq .summary.profiling_cost_ns | diff - "$T/cost"
}

# exported [OPTION] - the names of functions in the exports of the last run, with whole stacks: $T/pprof.names
# and $T/firefox.names.
exported()
{
	"$HP_BUILD/hotpath" report "$@" --export pprof -o "$T/pprof"
	python3 "$ROOT/test/behave/read_pprof.py" "$T/pprof" >"$T/pprof.names"
	"$HP_BUILD/hotpath" report "$@" --export firefox -o "$T/firefox.gz"
	python3 "$ROOT/test/behave/check_profile.py" "$T/firefox.gz" >"$T/firefox.names"
}

@test "cpu: annotate, pprof and the Firefox profile have none of the profiler's functions, unless asked for" {
	local own view
	HOTPATH_REPORT=functions-cpu,alloc-sites "$HP_RUN" "$T/keeper" 2>"$T/table"
	grep -q "([0-9,]* samples" "$T/table" || skip "no samples here"
	"$HP_BUILD/hotpath" report --internals -r functions-cpu -n 0 -f json >"$T/json"
	own=$(jq -r '[.functions_cpu.raw[] | select(.name | test("^hp_"))] | max_by(.self_samples).name' "$T/json")
	exported
	for view in pprof firefox; do
		grep -Eq '(^| )\[hotpath\]( |$)' "$T/$view.names"
		run ! grep -Eq '(^| )hp_' "$T/$view.names"
	done
	run -1 "$HP_BUILD/hotpath" report --annotate "$own"
	[[ "$output" == *"no function with samples matches '$own'"* ]]
	exported --internals
	for view in pprof firefox; do
		run ! grep -Fq '[hotpath]' "$T/$view.names"
		grep -Eq "(^| )$own( |\$)" "$T/$view.names"
	done
	"$HP_BUILD/hotpath" report --internals --annotate "$own" | grep -F "$own"
}

@test "cpu: each share has its error, from the number of samples and the time without" {
	HOTPATH_REPORT=functions-cpu HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" \
		"$HP_RUN" "$T/keeper"
	[ "$(jq -r '.functions_cpu.raw | length' "$T/json")" -gt 0 ] || skip "no samples here"
	# Again, in another language: Wilson's interval, and the part of the CPU time without samples unless that is
	# less than half of the largest error. Elsewhere that part is not known exactly.
	jq -e '.summary.cpu_ns as $cpu | .functions_cpu |
		(.source == "cpu-clock" and .has_kernel) as $is_exact |
		(1 - (.total_samples * 1000 + (.profiler_ns // 0)) / $cpu) as $missed |
		[.raw[] | select(.percent != null)] as $rows | ([$rows[].self_samples] | add) as $n |
		(if $missed * 2 < 0.98 / ($n | sqrt) then 0 else $missed end) as $m |
		$rows | all((.self_samples / $n) as $p |
		(100 * 1.96 * (($p * (1 - $p) / $n + 1.96 * 1.96 / (4 * $n * $n)) | sqrt) / (1 + 1.96 * 1.96 / $n)) as $e |
		((1 - $m) * $e + 100 * $m * ([$p, 1 - $p] | max)) as $all |
		if $is_exact then ($all - .percent_error) * ($all - .percent_error) < 0.01 else .percent_error >= $e * 0.99 end)' \
		"$T/json"
}
