# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# helper.bash - shared by the behaviour tests; each starts with `load helper`.
#
# $ROOT is the source tree, $HP_BUILD the build below it, $T a directory of this
# file's own.  Targets are compiled once, in setup_file.

bats_require_minimum_version 1.5.0	# run -N, run !

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
HP_BUILD=${HP_BUILD:-$ROOT/build}
HP_LIB=$HP_BUILD/libhotpath.so
HP_RUN=$HP_BUILD/hotpath-run
T=${BATS_FILE_TMPDIR:-${BATS_RUN_TMPDIR:-/tmp}}
export ROOT HP_BUILD HP_LIB HP_RUN T

# The caller's environment must not affect the outcome.
while IFS= read -r variable; do
	unset "$variable"
done < <(compgen -e HOTPATH_)
unset LD_PRELOAD NO_COLOR CLICOLOR_FORCE COLUMNS DEBUGINFOD_URLS
# Runs are kept as by default, but not among the caller's own.
export XDG_STATE_HOME=$T/state
# If that cannot be used, tests must not use /var/tmp either.
export HOTPATH_TEST_SPARE=$T
# Slow reports on a busy machine are awaited, too.
export HOTPATH_EXIT_WAIT_MS=20000
# Nor does every report of samples write a profile.
export HOTPATH_PROFILE_DIR=off

# The tests read tables; the default report has its own tests (brief.bats).
export HOTPATH_REPORT=auto

# compile NAME [FLAGS...] - C source on stdin to $T/NAME, instrumented unless
# the flags say otherwise; CC chooses the compiler, LANGUAGE=c++ the language.
compile()
{
	local name=$1 source=$T/$1.${LANGUAGE:-c}
	shift
	cat >"$source"
	"${CC:-gcc}" -x "${LANGUAGE:-c}" -g -O1 -finstrument-functions -o "$T/$name" "$source" \
		"$@" -lpthread
}

# make_as_built ARGUMENTS... - make, with the flags of the build under test. With others, it would
# build all of that again, without assertions and while other tests use it. MAKEFLAGS belongs to the
# make that runs the tests.
make_as_built()
{
	env -u MAKEFLAGS -u MFLAGS make -s --eval="include $HP_BUILD/flags" "$@"
}
export -f make_as_built	# for scripts that a test starts

# Names of the functions with their counts in a JSON report: "NAME CALLS" lines.
counts_in()
{
	python3 "$ROOT/test/behave/counts.py" "$1"
}

# Until a command succeeds.  The awaited event takes milliseconds on an idle machine.
eventually()
{
	local deadline=$((SECONDS + 60))

	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt $deadline ] || { echo "never: $*"; return 1; }
		sleep 0.02
	done
}

# is_stopped PID - by SIGSTOP, with all its threads.
is_stopped()
{
	[ "$(sed -n 's/^State:[[:blank:]]*\(.\).*/\1/p' /proc/"$1"/task/*/status | sort -u)" = T ]
}

# Waits until no helper of this file's programs writes any more.
helpers_are_gone()
{
	local pid
	for pid in $(pgrep '^hotpath'); do
		! tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx -e "XDG_STATE_HOME=$T/state" -e "XDG_STATE_HOME=$XDG_STATE_HOME" ||
			return
	done
}

# When the last process is killed, its helper writes a report into a folder that is about to be
# removed.
teardown_file()
{
	eventually helpers_are_gone
}

# A report in JSON is complete.
is_whole()
{
	[ "$(tail -c 2 "$1" | tr -d '\n')" = "}" ]
}

# report_comes FILE [STDERR] - a program that ends by _exit or a signal does not wait for its report
# (JSON), and exit() waits only for a limited time and says so, which does not matter here. The
# report of an earlier run must be removed, or it would be accepted.
report_comes()
{
	eventually is_whole "$1" || return
	[ $# -lt 2 ] || sed -i '/^hotpath: the report takes longer than/d' "$2"
}

# found NAME - the file of an allocator: Debian's packages, all of them optional for building and
# running.
found()
{
	local file

	for file in /usr/lib/*/"$1".so.*; do
		[ ! -e "$file" ] || { echo "$file"; return; }
	done
	return 1
}

# up_to_3 COMMAND... - another user's load may disturb comparisons of times: one success in three
# tries is enough.
up_to_3()
{
	local try

	for try in 1 2 3; do
		echo "try $try: $*"
		"$@" && return
	done
	return 1
}

# Runs that were kept since the last call, as JSON reports of all sections: a test that reads a table
# makes none itself. Each takes a tenth of a second, so without HP_TEST_FULL it is the newest run only,
# of every eighth test.
kept_as_json()
{
	local most=1 run number=0 folder=${BATS_TEST_TMPDIR:-$T}/.kept
	[ -z "$HP_TEST_FULL" ] || most=1000
	[ $most != 1 ] || [ "$((${BATS_TEST_NUMBER:-1} % 8))" = 1 ] || return 0
	mkdir -p "$folder"
	find "$T" -name '*.hp.gz' -type f -size -8M "$@" -printf '%T@ %p\n' 2>/dev/null | sort -rn | head -n $most |
		while read -r _ run; do
			env -u HOTPATH_REPORT timeout 20 "$HP_BUILD/hotpath" report "$run" -r all -f json \
				>"$folder/$((number++))" 2>/dev/null || :
		done
}

# The numbers in each JSON report written since the last call are consistent.
reports_are_possible()
{
	local newer=() files
	[ ! -e "$T/.possible" ] || newer=(-newer "$T/.possible")
	kept_as_json "${newer[@]}"
	mapfile -t files < <(find "$T" "${BATS_TEST_TMPDIR:-$T}" -type f -size -32M "${newer[@]}" \
		-exec grep -lsZ -m 1 '"hotpath_report"' {} + | tr '\0' '\n' | sort -u)
	touch "$T/.possible"
	[ ${#files[@]} = 0 ] || python3 "$ROOT/test/behave/possible.py" "${files[@]}"
}

teardown()
{
	reports_are_possible
}

# near PERCENT TOLD SAID
near()
{
	echo "told $2, said $3"
	awk -v p="$1" -v told="$2" -v said="$3" 'BEGIN { d = told - said; exit !((d < 0 ? -d : d) <= said * p / 100) }'
}

# with_us PROGRAM ARGS... - $T/PROGRAM prints the same as without the library, in $T/out.
with_us()
{
	local program=$1
	shift
	"$T/$program" "$@" >"$T/bare"
	LD_PRELOAD=$HP_LIB "$T/$program" "$@" >"$T/out"
	diff "$T/bare" "$T/out"
}

# lock_rows SECTION KEY... - a line for each row of the JSON report $T/report.
lock_rows()
{
	python3 "$ROOT/test/behave/locks.py" "$T/report" "$@" | sort
}

# folder_for_all NAME... - creates a folder that every user can read, unlike the tests' folder, with
# the commands, the library and $T/NAME; its name is in $T/other.
folder_for_all()
{
	local other name
	other=$(mktemp -d /tmp/hotpath-test.XXXXXX)
	echo "$other" >"$T/other"
	cp "$HP_BUILD"/hotpath* "$HP_LIB" "$other"
	for name; do
		cp "$T/$name" "$other"
	done
	chmod -R a+rX "$other"
	chmod 777 "$other"
}

# Skips a test that takes too long for `make test`.
only_in_full()
{
	[ -n "$HP_TEST_FULL" ] || skip "takes long: make test-all"
}

# Prints the directory of a Debian source package, or skips with the reason.
debian_source()
{
	(
		mkdir -p "$HP_BUILD/source"
		flock 9
		"$ROOT/scripts/fetch-source" "$1" "$HP_BUILD/source" 2>"$T/fetch.err"
	) 9>"$HP_BUILD/source.lock" || { tail -n 1 "$T/fetch.err" >&2; return 1; }
}

# serve PROGRAM [VARIABLE=VALUE...] - starts a server at a free port; prints its address.
serve()
{
	local program=$1 out
	shift
	out=$(mktemp "$T/serve.XXXXXX")
	env "$@" "$HP_BUILD/hotpath" serve "$program" --port 0 >"$out" 3>&- &
	echo $! >"$out.pid"
	eventually grep -q '^http' "$out"
	cat "$out"
}

# Ends the processes in $T/*.pid, and waits for the helpers.
pids_end()
{
	local pid
	for pid in "$T"/*.pid; do
		kill "$(cat "$pid")" 2>/dev/null || true
	done
	eventually helpers_are_gone
}
