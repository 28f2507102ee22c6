#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# samply.bats - HOTPATH_CPU=samply: the session's files, deadlines and errors with a samply that is a
# script, and figures of the real one (make test-all).

load helper

setup_file()
{
	compile work -O2 -no-pie -fno-instrument-functions <<-'EOF'
		#include <stdio.h>
		#include <stdlib.h>
		#include <time.h>
		static volatile unsigned long sink;
		static double cpu_ms(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
			return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
		}
		__attribute__((noinline)) void heavy(long n)
		{
			for (long i = 0; i < n; i++)
				sink += (unsigned long)i * 7;
		}
		__attribute__((noinline)) void light(long n)
		{
			for (long i = 0; i < n; i++)
				sink += (unsigned long)i * 3;
		}
		/* Until the file is there: what a profiler is attached by may come late. */
		int main(int argc, char **argv)
		{
			double in_heavy = 0, start = cpu_ms(), least = atof(argv[1]);
			while (cpu_ms() - start < least || (argc > 2 && !fopen(argv[2], "r"))) {
				double before = cpu_ms();
				heavy(750000);
				in_heavy += cpu_ms() - before;
				light(250000);
			}
			printf("%.1f\n", 100 * in_heavy / (cpu_ms() - start));
			return 0;
		}
	EOF
	cat >"$T/fake" <<-'EOF'
		#!/usr/bin/env python3
		# record --pid PID --save-only -o FILE: a profile of PID as samply might write it.
		import gzip, json, os, re, signal, subprocess, sys, time
		base = os.path.dirname(sys.argv[0])
		mode = os.environ.get("FAKE", "")
		open(base + "/arguments", "w").write("\n".join(sys.argv[1:]))
		open(base + "/environment", "w").write("\n".join(os.environ))
		pid, out = sys.argv[3], sys.argv[6]
		if mode == "deaf":
		    signal.signal(signal.SIGINT, signal.SIG_IGN)
		def end(*_):
		    profile = {"meta": {"interval": 1.0}, "libs": [], "threads": []}
		    if mode != "empty":
		        exe = base + "/work"
		        address = {n: int(a, 16) for a, n in
		                   re.findall(r"^(\w+) T (\w+)$", subprocess.getoutput("nm " + exe), re.M)}
		        build = re.search(r"Build ID: (\w+)", subprocess.getoutput("readelf -n " + exe))
		        profile["libs"] = [{"path": exe, "debugPath": exe, "codeId": build and build[1]}]
		        frames = [address[n] + 4 - 0x400000 for n in ("main", "heavy", "light")]
		        profile["threads"] = [{
		            "samples": {"stack": [1, 2, 1, 1, None], "weight": [1] * 5,
		                        "threadCPUDelta": [1000, 1000, 1500, 500, 1000]},
		            "stackTable": {"prefix": [None, 0, 0], "frame": [0, 1, 2]},
		            "frameTable": {"address": frames, "func": [0, 1, 2]},
		            "funcTable": {"resource": [0, 0, 0]}, "resourceTable": {"lib": [0]}}]
		    text = b"{ this is no profile" if mode == "broken" else json.dumps(profile).encode()
		    with gzip.open(out, "wb") as f:
		        f.write(text)
		    sys.exit(0)
		if mode != "deaf":
		    signal.signal(signal.SIGINT, end)
		open(base + "/attached", "w").write(pid)
		while True:
		    time.sleep(0.05)
	EOF
	cat >"$T/refuser" <<-'EOF'
		#!/bin/sh
		trap '' INT
		echo "'/proc/sys/kernel/perf_event_paranoid' is currently set to 2." >&2
		exit 1
	EOF
	chmod 755 "$T/fake" "$T/refuser"
}

setup()
{
	rm -f "$T/attached" "$T/json" "$T/arguments"
	export HOTPATH_PROFILE_DIR=$T/sessions
	mkdir -p "$HOTPATH_PROFILE_DIR"
	rm -rf "${HOTPATH_PROFILE_DIR:?}"/*
}

# with_fake [VARIABLE=VALUE...] COMMAND... - the report in $T/json.
with_fake()
{
	env HOTPATH_CPU=samply HOTPATH_SAMPLY_BIN="$T/fake" HOTPATH_REPORT=functions-cpu HOTPATH_LIMIT=0 \
		HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$@" >/dev/null 2>"$T/err"
	report_comes "$T/json"
}

value()
{
	python3 - "$T/json" "$1" <<-'EOF'
		import json, sys
		cpu = json.load(open(sys.argv[1]))["functions_cpu"]
		rows = {row["name"]: row for row in cpu.get("raw", [])}
		print(eval(sys.argv[2]))
	EOF
}

# says PATTERN - the message shown instead of the table.
says()
{
	value "cpu['message']"
	[[ "$(value "cpu['message']")" =~ $1 ]]
}

@test "samply: its profile becomes the table, by function" {
	for way in "$HP_RUN" "env LD_PRELOAD=$HP_LIB"; do
		rm -f "$T/attached"
		# shellcheck disable=SC2086
		with_fake HOTPATH_CPU_INCLUSIVE=1 $way "$T/work" 1 "$T/attached"
		[ "$(value "cpu['source'], cpu['total_samples'], cpu['sample_count']")" = "('samply', 5000, 5)" ]
		[ "$(value "rows['heavy']['samples_us'], rows['light']['samples_us']")" = "(3000, 1000)" ]
		[ "$(value "rows['main']['inclusive_ns']")" = 4000000 ]
	done
}

@test "samply: the session's folder, its files and samply's arguments are the crate's" {
	with_fake "$HP_RUN" "$T/work" 1 "$T/attached"
	session=$(echo "$HOTPATH_PROFILE_DIR"/*)
	[ "$(stat -c %a "$session")" = 700 ]
	[[ "${session##*/}" =~ ^[0-9]+-[0-9]+$ ]]
	[ -e "$session/stop-profiling" ]
	[ -e "$session/done" ]
	[ ! -s "$session/done" ]
	[ "$(tr '\n' ' ' <"$T/arguments")" = \
		"record --pid $(cat "$T/attached") --save-only -o $session/hp.json.gz" ]
	[[ "${session##*/}" = "$(cat "$T/attached")"-* ]]
	[ "$(value "cpu['profile_path']")" = "$session/hp.json.gz" ]
	run -1 grep -x -e LD_PRELOAD -e HOTPATH_SESSION "$T/environment"
	# The table is of this program, and it was not stopped.
	[ ! -s "$T/err" ]
}

@test "samply: the wrapper is one that other programs may use" {
	mkdir "$T/own"
	"$T/work" 1 "$T/attached" >/dev/null &
	program=$!
	HOTPATH_SAMPLY_BIN=$T/fake "$HP_BUILD/hotpath-samply" --detach $program "$T/own"
	wait $program
	[ "$(cat "$T/attached")" = $program ]
	[ ! -e "$T/own/done" ]
	touch "$T/own/stop-profiling"
	eventually test -e "$T/own/done"
	[ ! -s "$T/own/done" ]
	gzip -t "$T/own/hp.json.gz"
	run "$HP_BUILD/hotpath-samply"
	[ "$status" = 1 ]
	[ "$output" = "hotpath-samply error: missing mode argument" ]
	run "$HP_BUILD/hotpath-samply" --worker x "$T"
	[ "$status" = 1 ]
	run "$HP_BUILD/hotpath-samply" --worker 1 "$T/nowhere"
	[ "$status" = 1 ]
}

@test "samply: errors are reported with their remedy" {
	with_fake HOTPATH_SAMPLY_BIN=/nowhere/samply "$HP_RUN" "$T/work" 100
	says "cannot start samply \(/nowhere/samply\): No such file.*cargo install --locked samply"
	"$HP_BUILD/hotpath" report --report functions-cpu >"$T/kept"
	grep -q 'HOTPATH_CPU=samply: cannot start samply (/nowhere/samply): ' "$T/kept"
	"$HP_BUILD/hotpath" report --report short >"$T/kept"
	grep -q '^note  *samply took no CPU samples: see hotpath report --report functions-cpu$' "$T/kept"
	with_fake HOTPATH_SAMPLY_WRAPPER_BIN=/nowhere "$HP_RUN" "$T/work" 100
	says "the worker of samply was not started.*No such file"
	with_fake HOTPATH_SAMPLY_BIN="$T/refuser" "$HP_RUN" "$T/work" 100
	says "samply exited with status 1: .*perf_event_paranoid' is currently set to 2.*sysctl kernel.perf_event_paranoid=1"
	with_fake FAKE=empty "$HP_RUN" "$T/work" 1 "$T/attached"
	says "no data in the profile"
	rm -f "$T/attached"
	with_fake FAKE=broken "$HP_RUN" "$T/work" 1 "$T/attached"
	says "failed to parse the profile"
}

@test "samply: a samply that does not end on request is killed after 5 s" {
	with_fake FAKE=deaf "$HP_RUN" "$T/work" 1 "$T/attached"
	says "samply did not end within 5 s of SIGINT and was killed"
	! kill -0 "$(cat "$T/attached")" 2>/dev/null
}

@test "samply: waits 15 s for a worker that never finishes" {
	only_in_full
	with_fake HOTPATH_SAMPLY_WRAPPER_BIN=/bin/true "$HP_RUN" "$T/work" 100
	says "timed out waiting 15 s for the worker of samply \(session $HOTPATH_PROFILE_DIR/"
}

@test "samply: the program's stop while samply attaches is hidden from the shell" {
	cat >"$T/stopper" <<-'EOF'
		#!/bin/sh
		# As samply does it: the program is stopped until hotpath-run has noticed and waits
		# again.
		waiter=$(ps -o ppid= -p "$3" | tr -d ' ') tries=0
		switches() { sed -n 's/^voluntary_ctxt_switches://p' "/proc/$waiter/status"; }
		before=$(switches)
		kill -STOP "$3"
		while [ "$(switches)" = "$before" ] && [ $tries -lt 3000 ]; do
			tries=$((tries + 1))
			sleep 0.02
		done
		echo "$tries" >"$0.tries"
		kill -CONT "$3"
		exec "$(dirname "$0")/fake" "$@"
	EOF
	chmod 755 "$T/stopper"
	with_fake HOTPATH_SAMPLY_BIN="$T/stopper" timeout 60 "$HP_RUN" "$T/work" 1 "$T/attached"
	[ "$(cat "$T/stopper.tries")" -lt 3000 ]
	[ "$(value "cpu['sample_count']")" = 5 ]
}

# The real one refuses to work with kernel.perf_event_paranoid above 1, even for root, who needs no
# permission: so it gets its own copy of that file.
real()
{
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 1 ]; then
		"$@"
	else
		echo 1 >"$T/one"
		unshare -m sh -c 'mount --bind "$0" /proc/sys/kernel/perf_event_paranoid && exec "$@"' "$T/one" "$@"
	fi
}

@test "samply: the real one and our samples agree within 2 points" {
	only_in_full
	samply=$(command -v samply || echo "$HOME/.cargo/bin/samply")
	[ -x "$samply" ] || skip "no samply: cargo install --locked samply@0.13.1"
	[ "$(id -u)" = 0 ] || skip "only root can have perf_event_paranoid its way"
	export HOTPATH_REPORT=functions-cpu HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/json
	# With its callees: we have rows for a busy machine's interrupts, samply has none.
	share="100 * rows['heavy']['inclusive_ns'] / (1000 * cpu['total_samples'])"
	HOTPATH_CPU=samply HOTPATH_SAMPLY_BIN=$samply real "$HP_RUN" "$T/work" 20000 >"$T/share"
	report_comes "$T/json"
	value "cpu['source'], cpu['sample_count'], cpu.get('message')"
	theirs=$(value "$share")
	HOTPATH_CPU=perf "$HP_RUN" "$T/work" 20000
	ours=$(value "$share")
	echo "samply $theirs, ours $ours, true $(cat "$T/share")"
	python3 -c "assert abs($theirs - $ours) < 2"
}

# serve_profile [WHAT] - serves it: addresses in $T/addresses, the server's pid in $server.
serve_profile()
{
	rm -f "$T/addresses"	# of the previous one
	"$HP_BUILD/hotpath" load --no-open "$@" >"$T/addresses" 3>&- &
	server=$!
	eventually grep -q from-url "$T/addresses"
}

@test "load: a profile goes only to the profiler's page" {
	printf '{"meta":{}}' | gzip >"$T/hp.json.gz"
	serve_profile "$T/hp.json.gz"
	address=$(head -n 1 "$T/addresses")
	[[ "$address" == http://127.0.0.1:*/hp.json.gz ]]
	curl -s -D "$T/head" -H "Origin: https://profiler.firefox.com" "$address" | cmp - "$T/hp.json.gz"
	grep -q -i "^Access-Control-Allow-Origin: https://profiler.firefox.com" "$T/head"
	for wrong in "Origin: https://example.org" "Host: example.org"; do
		[ "$(curl -s -o "$T/got" -w '%{http_code}' -H "$wrong" "$address")" = 403 ]
		[ ! -s "$T/got" ]
	done
	[ "$(curl -s -o "$T/got" -w '%{http_code}' "${address%/*/*}/hp.json.gz")" = 404 ]
	kill -INT $server
	wait $server
	run "$HP_BUILD/hotpath" load "$T/fake"
	[ "$status" = 1 ]
	[[ "$output" == *"is not a hotpath segment"* ]]
}

@test "load: a kept run, the newest and one by its name" {
	export XDG_STATE_HOME=$T/state
	HOTPATH_REPORT=cpu HOTPATH_OUTPUT_PATH=$T/report "$HP_RUN" "$T/work" 300
	grep -q "^([0-9,]* samples\|([0-9,]* samples" "$T/report" || skip "$(cat "$T/report")"
	for run in "" work; do
		# shellcheck disable=SC2086
		serve_profile $run
		curl -s "$(head -n 1 "$T/addresses")" >"$T/of-run.gz"
		kill -INT $server
		wait $server
		"$HP_BUILD/hotpath" check "$T/of-run.gz"
		gzip -dc "$T/of-run.gz" | grep -q '"heavy"'
	done
	run "$HP_BUILD/hotpath" load nobody
	[ "$status" = 1 ]
	[[ "$output" == *"no kept run; see hotpath list"* ]]
	HOTPATH_REPORT=threads HOTPATH_OUTPUT_FORMAT=none "$HP_RUN" "$T/work" 1
	run "$HP_BUILD/hotpath" load --no-open
	[ "$status" = 1 ]
	[[ "$output" == *"nothing to show: the CPU was not sampled"* ]]
}
