#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# locks_kinds.bats - waits for other things than mutexes: things done once, files, streams; GLib's
# locks; names; call paths of the waiter and of the holder.

load helper

setup_file()
{
	local name programs=$ROOT/test/behave/programs

	for name in locks_files locks_path locks_circle locks_barrier locks_reuse threads_states; do
		gcc -D_GNU_SOURCE -g -O1 -o "$T/${name#locks_}" "$programs/$name.c" -lpthread
	done
	gcc -DHOTPATH -I"$ROOT/include" -g -O1 -o "$T/label" "$programs/locks_label.c" -lpthread
	# shellcheck disable=SC2046
	gcc -g -O1 -o "$T/glib" "$programs/locks_glib.c" $(pkg-config --cflags --libs glib-2.0)
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_LIMIT=0
	rm -f "$T/report" "$T/data"
}

@test "locks: waits for another thread's pthread_once, and for which thread" {
	with_us files once
	lock_rows waits object kind at holder count | tee "$T/rows"
	grep -q '^once once late (locks_files.c:[0-9]*) run_once (locks_files.c:[0-9]*) 1$' "$T/rows"
	# Once it is done nobody waits, including its creator.
	[ "$(grep -c ' once ' "$T/rows")" = 1 ]
	[ "$(lock_rows waits kind longest_ns | sed -n 's/^once //p')" -gt 10000000 ]
}

@test "locks: files, by every call that locks one" {
	with_us files file "$T/data"
	lock_rows file_locks label read_count write_count read_failed_tries write_failed_tries read_contended \
		write_contended | tee "$T/rows"
	# flock and fcntl for 101 shared ones; flock, lockf, fcntl and those of the two children.
	grep -q "^$T/data 101 5 1 2 1 1$" "$T/rows"
	lock_rows waits object kind at | tee "$T/rows"
	grep -q "^$T/data file exclusive run_file (locks_files.c:[0-9]*)$" "$T/rows"
	grep -q "^$T/data file shared record (locks_files.c:[0-9]*)$" "$T/rows"
	[ "$(lock_rows file_locks write_wait_max_ns)" -gt 10000000 ]
}

# The file of a descriptor is kept between calls.
@test "locks: files whose descriptors have the same number" {
	mkdir "$T/folder"
	cd "$T/folder"
	with_us reuse
	lock_rows file_locks label write_count | sed "s|^$T/folder/||" >"$T/rows"
	# After a close that nobody sees, up to 15 locks count for the file before.
	diff <(grep -v '^file4[01] ' "$T/out") <(grep -v '^file4[01] ' "$T/rows")
	[ "$(uname -m)" = x86_64 ] || return 0
	[ "$(awk '/^file41 / { print ($2 >= 85) }' "$T/rows")" = 1 ]
	[ "$(awk '/^file4[01] / { sum += $2 } END { print sum }' "$T/rows")" = 110 ]
}

@test "locks: a stream, locked again by its owner" {
	with_us files stream
	lock_rows mutexes type_name count contended failed_tries | tee "$T/rows"
	grep -q '^FILE 102 1 1$' "$T/rows"
	lock_rows waits kind at holder | grep -q '^stream run_stream (locks_files.c:[0-9]*) hold (locks_files.c:[0-9]*)$'
}

@test "locks: GLib's, of every kind" {
	with_us glib
	lock_rows mutexes label type_name count failed_tries contended | tee "$T/rows"
	grep -q '^mutex GMutex 1002 1 1$' "$T/rows"
	# The outermost ones; the C library's mutex inside is not reported.
	grep -q '^recursive GRecMutex 1000 0 0$' "$T/rows"
	grep -q '^guard GMutex [0-9]* 0 ' "$T/rows"
	grep -q 'locks_glib.c:[0-9]* GMutex 1 0 0$' "$T/rows"
	[ "$(wc -l <"$T/rows")" = 4 ]
	lock_rows rw_locks label type_name read_count write_count read_failed_tries read_contended |
		grep -q '^rwlock GRWLock 1001 1001 1 1$'
	lock_rows conds label type_name signals timeouts | grep -q '^cond GCond 1 1$'
	lock_rows waits object kind at holder | tee "$T/rows"
	grep -q '^mutex GMutex wait_for_it (locks_glib.c:[0-9]*) hold (locks_glib.c:[0-9]*)$' "$T/rows"
	grep -q '^rwlock GRWLock read wait_for_it (locks_glib.c:[0-9]*) hold (locks_glib.c:[0-9]*)$' "$T/rows"
}

# No call creates these, so they are identified by the block that contains them.
@test "locks: several in one heap block are distinguished by their offset" {
	gcc -x c -g -O1 -o "$T/block" - -lpthread <<-'END'
	#include <pthread.h>
	#include <stdlib.h>
	struct pool { pthread_mutex_t head; char pad[24]; pthread_mutex_t tail; };
	static struct pool *pool_new(void)
	{
		struct pool *pool = calloc(1, sizeof(*pool));
		return pool;
	}
	int main(void)
	{
		for (int i = 0; i < 2; i++) {
			struct pool *pool = pool_new();
			for (int n = 0; n < 30; n++) {
				pthread_mutex_lock(&pool->tail);
				pthread_mutex_unlock(&pool->tail);
				if (n % 3)
					continue;
				pthread_mutex_lock(&pool->head);
				pthread_mutex_unlock(&pool->head);
			}
		}
		return 0;
	}
	END
	with_us block
	lock_rows mutexes label count | tee "$T/rows"
	diff - "$T/rows" <<-'END'
	pool::head 10
	pool::head-2 10
	pool::tail 30
	pool::tail-2 30
	END
}

@test "locks: members of types and of variables have their names" {
	command -v g++ >/dev/null || skip "no g++ here"
	LANGUAGE=c++ CC=g++ compile owned -std=c++17 <<-'EOF'
		#include <condition_variable>
		#include <cstdlib>
		#include <memory>
		#include <mutex>
		#include <pthread.h>
		#include <shared_mutex>
		#include <string>
		namespace bank {
		struct Account { long balance = 0; std::mutex m; std::string owner; };
		struct Audit { long rows = 0; std::mutex lock; };
		struct Bank { Audit audit; char name[100]; std::shared_mutex names; };
		}
		template <class T> struct Queue { std::mutex m; T items[3]; };
		typedef struct { int id; pthread_mutex_t lock; char peer[60]; } session;
		static struct { long n; std::mutex guard; } shelves[8];
		pthread_mutex_t plain[10];
		struct shard { char room[10]; struct { long used; pthread_mutex_t lock; } part[4]; };
		/* Nothing tells these two apart. */
		struct Left { long a, b, c; std::mutex m; char left[300]; };
		struct Right { long a, b, c; std::mutex m; char right[300]; };
		template <class L> void use(L &lock) { lock.lock(); lock.unlock(); }
		int main()
		{
			auto accounts = std::make_unique<bank::Account[]>(16);
			auto bank = std::make_unique<bank::Bank>();
			auto queue = std::make_shared<Queue<long>>();
			auto *one = static_cast<session *>(calloc(1, sizeof(session)));
			auto *some = static_cast<shard *>(malloc(sizeof(shard)));
			void *unknown = calloc(1, sizeof(Left));
			pthread_mutex_init(&one->lock, nullptr);
			pthread_mutex_init(&some->part[2].lock, nullptr);
			use(accounts[11].m);
			use(shelves[5].guard);
			pthread_mutex_lock(&plain[7]);
			pthread_mutex_unlock(&plain[7]);
			use(bank->audit.lock);
			use(bank->names);
			use(queue->m);
			pthread_mutex_lock(&one->lock);
			pthread_mutex_unlock(&one->lock);
			pthread_mutex_lock(&some->part[2].lock);
			pthread_mutex_unlock(&some->part[2].lock);
			use(static_cast<Left *>(unknown)->m);
			Right *right = nullptr;
			return right != nullptr;
		}
	EOF
	with_us owned
	lock_rows mutexes label >"$T/mutexes"
	lock_rows rw_locks label >"$T/rw_locks"
	sort "$T/mutexes" "$T/rw_locks" | tee "$T/rows"
	cat >"$T/expected" <<-'EOF'
		Queue<long int>::m
		bank::Account::m[11 of 16]
		bank::Bank::audit.lock
		bank::Bank::names
		plain[7]
		session::lock
		shard::part[2].lock
		shelves[5].guard
	EOF
	[ "$(grep -v 'owned.c++:' "$T/rows")" = "$(cat "$T/expected")" ]
	[ "$(grep -c 'owned.c++:[0-9]*+0x18$' "$T/rows")" = 1 ]
}

@test "locks: a member keeps its name in the blocks whose lifetime is measured" {
	# One block in 256 on average; they have no size in their word.
	compile many <<-'EOF'
		#include <pthread.h>
		#include <stdlib.h>
		typedef struct { int id; pthread_mutex_t lock; char peer[60]; } session;
		int main(void)
		{
			for (int i = 0; i < 20000; i++) {
				session *one = calloc(1, sizeof(*one));
				pthread_mutex_init(&one->lock, NULL);
				pthread_mutex_lock(&one->lock);
				pthread_mutex_unlock(&one->lock);
				pthread_mutex_lock(&one->lock);
				pthread_mutex_unlock(&one->lock);
			}
			return 0;
		}
	EOF
	with_us many
	lock_rows mutexes label count | tee "$T/rows"
	[ "$(grep -vc '^session::lock' "$T/rows")" = 0 ]
	[ "$(awk '{ sum += $NF } END { print sum }' "$T/rows")" = 40000 ]
}

@test "locks: locks that the program names" {
	with_us label
	lock_rows mutexes label count objects | tee "$T/rows"
	grep -q '^shard 2000 1000$' "$T/rows"
	grep -q '^the plain one 10 1$' "$T/rows"
	grep -q 'locks_label.c:[0-9]* 5 1$' "$T/rows"
	[ "$(wc -l <"$T/rows")" = 3 ]
	grep -o '"has_custom_label": *true' "$T/report" | wc -l | grep -q '^3$'
	lock_rows sems label count posts | grep -q '^tokens 0 1$'
}

@test "locks: complete call paths of waiting and of releasing" {
	with_us path
	lock_rows waits object kind count frames released_by | tee "$T/rows"
	grep -q -E '^mutex mutex 2 take<parse<main<.* give_back<write_out<writer<' "$T/rows"
	grep -q -E '^mutex mutex 2 take<load<main<.* give_back<write_out<writer<' "$T/rows"
	# If the table has no room for both paths side by side, they are below each other.
	HOTPATH_OUTPUT_FORMAT=table LD_PRELOAD=$HP_LIB "$T/path"
	grep -A2 '^mutex  *mutex  *2  *' "$T/report" | tee "$T/table"
	grep -q '^  Waits at  take (locks_path.c:[0-9]*) ← parse ← main' "$T/table"
	grep -q '^  Held by   write_out (locks_path.c:[0-9]*)$' "$T/table"
	COLUMNS=160 HOTPATH_OUTPUT_FORMAT=table LD_PRELOAD=$HP_LIB "$T/path"
	grep -q '^mutex  *mutex  *take (locks_path.c:[0-9]*) ← [^ ]* ← main .* write_out (locks_path.c:[0-9]*)  ' "$T/report"
	# Recording allocations creates the paths: without it (auto has the waits, too) there is
	# only the place.
	HOTPATH_REPORT=auto,-alloc,-alloc-sites,-direct-maps LD_PRELOAD=$HP_LIB "$T/path"
	lock_rows waits object at count holder | tee "$T/rows"
	grep -q '^mutex take (locks_path.c:[0-9]*) 4 write_out (locks_path.c:[0-9]*)$' "$T/rows"
}

@test "threads: their creator, their function, and what they mostly did" {
	LD_PRELOAD=$HP_LIB "$T/threads_states" >"$T/said"
	lock_rows thread_states name routine made_by frames mostly | tee "$T/rows"
	grep -q -E '^locker locker start_pool \(threads_states.c:[0-9]*\) ← main start_pool<main<.* [0-9]*% waited for a lock, jobs$' "$T/rows"
	grep -q -E '^waiter waiter start_pool \(threads_states.c:[0-9]*\) ← main start_pool<main<.* [0-9]*% waited for a condition, tokens$' "$T/rows"
	grep -q -E '^runner runner start_pool \(threads_states.c:[0-9]*\) ← main ' "$T/rows"
	lock_rows thread_states name ran_ns | sed -n 's/^runner //p' >"$T/ran"
	# Its own clock and ours are read one after the other.
	awk 'NR == FNR { said = $1; next } { off = $1 - said } END { exit !(off >= 0 && off < said / 10) }' \
		"$T/said" "$T/ran"
	# Requested alone, it has the same.
	HOTPATH_REPORT=thread-states LD_PRELOAD=$HP_LIB "$T/threads_states" >"$T/said"
	lock_rows thread_states name mostly | tee "$T/rows"
	grep -q -E '^locker [0-9]*% waited for a lock, jobs$' "$T/rows"
	HOTPATH_REPORT=auto,-threads,-thread-states LD_PRELOAD=$HP_LIB "$T/threads_states" >"$T/said"
	[ -z "$(lock_rows thread_states name)" ]
}

@test "threads: threads that end between two scans are listed, with their own records" {
	compile brief <<'END'
#include <pthread.h>
#include <stddef.h>
static void *run(void *unused)
{
	for (volatile int i = 0; i < 100000; i++)
		;
	return unused;
}
int main(void)
{
	for (int i = 0; i < 5; i++) {
		pthread_t t;
		pthread_create(&t, NULL, run, NULL);
		pthread_join(t, NULL);
	}
}
END
	export HOTPATH_THREADS_INTERVAL_MS=3600000
	LD_PRELOAD=$HP_LIB "$T/brief"
	lock_rows threads os_tid cpu_ns | tee "$T/rows"
	[ "$(wc -l <"$T/rows")" = 6 ]
	# The sampler may have seen either.
	lock_rows threads status_code cpu_ns | grep -c '^x [1-9]'
	# The sums cover only the examined ones, and are marked accordingly.
	HOTPATH_OUTPUT_FORMAT=table LD_PRELOAD=$HP_LIB "$T/brief"
	grep -E '^blocked  *(-|.* in [1-5] of 6 threads)' "$T/report"
	grep -E '^note  *sums exclude [1-6] threads? watched too briefly: ' "$T/report"
}

@test "threads: a thread that ends between two scans has the name that it gave itself" {
	compile named <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
static void *run(void *name)
{
	if (name)
		pthread_setname_np(pthread_self(), name);
	return NULL;
}
int main(void)
{
	static char *const names[] = { "reader", "writer", NULL, "reader" };
	for (int i = 0; i < 4; i++) {
		pthread_t t;
		pthread_create(&t, NULL, run, names[i]);
		pthread_join(t, NULL);
	}
}
END
	export HOTPATH_THREADS_INTERVAL_MS=3600000
	LD_PRELOAD=$HP_LIB "$T/named"
	for section in threads thread_states; do
		lock_rows $section name | sort >"$T/rows"
		[ "$(grep -c '^reader$' "$T/rows")" = 2 ]
		[ "$(grep -c '^writer$' "$T/rows")" = 1 ]
		[ "$(wc -l <"$T/rows")" = 5 ]
	done
}

@test "locks: a circle of three is reported once, as by Helgrind" {
	with_us circle
	lock_rows lock_order first second locks | tee "$T/rows"
	[ "$(wc -l <"$T/rows")" = 2 ]
	grep -q -E '^(red green, blue|green blue, red|blue red, green) 3$' "$T/rows"
	grep -q -E '^(black white|white black) 2$' "$T/rows"
	command -v valgrind >/dev/null || return 0
	valgrind --tool=helgrind "$T/circle" 2>"$T/helgrind"
	[ "$(grep -c 'lock order ".*" violated' "$T/helgrind")" = 2 ]
}

@test "locks: the latest thread at a barrier" {
	LD_PRELOAD=$HP_LIB "$T/barrier" >"$T/said"
	lock_rows barriers label count latest | tee "$T/rows"
	[ "$(cat "$T/rows")" = "barrier 15 barrier $(cat "$T/said")" ]
	# It never waited; the others did, some 30 ms each time.
	[ "$(lock_rows barriers imbalance_ns)" -gt 50000000 ]
	[ "$(lock_rows barriers threads | grep -o "'count': 5" | wc -l)" = 3 ]
}

@test "threads: threads that end before the first scan are listed, too" {
	with_us circle
	lock_rows thread_states routine frames | tee "$T/rows"
	[ "$(grep -c '^both main<' "$T/rows")" = 7 ]
}
