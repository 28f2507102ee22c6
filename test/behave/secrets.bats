#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# secrets.bats - a program's environment, stacks, blocks and pipes are in no file that we write; its arguments
# are where doc/internals/limits.md says, and nowhere else.

load helper

setup_file()
{
	# Markers that exist only in memory: the program's own file has them in pieces.
	compile keeper <<-'EOF'
		#include <pthread.h>
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/stat.h>
		#include <time.h>
		#include <unistd.h>
		static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
		static char *volatile block;
		static int ends[2];
		__attribute__((noinline)) static void mark(char *text, const char *kind, int times)
		{
			for (int i = 0; i < times; i++)
				sprintf(text + i * 32, "SEC%s_%s_%.15s", "RET", kind, "0123456789abcdef");
		}
		__attribute__((noinline)) static void in_turn(void)
		{
			char text[1024];
			mark(text, "STACK", 31);
			for (int i = 0; i < 40; i++) {
				pthread_mutex_lock(&lock);
				usleep(1000);
				pthread_mutex_unlock(&lock);
			}
			if (write(ends[1], text, 1) != 1)
				abort();
		}
		static void *other(void *unused) { in_turn(); return unused; }
		__attribute__((noinline)) static void burn(void)
		{
			char text[1024];
			struct timespec t = { 0, 0 };
			mark(text, "STACK", 31);
			while (t.tv_sec == 0 && t.tv_nsec < 200000000) {
				for (volatile int i = 0; i < 10000; i++) ;
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
			}
			block[199] = text[5];
		}
		int main(int argc, char **argv)
		{
			pthread_t thread;
			char text[1024];
			block = malloc(2000);
			mark(block, "HEAP", 60);
			mark(text, "PIPE", 31);
			if (argc < 3 || pipe(ends) < 0 || pthread_create(&thread, NULL, other, NULL) != 0)
				return 1;
			in_turn();
			burn();
			pthread_join(thread, NULL);
			for (int i = 0; i < 100; i++)
				if (write(ends[1], text, 500) != 500 || read(ends[0], text, 500) != 500)
					return 1;
			if (strcmp(argv[1], "crash") == 0)
				*(volatile int *)8 = 1;
			if (strcmp(argv[1], "wait") == 0) {
				puts("up");
				fflush(stdout);
				pause();
			}
			return 0;
		}
	EOF
}

setup()
{
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state HOTPATH_REPORT=all HOTPATH_LIMIT=0
	export SECRET_NAME=SECRET_ENV_0123456789 HOTPATH_SEGMENT_PATH=$BATS_TEST_TMPDIR/segment
}

# clean FILE... - they contain no marker, packed or not; ARG=1: except those in the arguments.
clean()
{
	local file kinds=ENV\|NAME\|STACK\|HEAP\|PIPE${ARG:-|ARG}

	for file; do
		[ -s "$file" ] || { echo "$file: nothing in it"; return 1; }
		! zcat -f "$file" | grep -a -o -E "SECRET_($kinds)[A-Z0-9_a-f]*" | sort | uniq -c | grep . ||
			{ echo "in $file"; return 1; }
	done
}

# As a check, the markers are found in the program's own memory.
@test "secrets: the search itself works" {
	printf 'a\0SECRET_STACK_012345\0' >"$T/plain"
	run -1 clean "$T/plain"
	[[ $output == *SECRET_STACK_012345* ]]
	gzip -c "$T/plain" >"$T/packed"
	run -1 clean "$T/packed"
	[[ $output == *SECRET_STACK_012345* ]]
	echo SECRET_ARG_1 >"$T/argument"
	run -1 clean "$T/argument"
	[[ $output == *SECRET_ARG_1* ]]
	ARG=" " clean "$T/argument"
}

forms()
{
	local format
	for format in table json json-pretty; do
		"$HP_BUILD/hotpath" report -f $format -o "$BATS_TEST_TMPDIR/$format"
	done
	for format in firefox flamegraph folded pprof folded-bytes folded-count pprof-heap pprof-mutex; do
		"$HP_BUILD/hotpath" report --export=$format -o "$BATS_TEST_TMPDIR/$format"
	done
	"$HP_BUILD/hotpath" report --html -o "$BATS_TEST_TMPDIR/html"
	"$HP_BUILD/hotpath" report --annotate=burn -o "$BATS_TEST_TMPDIR/annotate" 2>"$BATS_TEST_TMPDIR/err" ||
		echo none >"$BATS_TEST_TMPDIR/annotate"
	"$HP_BUILD/hotpath" list >"$BATS_TEST_TMPDIR/list"
	clean "$BATS_TEST_TMPDIR"/{table,firefox,folded,pprof,folded-bytes,folded-count,pprof-heap,pprof-mutex} \
		"$BATS_TEST_TMPDIR"/{annotate,list}
	ARG=" " clean "$BATS_TEST_TMPDIR"/{json,json-pretty,html,flamegraph} "$XDG_STATE_HOME"/hotpath/*.gz
	# The stack copies of off-CPU notes are gone from it, too.
	ARG=" " clean "$HOTPATH_SEGMENT_PATH"
}

# recorded HOW - one run, whose report is in $T/first.
recorded()
{
	rm -f "$BATS_TEST_TMPDIR/first"
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/first "$HP_RUN" "$T/keeper" "$1" SECRET_ARG_1 \
		2>"$BATS_TEST_TMPDIR/said" || true
	report_comes "$BATS_TEST_TMPDIR/first"
	grep -q '"offcpu"' "$BATS_TEST_TMPDIR/first"
	run -1 grep -a SECRET_ "$BATS_TEST_TMPDIR/said"
	ARG=" " clean "$BATS_TEST_TMPDIR/first"
}

@test "secrets: none in a segment, a kept run, any form of the report" {
	recorded end
	forms
}

@test "secrets: none of a program that crashes, with samples by timers" {
	HOTPATH_CPU=timer recorded crash
	forms
}

# Each route that answers, and each tool.
@test "secrets: none over HTTP and MCP while it runs" {
	"$HP_RUN" "$T/keeper" wait SECRET_ARG_1 >"$BATS_TEST_TMPDIR/out" 2>/dev/null 3>&- &
	echo $! >"$T/run.pid"
	eventually grep -q up "$BATS_TEST_TMPDIR/out"
	keeper=$(pgrep -P "$(cat "$T/run.pid")" keeper || cat "$T/run.pid")
	echo "$keeper" >"$T/keeper.pid"
	url=$(serve "$keeper")
	/usr/bin/python3 - "$url" "$BATS_TEST_TMPDIR/answers" <<-'END'
		import json, sys, urllib.error, urllib.request
		url, to = sys.argv[1].rstrip("/"), open(sys.argv[2], "w")
		def ask(path, body=None):
		    try:
		        head = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
		        with urllib.request.urlopen(urllib.request.Request(url + path, body, head), timeout=60) as answer:
		            text = answer.read()
		    except urllib.error.HTTPError as error:
		        text = error.read()
		    to.write(f"{path} {text.decode(errors='replace')}\n")
		    return text
		routes = json.loads(ask("/routes"))["routes"]
		assert len(routes) > 30, routes
		for route in routes:
		    path = route["path"].replace("{id}", "1")
		    if route["method"] in ("GET", "POST") and not path.startswith("/mcp"):
		        ask(path + ("?seconds=1" if "pprof" in path or "flame" in path else ""),
		            b"{}" if route["method"] == "POST" else None)
	END
	ARG=" " clean "$BATS_TEST_TMPDIR/answers"
	grep -q '^/threads' "$BATS_TEST_TMPDIR/answers"
	kill -9 "$keeper"
	pids_end
}
