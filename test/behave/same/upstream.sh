# SPDX-License-Identifier: MIT
# upstream.sh build PROJECT SOURCES - builds a project from Debian's source in $TOOLS/upstream/PROJECT, with its own
# test programs; the second time it does nothing.
# upstream.sh PROJECT - runs its own test suite, whatever is in LD_PRELOAD being there for make, too, and prints how
# each test ended, a line for each. What fails is run twice again: a test that sometimes fails is no news.
# upstream.sh list - the projects.
set -u
jobs=${JOBS:-2}
projects="coreutils bash make grep sed gawk findutils tar gzip git redis libevent c-ares sqlite"
# As a user without rights: tests that want root are about the system, and what they break is the system's.
user=
[ "$(id -u)" != 0 ] || user="setpriv --reuid 65534 --regid 65534 --clear-groups"
export HOME=/tmp LC_ALL=C.UTF-8 TZ=UTC

# --- what most of them have: automake ---

automake_build()
{
	# What Debian's patches made older than its sources is not made anew.
	./configure -q --disable-dependency-tracking --disable-nls CFLAGS=-O1 "$@" &&
		make -j"$jobs" AUTOMAKE=: AUTOCONF=: ACLOCAL=: AUTOHEADER=: MAKEINFO=:
}

# Each test leaves NAME.trs with its results.
automake_run()
{
	$user make -k -j"$jobs" check "$@"
	$user make -k recheck "$@"
	$user make -k recheck "$@"
	find . -name '*.trs' | sort | while read -r file; do
		sed -n "s|^:test-result: \([A-Z]*\).*|${file#./} \1|p" "$file"
	done >&3
}

coreutils_build() { automake_build; }
coreutils_run() { automake_run SUBDIRS=.; }
grep_build() { automake_build; }
grep_run() { automake_run SUBDIRS=tests; }
sed_build() { automake_build; }
sed_run() { automake_run SUBDIRS=.; }
findutils_build() { automake_build; }
findutils_run() { automake_run; }
gzip_build() { automake_build; }
gzip_run() { automake_run SUBDIRS=tests; }
libevent_build() { automake_build --disable-samples; }

# --- those with a way of their own ---

# Each script prints what differs from what is expected: times and numbers of processes are in it.
bash_build() { ./configure -q --disable-nls CFLAGS='-O1 -w' && make -j"$jobs" && make -j"$jobs" recho zecho printenv xcase; }
bash_run()
{
	export BUILD_DIR=$PWD THIS_SH=$PWD/bash PATH=$PWD:$PATH BASH_TSTOUT=$TMPDIR/bashtst
	cd tests || return
	for test in run-[a-z]*; do
		case $test in run-all | run-minimal | run-gprof | *.orig | *~) continue ;; esac
		$user timeout -k 5 120 sh "./$test" >"$TMPDIR/out" 2>&1 </dev/null
		echo "$test $? $(grep -c '^[<>]' "$TMPDIR/out")" >&3
		rm -f "$TMPDIR/out" "$BASH_TSTOUT"
	done
}

# The installed one, of the same version: Debian's source has no configure script.
make_build() { sed -e 's/@[A-Z_]*@//' tests/config-flags.pm.in >tests/config-flags.pm; }
make_run()
{
	cd tests && $user perl run_make_tests.pl -srcdir .. -make /usr/bin/make >log 2>&1
	sed -nE 's/^([a-z]+\/[^ ]+) \.+ +/\1 /p' log >&3
	rm -rf work log
}

gawk_build() { ./configure -q --disable-nls CFLAGS='-O1 -w' && make -j"$jobs"; }
gawk_run()
{
	(cd test && $user make -k check >log 2>&1; sed -n '/^[a-z0-9_-]*$/p' log | sort | uniq -c >&3
		for file in _*; do [ ! -s "$file" ] || echo "failed ${file}"; done >&3)
}

tar_build() { FORCE_UNSAFE_CONFIGURE=1 automake_build; }
tar_run()
{
	cd tests && $user make -k check TESTSUITEFLAGS="-j$jobs" >log 2>&1
	sed -nE 's/^ *([0-9]+: .*[^ ]) +(ok|skipped|FAILED|expected failure).*/\1 \2/p' log | sort -n >&3
}

git_build() { make -j"$jobs" CFLAGS='-O1 -w' NO_GETTEXT=1 NO_TCLTK=1 NO_OPENSSL=1 NO_CURL=1 all; }
git_run()
{
	cd t || return
	for test in ${GIT_TESTS:-t000* t001* t002* t006* t007* t3[39]* t5[05]* t65* t70*}; do
		case $test in *.sh) ;; *) continue ;; esac
		$user timeout -k 5 600 sh "./$test" --root="$TMPDIR/trash" >"$TMPDIR/out" 2>&1 </dev/null
		echo "$test $?" >&3
		sed -nE 's/^((not )?ok [0-9]+).*/  \1/p' "$TMPDIR/out" >&3
		rm -rf "$TMPDIR/out" "$TMPDIR/trash"
	done
}

# Debian's server, with the project's tests.
redis_build()
{
	for name in server cli benchmark check-rdb check-aof; do
		ln -sf "$(command -v redis-$name)" src/redis-$name || return
	done
	ln -sf redis-server src/redis-sentinel
}
redis_run()
{
	for unit in ${REDIS_UNITS:-unit/protocol unit/keyspace unit/scan unit/expire unit/multi unit/pubsub unit/auth \
		unit/querybuf unit/introspection unit/introspection-2 unit/limits unit/bitops unit/scripting unit/other \
		unit/type/list unit/type/hash unit/type/stream unit/aofrw unit/shutdown integration/aof integration/rdb \
		integration/replication-psync integration/redis-cli integration/redis-benchmark integration/block-repl}; do
		$user timeout -k 5 900 ./runtest --clients 1 --single "$unit" >"$TMPDIR/out" 2>&1 </dev/null
		echo "$unit $?" >&3
		sed -nE 's/\x1b\[[0-9;]*m//g; s/^\[(ok|err|exception)\]: (.*) \([0-9]+ ms\)$/  \1 \2/p' "$TMPDIR/out" >&3
		rm -rf "$TMPDIR/out"
	done
}

# One program, which forks for each test.
libevent_run()
{
	$user timeout -k 5 1500 ./test/regress --quiet >"$TMPDIR/out" 2>&1 </dev/null
	echo "regress $?" >&3
	for backend in EPOLL POLL SELECT; do
		(for each in EPOLL POLL SELECT; do [ $each = $backend ] || export EVENT_NO$each=yes; done
			for test in test-init test-eof test-closed test-weof test-time test-changelist test-fdleak; do
				$user timeout -k 5 100 ./test/$test >/dev/null 2>&1 </dev/null
				echo "$backend $test $?" >&3
			done)
	done
}

c-ares_build() { automake_build --disable-shared --enable-tests && make -j"$jobs" -C test arestest; }
c-ares_run()
{
	$user ./test/arestest --gtest_filter='-*Live*:*LocalAddr*' 2>&1 </dev/null | sed -nE 's/^\[ +(OK|FAILED|SKIPPED) \] ([^ ]*).*/\2 \1/p' |
		sort -u >&3
}

sqlite_build() { ./configure -q --disable-amalgamation CFLAGS='-O1 -w' && make -j"$jobs" testfixture; }
sqlite_run()
{
	for test in ${SQLITE_TESTS:-test/lock*.test test/wal*.test test/shared*.test test/thread*.test test/pager*.test test/mmap*.test \
		test/backup*.test test/select*.test test/trans*.test test/journal*.test test/unix*.test test/vacuum*.test}; do
		$user timeout -k 5 300 ./testfixture "$test" >"$TMPDIR/out" 2>&1 </dev/null
		echo "$test $? $(grep -E '^[0-9]+ errors out of' "$TMPDIR/out" | sed 's/ on .*//')" >&3
		sed -nE 's/^! ([^ ]*) (expected|got).*/  \1/p' "$TMPDIR/out" >&3
		rm -rf testdir "$TMPDIR/out"
	done
}

# --- all of them ---

source_name()
{
	case $1 in make) echo make-dfsg ;; sqlite) echo sqlite3 ;; *) echo "$1" ;; esac
}

case $1 in
list) echo "$projects" ;;
build)
	place=$TOOLS/upstream/$2
	[ ! -e "$place/.built" ] || exit 0
	source=$("${0%/*}/../../../scripts/fetch-source" "$(source_name "$2")" "$3") || exit
	rm -rf "$place" && mkdir -p "$place" && cp -a "$source/." "$place" && cd "$place" || exit
	{ "$2_build" >log.build 2>&1 || { tail -n 5 log.build >&2; exit 1; }; } && touch .built &&
		{ [ -z "$user" ] || chown -R 65534:65534 .; }
	;;
*)
	cd "$TOOLS/upstream/$1" && chmod 777 "$TMPDIR" && exec 3>&1 >"$TMPDIR/log" 2>&1 </dev/null && "$1_run"
	rm -rf "${TMPDIR:?}"/*
	;;
esac
