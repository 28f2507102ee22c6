#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# brief.bats - the default report: one screen that says where the time went.

load helper

setup_file()
{
	compile work -DHOTPATH -pthread <<-'END'
	#include <pthread.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	#include <time.h>
	static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	static volatile double sum;
	static char *kept[2000];
	/* Half a second of CPU for each: enough samples on any machine. */
	__attribute__((noinline)) static void compute(void)
	{
		struct timespec now;
		do {
			for (int i = 0; i < 100000; i++)
				sum += i * 0.5;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		} while (now.tv_sec == 0 && now.tv_nsec < 500000000);
	}
	__attribute__((noinline)) static void hoard(void)
	{
		for (int i = 0; i < 2000; i++)
			kept[i] = memset(malloc(1000), 1, 1000);
	}
	static void *hold(void *none)
	{
		pthread_mutex_lock(&gate);
		compute();
		pthread_mutex_unlock(&gate);
		return none;
	}
	int main(void)
	{
		pthread_t threads[2];
		hoard();
		for (int i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, hold, NULL);
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		return 0;
	}
	END
	unset HOTPATH_REPORT
	HOTPATH_OUTPUT_PATH=$T/first "$HP_RUN" "$T/work"
}

setup()
{
	unset HOTPATH_REPORT
}

# fits FILE COLUMNS - every line fits, and the lines fit on a screen.
fits()
{
	[ "$(wc -l <"$1")" -le 40 ] || return
	LC_ALL=C awk -v most="$2" '{ line = $0; gsub(/[\200-\277]/, "", line)
		if (length(line) > most) { print "too wide: " $0; bad = 1 } } END { exit bad }' "$1"
}

@test "brief: the first line shows the command and how it ended" {
	grep -q "^\[hotpath\] $T/work · .*s · exit status 0$" "$T/first"
}

@test "brief: who waited for the lock, and who holds the memory" {
	grep -q 'hold .*mutex gate, held by hold' "$T/first"
	grep -q '[12]\.[0-9] MB *at the peak, not freed .*hoard' "$T/first"
	grep -q '^time .*lock' "$T/first"
}

@test "brief: the CPU by function, where it can be sampled" {
	grep -q 'CPU samples: shares' "$T/first" || skip "no samples here"
	grep -q '^ *[0-9.]*%  compute ' "$T/first"
}

@test "brief: it fits one screen of any width" {
	for columns in 60 80 120 160; do
		COLUMNS=$columns "$HP_BUILD/hotpath" report work >"$T/brief.$columns"
		fits "$T/brief.$columns" "$columns"
	done
}

@test "brief: no share is above 100 %" {
	run ! grep -E '(^|[^0-9.])(1[0-9][1-9]|1[1-9][0-9]|[2-9][0-9][0-9]|[0-9]{4,})(\.[0-9]+)?%' "$T/first"
}

@test "brief: tables come with --all, with sections, and with settings of tables" {
	for option in --all -a --report=threads --sort=self --limit=3 --percentiles=50; do
		"$HP_BUILD/hotpath" report "$option" work >"$T/tables"
		grep -q '^threads - \|^timing - ' "$T/tables"
	done
	HOTPATH_REPORT=all "$HP_BUILD/hotpath" report work | grep -q '^threads - '
	HOTPATH_LIMIT=2 "$HP_BUILD/hotpath" report work | grep -q '^threads - '
	run ! grep -q ' - Thread' "$T/first"
	HOTPATH_REPORT=short HOTPATH_LIMIT=2 "$HP_BUILD/hotpath" report work >"$T/short"
	run ! grep -q '^threads - ' "$T/short"
}

@test "brief: a program that does nothing gets a few lines" {
	LD_PRELOAD=$HP_LIB HOTPATH_OUTPUT_PATH=$T/nothing "$(type -P true)"
	[ "$(wc -l <"$T/nothing")" -le 12 ]
	grep -q '^CPU' "$T/nothing"
}

@test "brief: a segment without a kept run has the number of cores, too" {
	HOTPATH_KEEP=0 HOTPATH_SEGMENT_PATH="$T/cores.hp" HOTPATH_OUTPUT_FORMAT=none "$HP_RUN" "$T/work"
	"$HP_BUILD/hotpath" report "$T/cores.hp" >"$T/table"
	cat "$T/table"
	grep -Eq "^CPU .* of $(getconf _NPROCESSORS_ONLN) cores?$" "$T/table"
	[ "$("$HP_BUILD/hotpath" report -f json "$T/cores.hp" | jq .meta.cores)" = "$(getconf _NPROCESSORS_ONLN)" ]
}

@test "brief: colour only on request" {
	"$HP_BUILD/hotpath" report work >"$T/plain"
	run ! grep -q $'\e' "$T/plain"
	"$HP_BUILD/hotpath" report --color always work >"$T/colour"
	grep -q $'\e' "$T/colour"
	sed 's/\x1b\[[0-9;]*m//g' "$T/colour" | diff "$T/plain" -
}

@test "brief: a thread that runs in a library without symbols has the library's name" {
	command -v xz >/dev/null || skip "no xz here"
	head -c 1500000 /dev/urandom >"$BATS_TEST_TMPDIR/noise"
	HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/report "$HP_RUN" xz -T2 --block-size=500000 -k "$BATS_TEST_TMPDIR/noise"
	cat "$BATS_TEST_TMPDIR/report"
	run ! grep -E '^ +[0-9.]+% +\[unknown\]' "$BATS_TEST_TMPDIR/report"
	grep -E '^ +[0-9.]+% .*lzma' "$BATS_TEST_TMPDIR/report"
}

@test "brief: the cost of the C++ library's locks is its callers' time" {
	CC=g++ LANGUAGE=c++ compile guarded -fno-instrument-functions <<-'END'
		#include <ctime>
		#include <mutex>
		#include <thread>
		static std::mutex door;
		static volatile long sum;
		__attribute__((noinline)) static void visit()
		{
			std::lock_guard<std::mutex> hold(door);
			sum = sum + 1;
		}
		int main()
		{
			std::thread([] {
				while (clock() < CLOCKS_PER_SEC / 4)
					for (int i = 0; i < 10000; i++)
						visit();
			}).join();
		}
	END
	HOTPATH_KEEP=0 HOTPATH_CPU=timer HOTPATH_OUTPUT_PATH="$T/guarded.report" "$HP_RUN" "$T/guarded"
	sed -n '/^CPU  /,/^$/p' "$T/guarded.report" | tee "$T/guarded.cpu"
	grep -q visit "$T/guarded.cpu" || skip "no samples here"
	run ! grep -q '__gthread_' <(awk '{ print $2 }' "$T/guarded.cpu")
}

@test "brief: the time of Rust's library is its callers'" {
	command -v rustc >/dev/null || skip "no rustc here"
	cat >"$T/words.rs" <<-'END'
		use std::collections::HashMap;
		#[inline(never)]
		fn tally(text: &str) -> usize {
		    let mut words = HashMap::new();
		    for word in text.split(' ') { *words.entry(word.to_string()).or_insert(0) += 1; }
		    words.len()
		}
		fn main() {
		    let text: String = (0..5000).map(|i| format!("w{} ", i * 7919 % 1009)).collect();
		    let mut sum = 0;
		    for _ in 0..1000 { sum += tally(&text); }
		    println!("{}", sum > 0);
		}
	END
	rustc -g -O -o "$T/words" "$T/words.rs" || skip "rustc does not work here"
	HOTPATH_KEEP=0 HOTPATH_CPU=timer HOTPATH_OUTPUT_PATH="$T/words.report" "$HP_RUN" "$T/words"
	sed -n '/^CPU  /,/^$/p' "$T/words.report" | tee "$T/words.cpu"
	grep -q '^ *[0-9.]*%  ' "$T/words.cpu" || skip "no samples here"
	awk '$1 ~ /%$/ { print $2; exit }' "$T/words.cpu" | grep -x 'words::tally'
	run ! grep -E '^ +[0-9.]+% +(alloc|core|hashbrown|std)::' "$T/words.cpu"
}

@test "brief: waits whose place was not recorded do not stand for a cause" {
	[ "$(id -u)" = 0 ] || skip "users who may not sample the kernel get other places"
	compile naps -fno-instrument-functions <<-'END'
		#include <sys/syscall.h>
		#include <time.h>
		#include <unistd.h>
		int main(void)
		{
			for (int i = 0; i < 10000; i++) {
				struct timespec nap = { 0, 100000 }; /* the kernel changes it */
				/* Not by the stand-in, which notes its caller. */
				syscall(SYS_ppoll, NULL, 0, &nap, NULL, 8);
			}
			return 0;
		}
	END
	COLUMNS=120 HOTPATH_REPORT=short "$HP_RUN" "$T/naps" 2>"$T/report"
	grep -q 'recorded' "$T/report" || skip "all waits have a place here"
	grep -q 'place not recorded (where known: poll)' "$T/report"
	tr '\n' ' ' <"$T/report" | tr -s ' ' >"$T/line"
	grep -Eq 'main waits [0-9.]+ m?s in poll(, in [0-9,]+ waits of [^ ]+ [^ ]+ on average)?(, and [0-9.]+ m?s more in places that were not recorded)?\.' "$T/line"
}

@test "brief: a program that starts itself again was not launched by its children" {
	compile itself -fno-instrument-functions <<-'END'
	#include <sys/wait.h>
	#include <time.h>
	#include <unistd.h>
	int main(int argc, char **argv)
	{
		struct timespec now;
		if (argc == 1 && !fork())
			execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL);
		wait(NULL);
		do
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
		while (now.tv_nsec < 100000000 * argc && now.tv_sec == 0);
		return argc == 1 ? execl(argv[0], argv[0], "again", (char *)NULL) : 0;
	}
	END
	HOTPATH_OUTPUT_PATH=$T/itself.out "$HP_RUN" "$T/itself"
	cat "$T/itself.out"
	run ! grep -q 'until it started' "$T/itself.out"
}

@test "brief: a program that worked more than the last one did not only start it" {
	compile last -fno-instrument-functions <<-'END'
	#include <time.h>
	int main(void)
	{
		return nanosleep(&(struct timespec){ 0, 20000000 }, 0);
	}
	END
	HOTPATH_REPORT=short "$HP_RUN" sh -c "'$T/work'; exec '$T/last'" 2>"$T/before"
	cat "$T/before"
	grep -q '%  compute' "$T/before"
}

@test "brief: a static program has its name in the first line" {
	echo 'int main(void) { for (volatile long i = 0; i < 300000000; i++); return 0; }' |
		gcc -O1 -static -o "$T/still" -x c - || skip "no static C library"
	HOTPATH_REPORT=short "$HP_RUN" "$T/still" 2>"$T/named"
	grep -q '^\[hotpath\] still ' "$T/named"
}

@test "brief: on a narrow terminal, too, it says what is left out" {
	compile hooked -O2 <<-'END'
	#include <time.h>
	__attribute__((noinline)) void tiny(int i)
	{
		__asm__ volatile("" : : "r"(i));
	}
	int main(void)
	{
		struct timespec now;
		do {
			for (int i = 0; i < 10000; i++)
				tiny(i);
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
		} while (now.tv_sec == 0 && now.tv_nsec < 600000000);
		return 0;
	}
	END
	HOTPATH_OUTPUT_FORMAT=none "$HP_RUN" "$T/hooked"
	"$HP_BUILD/hotpath" report -r functions-cpu -f json -o "$T/hooked.json" hooked
	[ "$(jq '.functions_cpu.profiler_sample_count // 0' "$T/hooked.json")" -gt 0 ] || skip "no samples here"
	for columns in 60 80 100; do
		COLUMNS=$columns "$HP_BUILD/hotpath" report hooked | tail -4 | tee "$T/hooked.out"
		grep -q "of the profiler's own CPU time is excluded" "$T/hooked.out"
	done
}

@test "brief: a machine that is busy with other programs is named" {
	local first spinners=()
	command -v taskset >/dev/null || skip "no taskset here"
	first=$(taskset -cp $$ | sed 's/.*: *//;s/[-,].*//')
	compile counts <<-'END'
	#include <time.h>
	int main(void)
	{
		struct timespec now;
		do
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
		while (now.tv_sec == 0 && now.tv_nsec < 200000000);
		return 0;
	}
	END
	for _ in 1 2 3; do
		taskset -c "$first" sh -c 'while :; do :; done' &
		spinners+=($!)
	done
	taskset -c "$first" "$HP_RUN" "$T/counts" 2>"$T/counts.out" || true
	kill "${spinners[@]}"
	cat "$T/counts.out"
	grep -q '^note *other programs or a CPU limit took the cores: [0-9]*% of this time is' "$T/counts.out"
}

@test "brief: an end that went unseen, and CPU time that is a lower bound" {
	compile ends -fno-instrument-functions <<-'END'
	#include <signal.h>
	#include <time.h>
	#include <unistd.h>
	int main(void)
	{
		struct timespec now;
		pid_t child = fork();
		if (!child)
			pause();
		do
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
		while (now.tv_nsec < 20000000);
		kill(child, SIGKILL);
		return 0;
	}
	END
	HOTPATH_OUTPUT_PATH=$T/ends.out "$HP_RUN" "$T/ends"
	# A share of all is not above 100 %; the time is the lower bound. The child may be found dead only
	# after the first report, which is then written again.
	eventually grep -qE '^ *100% +≥ [0-9.]+ ms +ends ×2 .* 1 ended unseen' "$T/ends.out"
}

@test "brief: a process that dropped rights, in a segment without the rest of it, and in a kept run" {
	[ "$(id -u)" = 0 ] || skip "only root can drop rights"
	compile drops -fno-instrument-functions <<-'END'
		#include <sys/wait.h>
		#include <unistd.h>
		static volatile long sum;
		static void compute(long steps)
		{
			for (long i = 0; i < steps; i++)
				sum += i;
		}
		int main(void)
		{
			for (int i = 0; i < 12; i++) {
				if (!fork()) {
					if (setgid(65534) || setuid(65534))
						return 1;
					compute(30000000);
					_exit(0);
				}
				if (wait(NULL) < 0)
					return 1;
			}
			return 0;
		}
	END
	HOTPATH_SEGMENT_PATH=$T/segment "$HP_RUN" "$T/drops" 2>/dev/null
	COLUMNS=160 "$HP_BUILD/hotpath" report "$T/segment" >"$T/bare"
	cat "$T/bare"
	grep -q '≥ .*drops ×13  12 dropped rights: the rest is not in this file' "$T/bare"
	"$HP_RUN" "$T/drops" 2>/dev/null
	COLUMNS=160 "$HP_BUILD/hotpath" report drops >"$T/kept"
	cat "$T/kept"
	grep -q 'drops ×13' "$T/kept"
	run ! grep -q 'dropped rights' "$T/kept"
}

@test "brief: the processes of a loop are not said to be the few threads that were watched" {
	"$HP_RUN" sh -c 'i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i + 1)); done' 2>/dev/null
	COLUMNS=160 "$HP_BUILD/hotpath" report >"$T/loop"
	cat "$T/loop"
	grep -qE '^time +([0-9]+ threads? watched, of 61 processes|6[01] threads): ' "$T/loop"
}

@test "brief: one row for a function and a lock, with the holder it waited for most" {
	compile holders -pthread <<-'END'
	#include <pthread.h>
	#include <stdatomic.h>
	#include <time.h>
	static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	static atomic_int turn;
	static void rest(int ms)
	{
		nanosleep(&(struct timespec){ 0, ms * 1000000L }, NULL);
	}
	__attribute__((noinline)) static void take(void)
	{
		pthread_mutex_lock(&gate);
		pthread_mutex_unlock(&gate);
	}
	__attribute__((noinline)) static void keep(int next, int ms)
	{
		pthread_mutex_lock(&gate);
		turn = next;
		rest(ms);
		pthread_mutex_unlock(&gate);
	}
	__attribute__((noinline)) static void hoard(void) { keep(1, 200); }
	__attribute__((noinline)) static void touch(void) { keep(2, 50); }
	static void *waits(void *none)
	{
		for (int i = 1; i <= 2; i++) {
			while (turn != i)
				rest(1);
			take();
		}
		return none;
	}
	int main(void)
	{
		pthread_t thread;
		pthread_create(&thread, NULL, waits, NULL);
		hoard();
		rest(5);
		touch();
		return pthread_join(thread, NULL);
	}
	END
	COLUMNS=160 "$HP_RUN" "$T/holders" 2>"$T/holders.report"
	cat "$T/holders.report"
	[ "$(grep -c '^ .*2× .*take .*mutex gate' "$T/holders.report")" = 1 ]
	[ "$(grep -c 'mutex gate' <(sed -n '/^Waits/,$p' "$T/holders.report"))" = 1 ]
}

@test "brief: a wait that its thread recorded is not listed again beside others that none did" {
	compile parked -pthread <<-'END'
	#include <linux/futex.h>
	#include <pthread.h>
	#include <sys/syscall.h>
	#include <time.h>
	#include <unistd.h>
	static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	static int word;
	__attribute__((noinline)) static void *park(void *none)
	{
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
		return none;
	}
	__attribute__((noinline)) static void *take(void *none)
	{
		pthread_mutex_lock(&gate);
		pthread_mutex_unlock(&gate);
		return none;
	}
	int main(void)
	{
		pthread_t thread;
		pthread_mutex_lock(&gate);
		for (int i = 0; i < 5; i++)
			pthread_create(&thread, NULL, i < 4 ? park : take, NULL);
		nanosleep(&(struct timespec){ 0, 400000000 }, NULL);
		pthread_mutex_unlock(&gate);
		return pthread_join(thread, NULL);
	}
	END
	COLUMNS=160 "$HP_RUN" "$T/parked" 2>&1 | sed -n '/^Waits/,/^$/p' >"$T/parked.waits"
	cat "$T/parked.waits"
	grep -q 'park  *lock or condition' "$T/parked.waits" || skip "no switch records here"
	[ "$(grep -c ' take ' "$T/parked.waits")" = 1 ]
	grep -q ' take .*mutex gate' "$T/parked.waits"
}

@test "brief: many small paths inside a library are blocks of the function that calls it" {
	compile patterns <<-'END'
	#include <regex.h>
	__attribute__((noinline)) static int matches(const char *text)
	{
		regex_t re;
		int found = regcomp(&re, "^/(a|b)[0-9]+/(c|d)*$", REG_EXTENDED);
		found = found ? found : regexec(&re, text, 0, 0, 0);
		regfree(&re);
		return found;
	}
	int main(void)
	{
		int sum = 0;
		for (int i = 0; i < 3000; i++)
			sum += matches("/a12/cdc");
		return sum;
	}
	END
	COLUMNS=160 "$HP_RUN" "$T/patterns" 2>"$T/patterns.report"
	cat "$T/patterns.report"
	grep -Eq '^ +[0-9,]+ +blocks made +100% +matches' "$T/patterns.report"
}

@test "brief: a system call whose function the compiler merged with its caller has its name" {
	compile vectors <<-'END'
	#include <fcntl.h>
	#include <sys/uio.h>
	#include <time.h>
	int main(void)
	{
		char byte = 0;
		struct iovec parts[8];
		int fd = open("/dev/zero", O_RDWR);
		for (int i = 0; i < 8; i++)
			parts[i] = (struct iovec){ &byte, 1 };
		while (clock() < CLOCKS_PER_SEC / 2)
			for (int i = 0; i < 1000; i++)
				writev(fd, parts, 8);
		return 0;
	}
	END
	COLUMNS=160 "$HP_RUN" "$T/vectors" 2>"$T/vectors.report"
	sed -n '/^CPU  by/,/^$/p' "$T/vectors.report" | tee "$T/vectors.cpu"
	grep -q 'kernel:' "$T/vectors.cpu" || skip "no kernel samples here"
	grep -q 'kernel:writev' "$T/vectors.cpu"
	run ! grep -q 'kernel:do_' "$T/vectors.cpu"
}

@test "brief: threads of OpenMP that wait for the next loop are its library's" {
	CC=gcc compile looped -fopenmp -fno-instrument-functions <<-'END'
		#include <omp.h>
		#include <time.h>
		static volatile double sum;
		static void compute(void)
		{
			struct timespec now;
			do {
				for (int i = 0; i < 100000; i++)
					sum += i * 0.5;
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
			} while (now.tv_sec == 0 && now.tv_nsec < 300000000);
		}
		int main(void)
		{
		#pragma omp parallel num_threads(2)
			if (omp_get_thread_num() == 0)
				compute();
			return 0;
		}
	END
	OMP_WAIT_POLICY=active HOTPATH_OUTPUT_PATH="$T/text" "$HP_RUN" "$T/looped"
	cat "$T/text"
	grep -q '% .* compute ' "$T/text" || skip "no CPU samples here"
	run ! grep -qF '[unknown]' "$T/text"
}

@test "brief: a program's own operator new is its callers' work" {
	cat >"$T/own_new.cc" <<-'END'
		#include <cstdlib>
		#include <new>
		__attribute__((noinline)) void *operator new(std::size_t size) { return std::malloc(size); }
		__attribute__((noinline)) void operator delete(void *block) noexcept { std::free(block); }
		void operator delete(void *block, std::size_t) noexcept { operator delete(block); }
		__attribute__((noinline)) static void churn(int i)
		{
			static long *volatile blocks[1000];
			operator delete(blocks[i % 1000]);
			blocks[i % 1000] = new long[4];
		}
		int main() { for (int i = 0; i < 4000000; i++) churn(i); return 0; }
	END
	g++ -O2 -g -o "$T/own_new" "$T/own_new.cc"
	"$HP_BUILD/hotpath-run" "$T/own_new" 2>"$T/text"
	cat "$T/text"
	grep -q '^CPU  by program function' "$T/text" || skip "too few samples"
	grep -q '^ *[0-9.]*%  churn ' "$T/text"
	run ! grep -q '%  operator ' "$T/text"
}
