#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# findings.bats - advice in the report: of recorded runs, of a program that wastes time with
# and without its fault, and of one that is too short to judge.

load helper

setup_file()
{
	# Two children, one after the other, or all at once.
	compile children -w <<-'END'
	#include <stdlib.h>
	#include <sys/wait.h>
	#include <time.h>
	#include <unistd.h>
	static void nap(void)
	{
		struct timespec wait = { 0, 20000000 };
		nanosleep(&wait, NULL);
	}
	int main(int argc, char **argv)
	{
		int most = atoi(argv[1]), now = 0;
		for (int i = 0; i < 12; i++) {
			if (!fork()) {
				nap();
				_exit(0);
			}
			if (++now == most)
				wait(NULL), now--;
		}
		while (wait(NULL) > 0)
			;
		return 0;
	}
	END
	gunzip -c "$ROOT/test/golden/choose/run.hp.gz" >"$T/choose.hp"
	gunzip -c "$ROOT/test/golden/surface/run.hp.gz" >"$T/surface.hp"
}

# findings FILE - "RULE CONFIDENCE GAIN_NS" of each, in order.
findings()
{
	"$HP_BUILD/hotpath" report -f json "$1" | python3 -c '
import json, sys
for found in json.load(sys.stdin)["findings"]:
    print(found["rule"], found["confidence"].replace(" ", "-"), found["gain_ns"])'
}

@test "findings: churn of blocks, a lock that is held across a wait, sleeps" {
	findings "$T/choose.hp" >"$T/found"
	grep -q '^alloc-churn likely [1-9]' "$T/found"
	grep -q '^sleeps measured [1-9]' "$T/found"
	findings "$T/surface.hp" >"$T/found"
	grep -q '^lock-across-io \(likely\|measured\) [1-9]' "$T/found"
	# The lock's finding covers it: it is not reported twice.
	run ! grep -q '^lock-contention' "$T/found"
}

@test "findings: no gain is above the wall time, and the largest comes first" {
	for run in choose surface; do
		"$HP_BUILD/hotpath" report -f json "$T/$run.hp" | python3 -c '
import json, sys
report = json.load(sys.stdin)
gains = [found["gain_ns"] for found in report["findings"]]
assert gains and max(gains) <= report["summary"]["wall_ns"], gains
assert gains == sorted(gains, reverse=True), gains'
	done
}

@test "findings: evidence names a row of a section" {
	HOTPATH_REPORT=all HOTPATH_LIMIT=0 "$HP_BUILD/hotpath" report -f json "$T/surface.hp" | python3 -c '
import json, sys
report = json.load(sys.stdin)
for found in report["findings"]:
    for evidence in found["evidence"]:
        if evidence["section"] == "waits":
            continue	# its rows are objects; the evidence names the place of the holder
        names = {row.get("name") or row.get("label") for row in report[evidence["section"]]["data"]}
        assert evidence["row"] in names, (evidence, names)'
}

@test "findings: explain gives evidence, the rule, when it is wrong, and how to verify it" {
	"$HP_BUILD/hotpath" explain 1 "$T/surface.hp" >"$T/text"
	grep -q '^rule  *lock-across-io$' "$T/text"
	grep -q '^Evidence$' "$T/text"
	grep -q '^When it is wrong$' "$T/text"
	grep -q '^How to verify it$' "$T/text"
	run -1 "$HP_BUILD/hotpath" explain 99 "$T/surface.hp"
	[[ $output == *"no finding 99"* ]]
	run -2 "$HP_BUILD/hotpath" explain one "$T/surface.hp"
	[[ $output == *"'one' is not a finding's number"* ]]
}

@test "findings: children in sequence and in parallel" {
	[ "$(nproc)" -ge 2 ] || skip "one core: nothing can run beside it"
	"$HP_RUN" "$T/children" 1 2>/dev/null
	"$HP_BUILD/hotpath" report --report offcpu children | grep -q child || skip "waits are not recorded here"
	findings children >"$T/found"
	grep -q '^waits-for-children likely [1-9]' "$T/found"
	"$HP_RUN" "$T/children" 12 2>/dev/null
	findings children >"$T/found"
	run ! grep -q '^waits-for-children' "$T/found"
}

# started SCRIPT - the finding about started processes, on one line.
started()
{
	"$HP_RUN" sh -c "$1" 2>/dev/null
	"$HP_BUILD/hotpath" report -f json | jq -r '.findings[] | select(.rule == "process-per-item") | .text'
}

@test "findings: threads that are made and waited for one by one, and two at a time" {
	compile threads -w -pthread <<-'END'
	#include <pthread.h>
	#include <stdlib.h>
	#include <time.h>
	static void *nap(void *argument)
	{
		struct timespec wait = { 0, 20000000 };
		nanosleep(&wait, NULL);
		return argument;
	}
	__attribute__((noinline)) static void naps(int most)
	{
		pthread_t threads[2];
		for (int i = 0; i < 12; i += most) {
			for (int k = 0; k < most; k++)
				pthread_create(&threads[k], NULL, nap, NULL);
			for (int k = 0; k < most; k++)
				pthread_join(threads[k], NULL);
		}
	}
	int main(int argc, char **argv)
	{
		naps(atoi(argv[1]));
		return 0;
	}
	END
	[ "$(nproc)" -ge 2 ] || skip "one core: nothing can run beside it"
	"$HP_RUN" "$T/threads" 1 2>"$T/short"
	"$HP_BUILD/hotpath" report --report offcpu threads | grep -q lock || skip "waits are not recorded here"
	findings threads >"$T/found"
	grep -q '^waits-for-threads likely [1-9]' "$T/found"
	grep -q 'Let the threads run in parallel: naps (' "$T/short"
	"$HP_RUN" "$T/threads" 2 2>/dev/null
	findings threads >"$T/found"
	run ! grep -q '^waits-for-threads' "$T/found"
}

@test "findings: the steps of a script are no children to run in parallel" {
	[ "$(nproc)" -ge 2 ] || skip "one core: nothing can run beside it"
	compile nap -w -fno-instrument-functions <<-'END'
		#include <time.h>
		int main(void) { return nanosleep(&(struct timespec){ 0, 50000000 }, NULL); }
	END
	for step in first second third fourth fifth sixth; do
		ln "$T/nap" "$T/$step"
		# Not the last command, which sh would become.
		printf '%s && :\n' "$T/$step" >>"$T/steps"
		printf '%s && :\n' "$T/nap" >>"$T/items"
	done
	for script in steps items; do
		"$HP_RUN" sh "$T/$script" 2>/dev/null
		"$HP_BUILD/hotpath" report --report offcpu sh | grep -q child || skip "waits are not recorded here"
		findings sh >"$T/found.$script"
	done
	run ! grep -q '^waits-for-children' "$T/found.steps"
	grep -q '^waits-for-children likely [1-9]' "$T/found.items"
}

@test "findings: two programs of one loop are both named, a rare one is not" {
	said=$(started 'i=0; while [ $i -lt 80 ]; do /bin/true; /usr/bin/basename x >/dev/null; i=$((i + 1)); done')
	echo "$said"
	[ -n "$said" ] || skip "this machine takes 10 ms to start a program"
	# Those that a busy machine ran for too long are not counted.
	[[ $said =~ true\ [0-9]+\ times && $said =~ basename\ [0-9]+\ times ]]
	said=$(started 'i=0; while [ $i -lt 80 ]; do /bin/true; i=$((i + 1)); done; /usr/bin/basename x >/dev/null')
	echo "$said"
	[[ ! $said =~ basename ]]
}

@test "findings: a run that is too short is not judged" {
	# With little CPU time available, even the shortest program may take longer.
	for try in {1..20}; do
		"$HP_RUN" "$(type -P true)" 2>/dev/null
		HOTPATH_REPORT=short "$HP_BUILD/hotpath" report -f json true >"$T/json"
		jq -e '.summary.wall_ns < 2e7' "$T/json" >/dev/null && break
	done
	[ "$try" -lt 20 ] || skip "no run took less than 20 ms"
	HOTPATH_REPORT=short "$HP_BUILD/hotpath" report true >"$T/text"
	grep -q 'too short to judge' "$T/text"
	jq -e '.findings == []' "$T/json"
}

# Both record the same sections.
alone_as_usual()
{
	HOTPATH_REPORT=findings "$HP_RUN" "$T/children" 12 2>/dev/null
	"$HP_BUILD/hotpath" report --all -f json children >"$T/asked"
	"$HP_RUN" "$T/children" 12 2>/dev/null
	"$HP_BUILD/hotpath" report --all -f json children >"$T/usual"
	python3 - "$T/asked" "$T/usual" <<-'END'
	import json, sys
	asked, usual = (json.load(open(path)) for path in sys.argv[1:])
	for key in ("thread_states", "processes", "offcpu", "functions_cpu"):
	    assert (key in asked) == (key in usual), key
	END
}

@test "findings: requesting them alone records everything they need" {
	# A run of 25 ms may end before anything was sampled.
	for _ in {1..5}; do
		! alone_as_usual || return 0
	done
	false
}

@test "findings: blocks that are never freed are a leak, those of a cache that drops its oldest are not" {
	compile blocks <<-'END'
	#include <stdlib.h>
	#include <string.h>
	static char *kept[8000];
	static volatile long sum;
	__attribute__((noinline)) static char *make(void)
	{
		return memset(malloc(600), 1, 600);
	}
	int main(int argc, char **argv)
	{
		for (int i = 0; i < 60000; i++) {
			char *block = make(), **place = &kept[i % 8000];
			sum += block[i % 600];
			for (int k = 0; k < 2000; k++)
				sum += k;
			if (argc > 1) {
				free(*place);
				*place = block;
			} else if (i % 5) {
				free(block);
			}
		}
		return 0;
	}
	END
	"$HP_RUN" "$T/blocks" 2>/dev/null
	findings blocks >"$T/found"
	grep -q '^leak likely' "$T/found"
	"$HP_RUN" "$T/blocks" cache 2>/dev/null
	"$HP_BUILD/hotpath" report -f json blocks | jq -e '.summary.wall_ns >= 2e7'
	findings blocks >"$T/found"
	run ! grep -q '^leak' "$T/found"
}

@test "findings: an advice names at most three callers" {
	"$HP_BUILD/hotpath" report -f json "$T/choose.hp" | jq -r '.findings[].text' >"$T/texts"
	grep -q '←' "$T/texts"
	run ! grep -q '←.*←.*←.*←' "$T/texts"
}

@test "findings: a script that prepares the program gets a note, not a finding" {
	cat >"$T/wrapper" <<-END
	#!$(type -P bash)
	for i in {1..30}; do x=\$(type -P true); y=\$(/bin/true); done
	exec "$T/children" 12
	END
	chmod +x "$T/wrapper"
	"$HP_RUN" "$T/wrapper" 2>/dev/null
	HOTPATH_REPORT=short "$HP_BUILD/hotpath" report children >"$T/text"
	cat "$T/text"
	# On a busy machine the exec of bash may come so late that bash did not take nearly all of the time.
	grep -qE '^note +(bash took .* until it started children|it took .* until children started)$' "$T/text"
	findings children >"$T/found"
	run ! grep -qE '^(waits-for-children|process-per-item)' "$T/found"
}

@test "findings: a program whose libraries start slowly was not started slowly" {
	cat >"$T/slow.c" <<-'END'
		#include <time.h>
		__attribute__((constructor)) static void slow(void)
		{
			struct timespec from, now;
			clock_gettime(CLOCK_MONOTONIC, &from);
			do
				clock_gettime(CLOCK_MONOTONIC, &now);
			while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < 300);
		}
		int slow_one(void) { return 0; }
	END
	gcc -shared -fPIC -o "$T/libslow.so" "$T/slow.c"
	compile started -fno-instrument-functions -L"$T" -Wl,-rpath,"$T" -lslow <<-'END'
		int slow_one(void);
		int main(void) { return slow_one(); }
	END
	HOTPATH_REPORT=short HOTPATH_OUTPUT_PATH="$T/text" "$HP_RUN" bash -c "exec '$T/started'"
	cat "$T/text"
	# Most of the run is the constructor's time.
	run ! grep -q '^note .*took .* started' "$T/text"
}

@test "findings: what computes is not said to wait, though its largest row is no function" {
	compile stirs -fno-instrument-functions <<-'END'
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <signal.h>
		#include <stdlib.h>
		#include <string.h>
		static void *wait_for(void *set)
		{
			int signal;
			sigwait(set, &signal);
			return NULL;
		}
		int main(void)
		{
			size_t size = 40000000;
			char *text = malloc(size);
			pthread_t waits, stirs;
			sigset_t set;
			sigemptyset(&set);
			sigaddset(&set, SIGUSR1);
			pthread_sigmask(SIG_BLOCK, &set, NULL);
			memset(text, 'x', size);
			text[size - 1] = 0;
			pthread_create(&waits, NULL, wait_for, &set);
			/* A thread without a function of the program. */
			pthread_create(&stirs, NULL, (void *(*)(void *))strfry, text);
			pthread_join(stirs, NULL);
			return 0;
		}
	END
	HOTPATH_REPORT=short HOTPATH_OUTPUT_PATH="$T/text" "$HP_RUN" "$T/stirs"
	cat "$T/text"
	grep -q '\[unknown\]' "$T/text" || skip "no CPU samples here"
	grep -q 'it computes' "$T/text"
}

@test "findings: a lock of a program without symbols is named after the program" {
	compile nameless -O1 -s -fno-instrument-functions <<-'END'
		#include <pthread.h>
		#include <stdlib.h>
		#include <time.h>
		#define LOCKS 3
		static pthread_mutex_t *locks[LOCKS];
		static volatile int may_begin;
		static void *hold(void *which)
		{
			while (!may_begin)
				;
			for (int i = 0; i < 100; i++) {
				pthread_mutex_lock(which);
				nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
				pthread_mutex_unlock(which);
			}
			return which;
		}
		int main(void)
		{
			pthread_t threads[3 * LOCKS];
			for (int i = 0; i < LOCKS; i++) {
				locks[i] = malloc(sizeof(*locks[i]));
				pthread_mutex_init(locks[i], NULL);
			}
			for (int i = 0; i < 3 * LOCKS; i++)
				pthread_create(&threads[i], NULL, hold, locks[i % LOCKS]);
			may_begin = 1;
			for (int i = 0; i < 3 * LOCKS; i++)
				pthread_join(threads[i], NULL);
			return 0;
		}
	END
	HOTPATH_REPORT=findings HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/said "$HP_RUN" "$T/nameless"
	jq -r '.findings[] | .text' "$T/said" | tee "$T/advice"
	grep -q 'one of 3 locks of \[nameless\]' "$T/advice"
}

@test "findings: a file that is opened for each line, and many files that are opened once each" {
	compile opens -O1 -fno-instrument-functions <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		__attribute__((noinline)) static int line_add(const char *name, int i)
		{
			FILE *out = fopen(name, "a");
			fprintf(out, "line %d\n", i);
			return fclose(out);
		}
		__attribute__((noinline)) static int setting_read(const char *name)
		{
			char text[64];
			FILE *in = fopen(name, "r");
			int got = fgets(text, sizeof(text), in) ? text[0] : 0;
			return got + fclose(in);
		}
		__attribute__((noinline)) static FILE *setting_open(const char *name)
		{
			FILE *in = fopen(name, "r");
			__asm__ volatile("");
			return in;
		}
		int main(int argc, char **argv)
		{
			char name[32];
			int many = strcmp(argv[1], "many") == 0, sum = 0;
			for (int i = 0; strcmp(argv[1], "apart") == 0 && i < 60000; i++)
				fclose(setting_open("part.0"));
			if (strcmp(argv[1], "apart") == 0)
				return 0;
			for (int i = 0; i < 20; i++) {
				snprintf(name, sizeof(name), "part.%d", i);
				line_add(name, i);
			}
			strcpy(name, "part.0");
			for (int i = 0; i < 60000; i++) {
				if (many)
					snprintf(name, sizeof(name), "part.%d", i % 20);
				sum += strcmp(argv[1], "add") == 0 ? line_add("part.0", i) : setting_read(name);
			}
			return sum == 1;
		}
	END
	cd "$T"
	for what in add apart read many; do
		"$HP_RUN" "$T/opens" $what 2>/dev/null
		"$HP_BUILD/hotpath" report -f json opens >"$T/opens.$what"
	done
	jq -e '.functions_cpu.sample_count >= 50' "$T/opens.add" ||
		skip "no CPU samples here"
	jq -r '.findings[] | .rule + " " + .text' "$T/opens.add" | tee "$T/found"
	grep -q '^open-per-item line_add (.*) opens and closes part.0 for each item' "$T/found"
	run ! grep -q '^small-io' "$T/found"
	jq -r '.findings[] | .rule + " " + .text' "$T/opens.read" | tee "$T/found"
	grep -q '^open-per-item setting_read (.*) opens and closes part.0 for each item' "$T/found"
	# Another function closes the files.
	jq -r '.findings[] | .rule + " " + .facts' "$T/opens.apart" | tee "$T/found"
	grep -q '^open-per-item .*opening takes .*%[,)]' "$T/found"
	run ! grep -q '(0%)' "$T/found"
	# Files that are only written are in no table.
	HOTPATH_LIMIT=0 "$HP_BUILD/hotpath" report --report streams -f json opens |
		jq -e '.streams.raw | length == 1 and .[0].instances == 60000 and .[0].items_yielded == 60000'
	jq -r '.findings[] | .rule + " " + .text' "$T/opens.many" | tee "$T/found"
	run ! grep -qE '^(open-per-item|small-io)' "$T/found"
}

@test "findings: a thread that reads a timerfd waits for no child" {
	compile ticks -O1 -fno-instrument-functions <<-'END'
		#include <stdint.h>
		#include <sys/timerfd.h>
		#include <unistd.h>
		int main(void)
		{
			struct itimerspec often = { { 0, 10000000 }, { 0, 10000000 } };
			int timer = timerfd_create(CLOCK_MONOTONIC, 0), reads = 0;
			uint64_t expired;
			timerfd_settime(timer, 0, &often, NULL);
			while (reads < 30 && read(timer, &expired, sizeof(expired)) > 0)
				reads++;
			return reads != 30;
		}
	END
	HOTPATH_REPORT=findings,offcpu HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/said \
		"$HP_RUN" "$T/ticks"
	jq -e '.findings == []' "$T/said"
	jq -e '[.offcpu.data[].on] | index("child") | not' "$T/said"
}

@test "findings: a thread that is only woken up now and then does not starve" {
	compile wakes -O1 -fno-instrument-functions <<-'END'
		#include <pthread.h>
		#include <unistd.h>
		static int queue[2];
		static volatile long sum;
		static void *finalize(void *none)
		{
			char byte;
			while (read(queue[0], &byte, 1) > 0)
				;
			return none;
		}
		static void compute(long steps)
		{
			for (long i = 0; i < steps; i++)
				sum += i;
		}
		int main(void)
		{
			pthread_t thread;
			if (pipe(queue) || pthread_create(&thread, NULL, finalize, NULL))
				return 1;
			for (int i = 0; i < 40; i++) {
				compute(20000000);
				if (write(queue[1], "x", 1) != 1)
					return 2;
			}
			close(queue[1]);
			return pthread_join(thread, NULL);
		}
	END
	HOTPATH_REPORT=findings,channels HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/said \
		"$HP_RUN" "$T/wakes"
	jq -c '.channels.data, .findings' "$T/said"
	jq -e '[.channels.data[] | select(.type_name == "pipe").received_count] == [40]' "$T/said"
	jq -e '.findings == []' "$T/said"
}

@test "findings: a wait for a message is said in words" {
	compile asks -w -pthread <<-'END'
	#include <pthread.h>
	#include <sys/socket.h>
	#include <time.h>
	#include <unistd.h>
	static int ends[2];
	static void *answers(void *none)
	{
		for (int i = 0; i < 3; i++) {
			nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
			write(ends[1], "yes", 3);
		}
		return none;
	}
	int main(void)
	{
		pthread_t thread;
		char text[3];
		socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
		pthread_create(&thread, NULL, answers, NULL);
		for (int i = 0; i < 3; i++)
			read(ends[0], text, sizeof(text));
		return pthread_join(thread, NULL);
	}
	END
	"$HP_RUN" "$T/asks" 2>/dev/null
	"$HP_BUILD/hotpath" report -f json asks | jq -e '.findings == []'
	COLUMNS=200 "$HP_BUILD/hotpath" report asks | grep 'for a message in stream .*, in 3 waits of'
}

@test "findings: text + more copies the text, and moves no elements" {
	cat >"$T/join.cc" <<-'END'
		#include <string>
		__attribute__((noinline)) static void cell_add(std::string &text, int value)
		{
			text = text + std::to_string(value) + ",";
		}
		int main()
		{
			std::string text;
			for (int i = 0; i < 20000; i++)
				cell_add(text, i);
			return text.empty();
		}
	END
	g++ -O2 -g -o "$T/join" "$T/join.cc"
	HOTPATH_REPORT=findings,functions-cpu HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/said \
		"$HP_RUN" "$T/join"
	jq -e '.functions_cpu.sample_count >= 100' "$T/said" || skip "no CPU samples here"
	jq -r '.findings[] | .rule + " " + .text' "$T/said" | tee "$T/found"
	run ! grep -q '^moves-elements' "$T/found"
	grep -q '^copies cell_add (.*) copies both strings for each + of strings' "$T/found"
}

@test "findings: a pattern that is compiled for each line, and a large one that is compiled once" {
	gcc -O2 -g -pthread -o "$T/once" "$ROOT/test/behave/programs/planted_once.c"
	cd "$T"
	for what in patterns large-pattern "patterns fixed"; do
		"$HP_RUN" ./once $what 2>/dev/null
		"$HP_BUILD/hotpath" report -f json once >"once.${what// /-}"
	done
	jq -e '.functions_cpu.sample_count >= 50' once.patterns || skip "no CPU samples here"
	jq -r '.findings[] | .rule + " " + .text' once.patterns | tee found
	grep -q '^prepare-per-item line_matches (.*) compiles a regular expression for each item (.*regcomp)' found
	jq -r '.findings[] | .rule' once.large-pattern once.patterns-fixed | tee found
	run ! grep -q '^prepare-per-item' found
}

@test "findings: buffers that are cleared for each item, and one that is cleared once" {
	gcc -O2 -g -pthread -o "$T/once" "$ROOT/test/behave/programs/planted_once.c"
	cd "$T"
	for what in clears first-clear; do
		"$HP_RUN" ./once $what 2>/dev/null
		"$HP_BUILD/hotpath" report -f json once >"once.$what"
	done
	jq -e '.functions_cpu.sample_count >= 50' once.clears || skip "no CPU samples here"
	jq -e '[.functions_cpu.data[].name | select(test("memset"))] | length > 0' once.clears ||
		skip "functions of the C library have no names here"
	jq -r '.findings[] | .rule + " " + .text' once.clears | tee found
	grep -q '^clears packet (.*) clears memory again and again' found
	jq -r '.findings[] | .rule' once.first-clear | tee found
	run ! grep -q '^clears' found
}

@test "findings: exceptions that are thrown for each item" {
	g++ -O2 -g -pthread -o "$T/planted_cc" "$ROOT/test/behave/programs/planted.cc"
	cd "$T"
	"$HP_RUN" ./planted_cc throws 2>/dev/null
	"$HP_BUILD/hotpath" report -f json planted_cc >thrown
	"$HP_RUN" ./planted_cc throws fixed 2>/dev/null
	"$HP_BUILD/hotpath" report -f json planted_cc >returned
	jq -e '.functions_cpu.sample_count >= 50' thrown || skip "no CPU samples here"
	jq -r '.findings[] | .rule + " " + .text' thrown | tee found
	grep -q '^exceptions number_of (.*) throws exceptions again and again' found
	jq -r '.findings[] | .rule' returned | tee found
	run ! grep -q '^exceptions' found
}

@test "findings: a list is searched element by element, a hash table and a sorted array are not" {
	compile lookups -O2 -g -fno-instrument-functions <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#define ITEMS 65536
		struct item {
			struct item *next;
			char key[28];
		};
		static struct item items[ITEMS], *list, *chains[2 * ITEMS];
		static unsigned key_code(const char *key)
		{
			unsigned code = 5381;
			while (*key)
				code = (code * 33) ^ (unsigned char)*key++;
			return code % (2 * ITEMS);
		}
		__attribute__((noinline)) static struct item *in_list(const char *key)
		{
			for (struct item *item = list; item; item = item->next)
				if (strcmp(item->key, key) == 0)
					return item;
			return NULL;
		}
		__attribute__((noinline)) static struct item *in_table(const char *key)
		{
			for (struct item *item = chains[key_code(key)]; item; item = item->next)
				if (strcmp(item->key, key) == 0)
					return item;
			return NULL;
		}
		__attribute__((noinline)) static struct item *in_array(const char *key)
		{
			int first = 0;
			int end = ITEMS;
			while (first < end) {
				int middle = first + (end - first) / 2;
				int order = strcmp(items[middle].key, key);
				if (order == 0)
					return &items[middle];
				if (order < 0)
					first = middle + 1;
				else
					end = middle;
			}
			return NULL;
		}
		int main(int argc, char **argv)
		{
			int is_list = strcmp(argv[1], "list") == 0, is_table = strcmp(argv[1], "table") == 0;
			int searches = is_list ? 6000 : is_table ? 8000000 : 9000000;
			long found = 0;
			for (int i = 0; i < ITEMS; i++) {
				struct item **chain = &list;
				snprintf(items[i].key, sizeof(items[i].key), "the item number %07d", i);
				if (is_table)
					chain = &chains[key_code(items[i].key)];
				items[i].next = *chain;
				*chain = &items[i];
			}
			for (unsigned i = 0, n = 1; i < (unsigned)searches; i++) {
				int at = (n = n * 1664525 + 1013904223) >> 16;
				const char *key = items[is_list || is_table ? at : (i * 7) % 50 * 1000].key;
				found += (is_list ? in_list(key) : is_table ? in_table(key) : in_array(key)) != NULL;
			}
			return found != searches;
		}
	END
	for how in list table array; do
		HOTPATH_REPORT=findings,functions-cpu HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/said.$how \
			"$HP_RUN" "$T/lookups" $how
		jq -e ".functions_cpu.sample_count >= 200" "$T/said.$how" || skip "too few CPU samples here"
	done
	jq -r '.findings[] | .rule + " " + .text' "$T"/said.*
	jq -e '.findings | length == 1 and .[0].rule == "linear-search"' "$T/said.list"
	jq -e '.findings == []' "$T/said.table"
	jq -e '.findings == []' "$T/said.array"
}

@test "findings: a leak comes before the churn of its blocks, a growing vector has its own advice" {
	g++ -O2 -g -pthread -o "$T/planted_kept" "$ROOT/test/behave/programs/planted_kept.cc"
	cd "$T"
	for what in sessions grows resolves links; do
		"$HP_RUN" ./planted_kept "$what" 2>/dev/null
		"$HP_BUILD/hotpath" report -f json planted_kept >"$what"
		jq -e '.functions_cpu.sample_count >= 50' "$what" || skip "too few CPU samples here"
		# What has no sample makes each share uncertain.
		jq -e '.functions_cpu.total_samples * 1000 + .functions_cpu.profiler_ns >= 0.8 * .summary.cpu_ns' \
			"$what" || skip "CPU time without samples here"
	done
	jq -e '.findings[0].rule == "leak"' sessions
	# The search of a map is no part of the churn.
	jq -e '.summary.wall_ns as $wall | [.findings[] | select(.rule == "alloc-churn" and .gain_ns > 0.9 * $wall)] == []' sessions
	jq -r '.findings[] | .rule + " " + .text' grows | tee found
	grep -q '^copies-values album_load .* when its vector grows: reserve .* noexcept' found
	run ! grep -q '^page-faults' found
	jq -r '.findings[] | .rule + " " + .text' resolves | tee found
	grep -q '^call-per-item .*is_inside .* calls realpath for each item' found
	run ! grep -q '^small-io' found
	jq -e '.findings == []' links
}

@test "findings: a worker without a core had as much to do as the other one" {
	[ "$(nproc)" -ge 2 ] || skip "one core"
	command -v taskset >/dev/null || skip "no taskset here"
	compile shares -O2 -lpthread <<-'END'
	#define _GNU_SOURCE
	#include <pthread.h>
	#include <sched.h>
	#include <stdatomic.h>
	#include <stdlib.h>
	static atomic_long next;
	static atomic_ulong sum;
	static void *work(void *cpu)
	{
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET(atoi(cpu), &set);
		sched_setaffinity(0, sizeof(set), &set);
		while (atomic_fetch_add(&next, 1) < 3000) {
			unsigned long x = 1;
			for (int i = 0; i < 200000; i++)
				x = x * 1103515245 + 12345;
			atomic_fetch_add(&sum, x & 1);
		}
		return NULL;
	}
	int main(int argc, char **argv)
	{
		pthread_t threads[2];
		for (int i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, work, argv[1 + i]);
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		return argc < 3;
	}
	END
	cores=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2])')
	free=${cores% *} taken=${cores#* }
	hogs=
	for _ in 1 2 3; do
		taskset -c "$taken" sh -c 'while :; do :; done' 3>&- &
		hogs="$hogs $!"
	done
	HOTPATH_REPORT=all HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/shared \
		"$HP_RUN" "$T/shares" "$free" "$taken" || true
	kill $hogs
	jq -c '.thread_states.raw[] | [.name, .ran_ns, .ready_ns]' "$T/shared"
	jq -e '[.findings[] | select(.rule == "imbalance")] == []' "$T/shared"
}
