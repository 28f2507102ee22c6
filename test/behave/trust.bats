#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# trust.bats - a process that gave up its rights keeps the segment; its writes there make neither root's
# helper nor root's report do anything beyond its own rights.  doc/internals/safety.md, "Trust between processes".

load helper

setup_file()
{
	gcc -g -O1 -finstrument-functions -o "$T/trust" "$ROOT/test/behave/programs/trust.c" -lpthread
}

# Numeric users: no user of that name need exist.
needs_root()
{
	[ "$(id -u)" = 0 ] || skip "needs root: a process has to give up rights"
	setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null ||
		skip "needs CAP_SETUID"
}

@test "trust: settings in the segment do not decide what is written" {
	local run
	needs_root
	mkdir -m 700 "$T/root"
	for run in "$HP_RUN" "env LD_PRELOAD=$HP_LIB"; do
		echo precious >"$T/root/victim"
		# shellcheck disable=SC2086
		HOTPATH_KEEP=0 $run "$T/trust" defaults "output_path=$T/root/victim label=seen" 2>"$T/err"
		[ "$(cat "$T/root/victim")" = precious ]
		grep -q '^\[hotpath\]' "$T/err"
		# Nor are runs kept, profiles written or ports bound that root did not ask for.
		# shellcheck disable=SC2086
		HOTPATH_OUTPUT_FORMAT=none $run "$T/trust" defaults \
			"keep=9 format=table profile_dir=$T/root/made segment_path=$T/root/made shutdown_ms=1" 2>"$T/err"
		[ "$(ls "$T/root")" = victim ]
	done
}

@test "trust: settings reserved for the user are reported once, without their values" {
	local run
	printf '%s\n' '#include <hotpath.h>' 'HOTPATH_DEFAULTS("metrics_auth_token=secret percentiles=6");' \
		'int main(void) { HOTPATH_BLOCK("block"); return 0; }' |
		gcc -x c -DHOTPATH -I"$ROOT/include" -o "$T/token" -
	for run in "$HP_RUN" "env LD_PRELOAD=$HP_LIB"; do
		HOTPATH_KEEP=0 $run "$T/token" 2>"$T/err"
		[ "$(grep -c 'HOTPATH_DEFAULTS: .* ignored; use HOTPATH_METRICS_AUTH_TOKEN=' "$T/err")" = 1 ]
		[ "$(grep -c ' P6 ' "$T/err")" = 1 ]
		[ "$(grep -c secret "$T/err")" = 0 ]
	done
}

two_runs()
{
	[ "$(find "$T/names/hotpath" -name '*.gz' | wc -l)" = 2 ]
}

@test "trust: a kept run has its own name, whatever the segment says" {
	local run name pid created sum
	needs_root
	export XDG_STATE_HOME=$T/names
	for run in "$HP_RUN" "env LD_PRELOAD=$HP_LIB"; do
		rm -rf "$T/names"
		$run "$T/trust" defaults "label=first" 2>"$T/err"
		# TIME-PROGRAM-PID: the second one's name in that case.
		name=$(basename "$T"/names/hotpath/*)
		pid=${name##*-}
		sum=$(cksum <"$T/names/hotpath/$name")
		created=$(date -u -d "$(sed -E 's/^(....)(..)(..)T(..)(..)(..)Z.*/\1-\2-\3 \4:\5:\6/' <<<"$name")" +%s)000000000
		$run "$T/trust" begin "$created ${pid%%.*}" 2>"$T/err"
		eventually two_runs
		[ "$(cksum <"$T/names/hotpath/$name")" = "$sum" ]
	done
}

@test "trust: no process can resize the shared segment" {
	needs_root
	HOTPATH_KEEP=0 HOTPATH_THREADS_INTERVAL_MS=10 LD_PRELOAD=$HP_LIB "$T/trust" size 2>"$T/err"
	grep -q '^\[hotpath\]' "$T/err"
}

@test "trust: the helper uses its own counts, not those in the segment" {
	local what
	needs_root
	for what in rows sizes events; do
		HOTPATH_KEEP=0 HOTPATH_THREADS_INTERVAL_MS=10 HOTPATH_REPORT=all HOTPATH_CPU=timer LD_PRELOAD=$HP_LIB \
			"$T/trust" numbers $what 2>"$T/err"
		grep -q '^\[hotpath\]' "$T/err"
	done
}

# HOTPATH_SHUTDOWN_MS ends all processes of the session.
@test "trust: a forged record of another process does not make the helper end that process" {
	local run victim user
	needs_root
	for user in 0 65533; do
		for run in "$HP_RUN" "env LD_PRELOAD=$HP_LIB"; do
			setpriv --reuid=$user --regid=$user --clear-groups sleep 600 &
			victim=$!
			# shellcheck disable=SC2086
			HOTPATH_KEEP=0 HOTPATH_SHUTDOWN_MS=1000 $run "$T/trust" pid $victim 2>"$T/err" || true
			eventually grep -q '^wall .* ended by HOTPATH_SHUTDOWN_MS' "$T/err"
			kill -0 $victim
			kill $victim
			wait $victim || true
		done
	done
}

# asked PATH - sets `answer` to the server's answer on the program whose messages are in $T/err.
asked()
{
	answer=$(curl -s -m 30 -H 'Authorization: sesame' "$(sed -n 's|.* \(http://[^ ]*\)/$|\1|p' "$T/err" | head -n 1)$1")
}

@test "trust: a forged record of another process does not make the server stop that process" {
	local victim program
	needs_root
	sleep 600 3>&- &
	victim=$!
	HOTPATH_KEEP=0 HOTPATH_METRICS_PORT=0 HOTPATH_METRICS_AUTH_TOKEN=sesame \
		setsid env LD_PRELOAD="$HP_LIB" "$T/trust" pid $victim 2>"$T/err" 3>&- &
	program=$!
	eventually grep -q 'http://' "$T/err"
	shows_the_forged()
	{
		# The first process, its worker, and the worker's claims.
		asked /processes && [[ $answer == *'"running":3'* ]]
	}
	eventually shows_the_forged
	asked "/stacks?pid=$victim"
	kill $victim
	[[ $answer == *"not a running process of this program"* ]]
	asked /stacks
	kill -- -$program	# and the worker
	[[ $answer == *'"threads":'* ]]
}

@test "trust: root does not join the session of a user" {
	local user session
	needs_root
	mkfifo "$T/begun" "$T/end"
	exec 5<>"$T/begun" 6<>"$T/end"
	# shellcheck disable=SC2016
	HOTPATH_KEEP=0 setpriv --reuid=65534 --regid=65534 --clear-groups env LD_PRELOAD="$HP_LIB" \
		bash -c 'echo "$HOTPATH_SESSION" >&5; read -r -t 60 _ <&6' 2>"$T/of_user" &
	user=$!
	read -r -t 60 -u 5 session
	[[ $session == *:* ]]
	# With its own session it has its own report.
	HOTPATH_KEEP=0 HOTPATH_SESSION=$session LD_PRELOAD=$HP_LIB "$T/trust" none 2>"$T/of_root" || [ $? = 4 ]
	echo >&6
	wait $user
	exec 5>&- 6>&-
	[ "$(grep -c '^wall ' "$T/of_root")" = 1 ]
	[ "$(grep -c '^wall ' "$T/of_user")" = 1 ]
}

runs=("$HP_RUN" "env LD_PRELOAD=$HP_LIB")

calls_of()
{
	jq -r --arg name "$2" '[.functions_timing.data[] | select(.name == $name) | .calls] | add' "$1"
}

# workers_are_shown WAY: everything that they did is in the root's report, and nobody wrote another
# level's segment.
workers_are_shown()
{
	local run
	gcc -g -O1 -finstrument-functions -o "$T/levels" "$ROOT/test/behave/programs/levels.c"
	chmod 755 "$T" "$T/levels"
	export XDG_STATE_HOME=$T/of_levels
	for run in "$HP_RUN" "env LD_PRELOAD=$HP_LIB"; do
		HOTPATH_REPORT=timing HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/json \
			$run "$T/levels" "$1" 65533 65534 65534 >"$T/out" 2>"$T/err"
		[ "$(calls_of "$T/json" worked)" = 36 ]
		[ "$(calls_of "$T/json" prepared)" = 14 ]
		# The same for the kept run.
		"$HP_BUILD/hotpath" report -f json >"$T/again"
		[ "$(calls_of "$T/again" worked)" = 36 ]
		# One segment for each level, shared by its processes.
		[ "$(awk '/^SEGMENT/ { print $2, $3 }' "$T/out" | sort -u | wc -l)" = 3 ]
		[ "$(awk '/^SEGMENT/ { print $3 }' "$T/out" | sort -u | wc -l)" = 3 ]
		[ "$(awk '$2 == 65534 { print $3 }' "$T/out" | sort -u | wc -l)" = 1 ]
	done
}

@test "trust: workers that dropped root and called exec are in root's report, in their own segments" {
	needs_root
	workers_are_shown exec
}

# owners_are_shown FILE: of the three users' segments, and each process is in that of its last user.
owners_are_shown()
{
	local user pid
	jq -c '.meta.segments' "$1"
	jq -e '.meta.segments | length == 3' "$1"
	jq -e '[.meta.segments[].uid] | .[0] == 0 and sort == [0, 65533, 65534]' "$1"
	jq -e '.meta.segments | all(.gid == .uid)' "$1"
	jq -e '.meta.segments | all(.complete and .runs >= 1 and .bytes > 0 and (.tainted | not))' "$1"
	while read -r user pid; do
		jq -e --argjson user "$user" --argjson pid "$pid" \
			'[.meta.segments[] | select(.pids | index($pid)) | .uid] == [$user]' "$1"
	done < <(awk '/^SEGMENT/ { print $2 == "root" ? 0 : $2, $4 }' "$T/out")
}

@test "trust: a report shows who owns each segment, and whether it is complete" {
	needs_root
	gcc -g -O1 -finstrument-functions -o "$T/levels" "$ROOT/test/behave/programs/levels.c"
	chmod 755 "$T" "$T/levels"
	export XDG_STATE_HOME=$T/of_owners
	HOTPATH_REPORT=timing HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/json "$HP_RUN" "$T/levels" stay 65533 65534 >"$T/out"
	owners_are_shown "$T/json"
	"$HP_BUILD/hotpath" report -f json >"$T/again"
	owners_are_shown "$T/again"
	"$HP_BUILD/hotpath" report --all >"$T/text"
	[ "$(grep -c 'user [0-9]*, group [0-9]*: [0-9]* runs*, .*, complete$' "$T/text")" = 3 ]
	# A session with one level has one owner, and no table of them.
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/json "$HP_RUN" true
	jq -e '[.meta.segments[].uid] == [0]' "$T/json"
	"$HP_BUILD/hotpath" report --all >"$T/text"
	[ "$(grep -c '^segments ' "$T/text")" = 0 ]
	# No chunk is free in a small one.
	HOTPATH_SEGMENT_SIZE=1M HOTPATH_REPORT=timing HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/json \
		"$HP_RUN" "$T/levels" stay 65534 >"$T/out"
	jq -c '[.summary.refused_chunks, .meta.segments]' "$T/json"
	jq -e '(.summary.refused_chunks + .summary.lost_threads + .summary.lost_calls > 0) == (.meta.segments | any(.complete | not))' "$T/json"
}

# threads_are_listed FILE - the threads of both workers, which wrote their pids to $T/pids.
threads_are_listed()
{
	[ "$(wc -l <"$T/pids")" = 2 ] || return
	jq -e --slurpfile pids "$T/pids" '[.threads.raw[].pid] as $listed | $pids - $listed == []' "$1"
}

live_is_listed()
{
	"$HP_BUILD/hotpath" report --session "$program" -r threads -f json >"$T/live" && threads_are_listed "$T/live"
}

@test "trust: threads of a worker that has recorded nothing since it dropped root are listed" {
	local kind program
	needs_root
	gcc -fno-builtin -o "$T/quiet" -x c - <<-'EOF'
		#include <sched.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <unistd.h>
		/* Two workers that do nothing of interest until argv[1] exists. */
		int main(int argc, char **argv)
		{
			for (int i = 0; argc > 1 && i < 2; i++)
				if (fork() == 0) {
					free(malloc(100));
					if (dprintf(1, "%d\n", getpid()) < 0 || setgid(65534) != 0 || setuid(65534) != 0)
						return 1;
					while (access(argv[1], F_OK) != 0)
						sched_yield();
					_exit(0);
				}
			while (wait(NULL) > 0)
				;
			return 0;
		}
	EOF
	chmod a+x "$BATS_RUN_TMPDIR" "$T"
	for kind in alloc timing; do
		rm -f "$T/end"
		HOTPATH_KEEP=0 HOTPATH_REPORT=$kind,threads HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/json \
			env LD_PRELOAD="$HP_LIB" "$T/quiet" "$T/end" >"$T/pids" 3>&- &
		program=$!
		eventually live_is_listed
		touch "$T/end"
		wait $program
		threads_are_listed "$T/json"
	done
}

@test "trust: a worker does not wait for itself when it joins its new segment" {
	needs_root
	gcc -fno-builtin -o "$T/naps" -x c - <<-'EOF'
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/resource.h>
		#include <sys/wait.h>
		#include <unistd.h>
		int main(void)
		{
			struct rusage before, after;
			if (fork() != 0)
				return wait(NULL) < 0;
			free(malloc(100));
			getrusage(RUSAGE_SELF, &before);
			if (setgid(65534) != 0 || setuid(65534) != 0)
				return 1;
			free(malloc(100));
			getrusage(RUSAGE_SELF, &after);
			printf("%ld\n", after.ru_nvcsw - before.ru_nvcsw);
			return 0;
		}
	EOF
	HOTPATH_KEEP=0 HOTPATH_REPORT=all HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/json "$HP_RUN" "$T/naps" >"$T/out"
	# How often it slept: a request to the helper takes a few times.
	cat "$T/out"
	[ "$(cat "$T/out")" -lt 1000 ]
	jq -e '.meta.segments | length == 2' "$T/json"
}

@test "trust: workers that dropped root without exec are in root's report, in their own segments" {
	needs_root
	workers_are_shown stay
}

# inodes_of WAY - its lines of unjoined.c: the segment that it has mapped, 0 = none.
inodes_of()
{
	awk -v way="$1" '$1 == way { print $3 }' "$T/out" | sort -u
}

@test "trust: children that drop root before anything is recorded are in their own segment" {
	local run kind root user way
	needs_root
	gcc -g -O1 -finstrument-functions -o "$T/unjoined" "$ROOT/test/behave/programs/unjoined.c"
	chmod a+x "$BATS_RUN_TMPDIR" "$T" "$T/unjoined"
	for run in "${runs[@]}"; do
		for kind in timing timing,processes,alloc-sites,threads; do
			# shellcheck disable=SC2086
			HOTPATH_KEEP=0 HOTPATH_REPORT=$kind HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/json \
				$run "$T/unjoined" 65534 stay quiet killed exec vfork later >"$T/out" 2>"$T/err"
			cat "$T/out"
			jq -c .meta.segments "$T/json"
			# Seven calls of each of four children, and the parent's.
			[ "$(calls_of "$T/json" worked)" = 29 ]
			root=$(inodes_of root)
			user=$(inodes_of stay)
			[ "$root" != "$user" ]
			for way in exec vfork later; do
				[ "$(inodes_of $way)" = "$user" ]
			done
			for way in quiet killed; do
				[[ $(inodes_of $way) == @(0|"$user") ]]
			done
			jq -e '[.meta.segments[].uid] == [0, 65534]' "$T/json"
			jq -e '.meta.segments | all(.complete and (.tainted | not))' "$T/json"
			# Each that had a chance to join: all but the killed one.
			jq -e '.meta.segments[1].runs >= 5' "$T/json"
		done
	done
}

# Where it ends is known, from wait(), and what it took; nothing else is.
@test "trust: the time of children that were killed before anything was recorded is stated" {
	local run
	needs_root
	[ -x "$T/unjoined" ] || gcc -g -O1 -finstrument-functions -o "$T/unjoined" "$ROOT/test/behave/programs/unjoined.c"
	for run in "${runs[@]}"; do
		# shellcheck disable=SC2086
		HOTPATH_KEEP=0 HOTPATH_REPORT=processes HOTPATH_OUTPUT_PATH=$T/text $run "$T/unjoined" 65534 busy stay >"$T/out" 2>"$T/err"
		cat "$T/text"
		grep -q '^Children that are not listed took about .* of CPU time' "$T/text"
	done
}

# dropped WAY [N]: runs drop.c, both ways; then makes the checks common to all.
dropped()
{
	local status=0
	[ -x "$T/drop" ] || gcc -g -O1 -finstrument-functions -o "$T/drop" "$ROOT/test/behave/programs/drop.c" -lpthread
	chmod 755 "$T" "$T/drop"
	# Its files are read with the rights of the process that maps them, which may have dropped
	# rights by then.
	chmod a+x "$BATS_RUN_TMPDIR"
	# shellcheck disable=SC2086
	HOTPATH_KEEP=0 HOTPATH_REPORT=timing,leaks,alloc-sites,waiting HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/json \
		$run "$T/drop" "$@" >"$T/out" 2>"$T/err" || status=$?
	[ $status = 3 ]
	[ "$(calls_of "$T/json" prepared)" = 10 ]
	before=$(awk '$2 == "before" { print $3 }' "$T/out")
	after=$(awk '$2 == "after" { print $3 }' "$T/out")
	[ -n "$before" ]
}

@test "trust: root that drops rights by user, capabilities, namespace or number continues in another segment" {
	local run way before after
	needs_root
	for way in threads capable numbered names twice; do
		for run in "${runs[@]}"; do
			dropped $way
			[ "$(calls_of "$T/json" worked)" = 7 ]
			[ -n "$after" ]
			[ "$after" != "$before" ]
		done
	done
	# As sandboxes do.
	for run in "${runs[@]}"; do
		dropped limited
		[ "$(calls_of "$T/json" worked)" = 7 ]
	done
}

@test "trust: a process that can regain its rights, or whose vfork child drops them, keeps its segment" {
	local run way before after
	needs_root
	for way in back vfork; do
		for run in "${runs[@]}"; do
			dropped $way
			[ "$(calls_of "$T/json" worked)" = 7 ]
			[ "$after" = "$before" ]
		done
	done
}

@test "trust: a vfork child that ends does not enter the next segment for its parent" {
	needs_root
	compile vforked <<-'EOF'
		#include <sys/wait.h>
		#include <unistd.h>
		__attribute__((noinline)) static void worked(void) { __asm__ volatile(""); }
		int main(void)
		{
			if (setuid(65534))
				return 1;
			if (vfork() == 0)
				_exit(0);
			wait(NULL);
			for (int i = 0; i < 7; i++)
				worked();
			return 5;
		}
	EOF
	HOTPATH_REPORT=functions-timing,processes HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/vforked.json "$HP_RUN" "$T/vforked" || [ $? = 5 ]
	jq -c '.processes.raw' "$T/vforked.json"
	[ "$(jq -r '.processes.raw[] | "\(.runs) \(.exit_status)"' "$T/vforked.json")" = "1 5" ]
	[ "$(counts_in "$T/vforked.json" | grep ^worked)" = "worked 7" ]
}

@test "trust: other threads follow, and only their calls in between are lost" {
	local run before after spins told
	needs_root
	for run in "${runs[@]}"; do
		dropped threads 3
		[ "$(calls_of "$T/json" worked)" = 7 ]
		[ "$after" != "$before" ]
		spins=$(awk '/^spins/ { print $2 }' "$T/out")
		told=$(calls_of "$T/json" spins)
		[ "$told" != null ] || told=0
		# What they waited for when the rights were dropped is over: they have ended.
		jq -e '.waiting.data == []' "$T/json"
		[ "$told" -le "$spins" ]
		# Each of them had at least one slow hook.
		[ $((spins - told)) -le $((spins / 2 + 100)) ]
	done
}

@test "trust: blocks alive when rights are dropped are reported as such, and are not leaks" {
	local run before after
	needs_root
	for run in "${runs[@]}"; do
		dropped held
		jq -c '.leaks | [.alive_at_drop_count, .alive_at_drop_bytes]' "$T/json"
		# Besides these, what the C library needs.
		jq -e '.leaks | .alive_at_drop_count >= 200000 and .alive_at_drop_bytes >= 8000000 and
			.alive_at_drop_bytes < 10000000' "$T/json"
		jq -e '[.leaks.data[] | select(.name | test("drop.c"))] == []' "$T/json"
	done
}

@test "trust: sampled blocks alive when rights are dropped have their own size" {
	local run before after
	needs_root
	for run in "${runs[@]}"; do
		dropped held
		# Without leaks, half of the blocks begin within a grain.
		# shellcheck disable=SC2086
		HOTPATH_KEEP=0 HOTPATH_REPORT=alloc-sites HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/json \
			$run "$T/drop" held >"$T/out" 2>"$T/err" || [ $? = 3 ]
		jq -c '.alloc_sites | [.alive_at_drop_count, .alive_at_drop_bytes]' "$T/json"
		jq -e '.alloc_sites | .alive_at_drop_bytes >= 8000000 and .alive_at_drop_bytes < 10000000' "$T/json"
	done
}

@test "trust: if no helper answers, a process stops recording, says so once, and continues" {
	local run before after
	needs_root
	unshare --net true 2>/dev/null || skip "needs CAP_SYS_ADMIN"
	for run in "${runs[@]}"; do
		dropped nowhere
		[ "$(grep -c 'no longer recorded' "$T/err")" = 1 ]
		grep -q "^hotpath: drop is no longer recorded .*: the session's helper is in another network namespace; " "$T/err"
		[ -z "$after" ]
	done
}

@test "trust: the time between dropping root and the next record is in that record" {
	local run
	needs_root
	gcc -O1 -o "$T/idle" -x c - <<-'EOF'
		#include <sys/wait.h>
		#include <time.h>
		#include <unistd.h>
		/* Nothing that would be recorded: the worker joins at its end. */
		int main(void)
		{
			struct timespec now = { 0, 0 };
			if (fork() == 0) {
				if (setgid(65534) != 0 || setuid(65534) != 0)
					return 1;
				while (now.tv_sec == 0 && now.tv_nsec < 200000000)
					clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
				_exit(0);
			}
			return wait(NULL) < 0;
		}
	EOF
	for run in "${runs[@]}"; do
		HOTPATH_KEEP=0 HOTPATH_REPORT=processes HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/json $run "$T/idle"
		jq -c '.processes.raw' "$T/json"
		jq -e '.processes.raw | map(select(.name == "idle")) | .[0].runs == 2 and .[0].cpu_ns >= 190000000' "$T/json"
	done
}

# The parent's hooks follow pointers in records.
@test "trust: a worker that writes hostile values everywhere changes nothing in its parent, helper or report" {
	local run status
	needs_root
	mkdir -p -m 700 "$T/root"
	echo precious >"$T/root/victim"
	for run in "${runs[@]}"; do
		status=0
		# shellcheck disable=SC2086
		HOTPATH_KEEP=0 HOTPATH_REPORT=timing,alloc-sites,mutexes HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/json \
			timeout 120 $run "$T/trust" everywhere >"$T/out" 2>"$T/err" || status=$?
		[ $status = 0 ]
		[ "$(calls_of "$T/json" parent_works)" = "$(awk '/^parent/ { print $2 }' "$T/out")" ]
		[ "$(cat "$T/root/victim")" = precious ]
		[ "$(ls "$T/root")" = victim ]
	done
}

# The program's file names the place of its debug information, and a user with write access there
# controls the contents.
@test "trust: a worker that dropped root moves the live server a few times only" {
	needs_root
	gcc -I"$ROOT" -o "$T/moves" -x c - <<-'EOF'
		#define _GNU_SOURCE
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/wait.h>
		#include <time.h>
		#include <unistd.h>
		#include "segment/layout/header.h"
		/* A worker requests the port again as soon as it was released. */
		static void request(struct hp_ports *ports)
		{
			struct timespec pause = { 0, 5000000 };
			for (int i = 0; i < 400; i++) {
				atomic_store(&ports->asked, 1);
				nanosleep(&pause, NULL);
			}
			printf("%u\n", atomic_load(&ports->given));
		}
		int main(void)
		{
			char line[512];
			unsigned long header = 0;
			if (fork() != 0)
				return wait(NULL) < 0;
			free(malloc(100));
			if (setgid(65534) != 0 || setuid(65534) != 0)
				return 1;
			free(malloc(100));
			FILE *maps = fopen("/proc/self/maps", "r");
			while (!header && fgets(line, sizeof(line), maps))
				if (strstr(line, "memfd:hotpath") && strstr(line, "rw-s"))
					header = strtoul(line, NULL, 16);
			if (header)
				request((struct hp_ports *)(header + HP_PORTS_AT));
			return header == 0;
		}
	EOF
	chmod a+x "$BATS_RUN_TMPDIR" "$T"
	HOTPATH_KEEP=0 HOTPATH_REPORT=alloc HOTPATH_METRICS_PORT=0 "$HP_BUILD/hotpath" run -o "$T/text" "$T/moves" >"$T/out" 2>"$T/err"
	head -20 "$T/out" "$T/err"
	[ "$(cat "$T/out")" -ge 1 ]
	[ "$(grep -c 'live figures: http' "$T/err")" -le 9 ]
}

@test "trust: a pipe in place of debug information is not waited for" {
	local place
	mkdir -p "$T/debug/.debug"
	cd "$T/debug"
	cat >app.c <<-'EOF'
		#include <time.h>
		static volatile unsigned long work;
		void twice(void) { for (int i = 0; i < 100000; i++) work += 2; }
		int main(void) { while (clock() < CLOCKS_PER_SEC / 5) twice(); return 0; }
	EOF
	export HOTPATH_REPORT=all HOTPATH_CPU=timer HOTPATH_KEEP=0
	for place in beside folder altlink dwo; do
		rm -rf app app.debug app.alt .debug/* ./*.dwo
		gcc -g -O1 -finstrument-functions $([ $place != dwo ] || echo -gsplit-dwarf) -o app app.c
		HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH=record LD_PRELOAD=$HP_LIB ./app
		objcopy --only-keep-debug app app.debug
		case $place in
		beside | folder)
			objcopy --strip-all --add-gnu-debuglink=app.debug app
			rm app.debug
			;;
		altlink)
			printf 'app.alt\0%020d' 0 >link
			objcopy --add-section .gnu_debugaltlink=link app
			;;
		dwo) rm ./*.dwo ;;
		esac
		case $place in
		beside) mkfifo app.debug ;;
		folder) mkfifo .debug/app.debug ;;
		altlink) mkfifo app.alt ;;
		dwo) mkfifo "$(strings app | grep -m 1 '\.dwo$')" ;;
		esac
		timeout 60 "$HP_BUILD/hotpath" report -f json record >"$T/report"
		is_whole "$T/report"
		# The program's own report, which is made in a copy of the helper.
		timeout 60 "$HP_RUN" -f json -o "$T/report" ./app 2>"$T/err"
		cat "$T/err"
		is_whole "$T/report"
		[ ! -s "$T/err" ]
		timeout 60 "$HP_BUILD/hotpath" report --annotate twice record >"$T/lines" 2>&1 || [ $? = 1 ]
	done
}

@test "a report is made without debug information that never arrives" {
	compile plain <<-'EOF'
		#include <stdlib.h>
		void leaf(void) { *(volatile char *)malloc(100) = 1; }
		int main(void) { leaf(); return 0; }
	EOF
	gcc -shared -fPIC -o "$T/held.so" -x c - <<-'EOF'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <string.h>
		#include <unistd.h>
		/* As a file system that does not answer: libdw is never there. */
		void *dlopen(const char *name, int flags)
		{
			while (name && strncmp(name, "libdw", 5) == 0)
				pause();
			return ((void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen"))(name, flags);
		}
	EOF
	HOTPATH_KEEP=0 HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH=$T/record LD_PRELOAD=$HP_LIB "$T/plain"
	HOTPATH_TEST_REPORT_MS=500 LD_PRELOAD=$T/held.so timeout 60 "$HP_BUILD/hotpath" report --fd 3 3<>"$T/record" 2>"$T/err"
	[ "$(grep -c '^wall ' "$T/err")" = 1 ]
	[ "$(grep -c 'the report above has no names from there' "$T/err")" = 1 ]
	"$HP_BUILD/hotpath" report >"$T/kept"
	grep -q '^wall ' "$T/kept"
	HOTPATH_OUTPUT_FORMAT=none HOTPATH_TEST_REPORT_MS=500 LD_PRELOAD=$T/held.so timeout 60 "$HP_BUILD/hotpath" \
		report --fd 3 3<>"$T/record" 2>"$T/err"
	[ "$(grep -c 'this run is kept without names from there' "$T/err")" = 1 ]
	# The helper starts both attempts. With HOTPATH_BIN, it may be a script's.
	mkdir "$T/bin"
	ln -s "$HP_BUILD/hotpath-sampler" "$T/bin"
	printf '#!/bin/sh\nLD_PRELOAD=%s exec %s "$@"\n' "$T/held.so" "$HP_BUILD/hotpath" >"$T/bin/hotpath"
	chmod +x "$T/bin/hotpath"
	HOTPATH_BIN=$T/bin HOTPATH_TEST_REPORT_MS=500 LD_PRELOAD=$HP_LIB "$T/plain" 2>"$T/err"
	[ "$(grep -c '^wall ' "$T/err")" = 1 ]
	[ "$(grep -c 'the report above has no names from there' "$T/err")" = 1 ]
	# The timing does not reveal it, and the status is the creator's.
	timeout 60 "$HP_BUILD/hotpath" report --fd 3 3<>"$T/record" 2>"$T/err"
	grep -q leaf "$T/err"
	[ "$(grep -c 'names from there' "$T/err")" = 0 ]
	run "$HP_BUILD/hotpath" report --fd 3 3</dev/null
	[ "$status" != 0 ]
}

# secret_program FOLDER: `app` there, whose names and source are in files that only root can read.
# The program needs neither.
secret_program()
{
	local folder=$1
	mkdir -p "$1/out"
	while [ "$folder" != /tmp ] && [ "$folder" != / ]; do
		chmod a+x "$folder"
		folder=$(dirname "$folder")
	done
	chmod 777 "$1/out"
	printf 'SECRET line %d\n' 1 2 3 4 >"$1/secret.txt"
	gcc -g -O1 -o "$1/app" -x c - <<-EOF
		#include <time.h>
		static volatile unsigned long work;
		# 1 "$1/secret.txt"
		__attribute__((noinline)) void SECRET_function(void) { for (int i = 0; i < 100000; i++) work += 2; }
		int main(void) { while (clock() < CLOCKS_PER_SEC / 5) SECRET_function(); return 0; }
	EOF
	objcopy --only-keep-debug "$1/app" "$1/app.debug"
	(cd "$1" && objcopy --strip-all --add-gnu-debuglink=app.debug app)
	chmod 600 "$1/secret.txt" "$1/app.debug"
}

as_nobody()
{
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# all_views RUN: all its views, in $T/views.
all_views()
{
	local what
	{
		"$HP_BUILD/hotpath" report --all "$1"
		"$HP_BUILD/hotpath" report --all -f json "$1"
		"$HP_BUILD/hotpath" report --annotate SECRET_function "$1"
		"$HP_BUILD/hotpath" report --annotate app "$1"
		for what in flamegraph folded firefox; do
			"$HP_BUILD/hotpath" report --export $what "$1"
		done
	} >"$T/views" 2>&1 || true
	grep -q '^CPU ' "$T/views"
}

@test "trust: for a user's run, root reads only files that the user can read" {
	needs_root
	as_nobody test -r "$HP_LIB" || skip "the build is not readable by everybody"
	secret_program "$T/shown_to_root"
	export HOTPATH_KEEP=0 HOTPATH_CPU=timer
	as_nobody env HOTPATH_SEGMENT_PATH="$T/shown_to_root/out/run" HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD="$HP_LIB" "$T/shown_to_root/app"
	[ "$(stat -c %u "$T/shown_to_root/out/run")" = 65534 ]
	all_views "$T/shown_to_root/out/run"
	[ "$(grep -c SECRET_function "$T/views")" -le 1 ]
	[ "$(grep -c 'SECRET line' "$T/views")" = 0 ]
	"$HP_BUILD/hotpath" report --all - <"$T/shown_to_root/out/run" >"$T/views" 2>&1
	[ "$(grep -c SECRET "$T/views")" = 0 ]
	# shellcheck disable=SC2002
	cat "$T/shown_to_root/out/run" | "$HP_BUILD/hotpath" report --all - >"$T/views" 2>&1
	[ "$(grep -c SECRET "$T/views")" = 0 ]
	# Files that the user can read are shown as before.
	chmod 644 "$T/shown_to_root/secret.txt" "$T/shown_to_root/app.debug"
	all_views "$T/shown_to_root/out/run"
	[ "$(grep -c SECRET_function "$T/views")" -gt 3 ]
	grep -q 'SECRET line 1' "$T/views"
}

@test "trust: the same for a process of root's own session that dropped its rights" {
	needs_root
	secret_program "$T/of_worker"
	export XDG_STATE_HOME=$T/of_worker/state HOTPATH_CPU=timer HOTPATH_REPORT=all
	HOTPATH_OUTPUT_PATH=$T/report "$HP_RUN" setpriv --reuid=65534 --regid=65534 --clear-groups "$T/of_worker/app"
	grep -q '^CPU ' "$T/report"
	[ "$(grep -c SECRET "$T/report")" = 0 ]
	chmod 600 "$T/of_worker/secret.txt"
	chmod 644 "$T/of_worker/app.debug"
	HOTPATH_OUTPUT_PATH=$T/report "$HP_RUN" setpriv --reuid=65534 --regid=65534 --clear-groups "$T/of_worker/app"
	grep -q SECRET_function "$T/report"
	"$HP_BUILD/hotpath" report --annotate SECRET_function >"$T/lines" 2>&1
	[ "$(grep -c 'SECRET line' "$T/lines")" = 0 ]
	chmod 644 "$T/of_worker/secret.txt"
	"$HP_BUILD/hotpath" report --annotate SECRET_function >"$T/lines" 2>&1
	grep -q 'SECRET line 1' "$T/lines"
	# Root's own program reads root's own files.
	chmod 600 "$T/of_worker/secret.txt" "$T/of_worker/app.debug"
	HOTPATH_OUTPUT_PATH=$T/report "$HP_RUN" "$T/of_worker/app"
	grep -q SECRET_function "$T/report"
}

@test "trust: the same when root inspects the stacks of a user's process" {
	local pid
	needs_root
	secret_program "$T/of_stacks"
	gcc -g -O1 -o "$T/of_stacks/app" -x c - <<-'EOF'
		#include <unistd.h>
		__attribute__((noinline)) int SECRET_function(void) { return pause() + 1; }
		int main(void) { return SECRET_function(); }
	EOF
	objcopy --only-keep-debug "$T/of_stacks/app" "$T/of_stacks/app.debug"
	(cd "$T/of_stacks" && objcopy --strip-all --add-gnu-debuglink=app.debug app)
	chmod 600 "$T/of_stacks/app.debug"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$T/of_stacks/app" 3>&- &
	pid=$!
	eventually grep -q of_stacks/app /proc/$pid/maps
	eventually grep -q '^State:.S' /proc/$pid/status
	"$HP_BUILD/hotpath" stacks $pid >"$T/shut" 2>&1 || true
	chmod 644 "$T/of_stacks/app.debug"
	"$HP_BUILD/hotpath" stacks $pid >"$T/open" 2>&1 || true
	kill $pid
	wait $pid || true
	[ "$(grep -c SECRET "$T/shut")" = 0 ]
	grep -q '1 thread' "$T/shut" || grep -q pause "$T/shut" || skip "no stacks here"
	grep -q SECRET_function "$T/open"
}
