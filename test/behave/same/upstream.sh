# SPDX-License-Identifier: MIT
# upstream.sh build PROJECT SOURCES - builds a project from Debian's source in $TOOLS/upstream/PROJECT, with its own
# test programs; the second time it does nothing.
# upstream.sh PROJECT - runs its own test suite, whatever is in LD_PRELOAD being there for make, too, and
# prints how each test ended, a line for each. Failing tests are run twice again: a test that sometimes
# fails proves nothing. upstream.sh list - the projects.
set -u
jobs=${JOBS:-2}
projects="coreutils bash make grep sed gawk findutils diffutils tar gzip m4 bison flex perl ruby git curl openssl redis
	c-ares sqlite libevent node postgresql boost kernel"
# As an unprivileged user: tests that need root concern the system, and may break it.
user=
[ "$(id -u)" != 0 ] || user="setpriv --reuid 65534 --regid 65534 --clear-groups"
export HOME=/tmp LC_ALL=C.UTF-8 TZ=UTC

# --- common to most of them: automake ---

# Files that are older than their sources because of Debian's patches are not rebuilt.
not_anew="AUTOMAKE=: AUTOCONF=: ACLOCAL=: AUTOHEADER=: MAKEINFO=:"

automake_build()
{
	./configure -q --disable-dependency-tracking --disable-nls CFLAGS=-O1 "$@" &&
		make -j"$jobs" $not_anew
}

# Each test leaves NAME.trs with its results.
automake_run()
{
	$user make -k -j"$jobs" check $not_anew "$@"
	$user make -k recheck $not_anew "$@"
	$user make -k recheck $not_anew "$@"
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
findutils_run() { automake_run SUBDIRS=.; }
gzip_build() { automake_build; }
gzip_run() { automake_run SUBDIRS=tests; }
diffutils_build() { automake_build; }
diffutils_run() { automake_run SUBDIRS=tests; }
m4_build() { automake_build; }
flex_build() { automake_build; }
flex_run() { automake_run SUBDIRS=tests; }

# --- those with their own build ---

# Each script prints the differences from the expected output, which has times and process ids.
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

# The manual's examples; the result is the numbers of the failed ones.
m4_run()
{
	(cd checks && $user make -k check $not_anew >log 2>&1; grep -E '^Checking' log >&3
		sed -n '/^Failed checks were:/,/^[^ ]/p; /^All checks/p' log >&3)
}

# Autotest's numbers, names and results.
autotest_results() { sed -nE 's/^ *([0-9]+: .*[^ ]) +(ok|skipped|FAILED|expected failure).*/\1 \2/p' "$@" | sort -n; }
bison_build() { automake_build; }
bison_run()
{
	$user make -k check $not_anew SUBDIRS=. TESTSUITEFLAGS="-j$jobs ${BISON_TESTS:-1-300}" >"$TMPDIR/out" 2>&1
	autotest_results "$TMPDIR/out" >&3
}

tar_build() { FORCE_UNSAFE_CONFIGURE=1 automake_build; }
tar_run()
{
	cd tests && $user make -k check $not_anew TESTSUITEFLAGS="-j$jobs ${TAR_TESTS:-}" >log 2>&1
	autotest_results log >&3
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

c-ares_build() { automake_build --disable-shared --enable-tests && make -j"$jobs" -C test arestest; }
c-ares_run()
{
	$user ./test/arestest --gtest_filter='-*Live*:*LocalAddr*' 2>&1 </dev/null | sed -nE 's/^\[ +(OK|FAILED|SKIPPED) \] ([^ ]*).*/\2 \1/p' |
		sort -u >&3
}

sqlite_build() { ./configure -q --disable-amalgamation CFLAGS='-O1 -w' && make -j"$jobs" testfixture; }
# The installed one, of the same version, with the modules beside it as the tests expect them.
perl_build()
{
	for place in $(perl -e 'print join " ", grep m{^/usr/(share|lib)/.*(5\.[0-9]+|base)$}, @INC'); do
		cp -a "$place/." lib || return
	done
	ln -sf "$(command -v perl)" perl && ln -sf ../perl t/perl
}
# Tests of modules run in the module's folder.
perl_run()
{
	export PERL_CORE=1
	for test in ${PERL_TESTS:-t/base/*.t t/cmd/*.t t/comp/*.t t/io/*.t t/mro/*.t t/op/*.t lib/*.t dist/threads/t/*.t \
		dist/threads-shared/t/*.t dist/Thread-Queue/t/*.t ext/POSIX/t/*.t cpan/IPC-SysV/t/*.t dist/IO/t/*.t}; do
		folder=t name=../$test
		case $test in t/*) name=${test#t/} ;; dist/* | ext/* | cpan/*) folder=${test%/t/*} name=t/${test##*/} ;; esac
		switches=$(sed -nE '1s/^#!.*perl//p' "$test")
		for try in 1 2 3; do
			(cd "$folder" && $user timeout -k 5 300 "$TOOLS/upstream/perl/perl" -I"$TOOLS/upstream/perl/lib" $switches "$name") \
				>"$TMPDIR/out" 2>&1 </dev/null
			status=$?
			[ $status != 0 ] || grep '^not ok' "$TMPDIR/out" | grep -qv '# *TODO' || break
		done
		echo "$test $status $(grep -c '^ok' "$TMPDIR/out") $(sed -nE 's/^not ok ([0-9]*).*/\1/p' "$TMPDIR/out" | tr '\n' ' ')" >&3
	done
}

# The installed one, of the same version.
ruby_build() { command -v ruby; }
ruby_run()
{
	for test in ${RUBY_TESTS:-process signal system thread thread_cv thread_queue threadgroup sleep io io_buffer io_m17n file \
		file_exhaustive pipe readpartial argf beginmainend rubyoptions autoload fiber continuation gc gc_compact objectspace \
		weakmap stack exception backtrace env dir require dir_m17n hash string array marshal proc time rand}; do
		for try in 1 2 3; do
			$user timeout -k 5 600 ruby -Itool/lib -Itest/lib test/runner.rb --ruby=ruby --seed=1 -v --tty=no \
				"test/ruby/test_$test.rb" >"$TMPDIR/out" 2>&1 </dev/null
			status=$?
			[ $status != 0 ] || break
		done
		echo "$test $status" >&3
		sed -nE 's/^\[ *[0-9]+\/[0-9]+\] ([^ ]+) = .*/  \1/p; /^ *[0-9]+\) (Failure|Error|Skipped):/{n; s/^([^ :]+).*/  not ok \1/p}' \
			"$TMPDIR/out" | sort >&3
	done
}

# The installed client with the servers of the sources, which have the same version, and which the tests
# ask with src/curl whether they answer; tests of the library's own programs are excluded by number.
curl_build()
{
	./configure -q --disable-dependency-tracking --without-ssl --disable-shared CFLAGS='-O1 -w' &&
		make -j"$jobs" -C tests/server $not_anew all && ln -sf "$(command -v curl)" src/curl
}
curl_run()
{
	cd tests || return
	$user timeout -k 5 1500 perl runtests.pl -a -n -c "$(command -v curl)" ${CURL_TESTS:-1 to 499} >"$TMPDIR/out" 2>&1 </dev/null
	sed -nE 's/^test ([0-9]+)\.\.\..*(OK|FAILED).*/\1 \2/p; s/^(test[0-9]+) SKIPPED: .*/\1 SKIPPED/p' "$TMPDIR/out" >&3
	sed -nE 's/^TEST(DONE|FAIL).*/&/p; s/^ *([0-9]+): .*FAILED.*/\1 FAILED/p' "$TMPDIR/out" >&3
}

openssl_build() { ./config -w no-fips && make -j"$jobs"; }
openssl_run()
{
	$user make test HARNESS_JOBS=$jobs TESTS="${OPENSSL_TESTS:-alltests}" >"$TMPDIR/out" 2>&1 </dev/null
	sed -nE 's/^([0-9]+-test_[^ ]*\.t) \.+ *(.*)$/\1 \2/p' "$TMPDIR/out" | sort -u >&3
}

# The quick half of its tests in one process: for each file the number of passed cases, and the
# failed ones.
sqlite_run()
{
	$user timeout -k 5 1500 ./testfixture ${SQLITE_TESTS:-test/veryquick.test} >"$TMPDIR/out" 2>&1 </dev/null
	echo "status $?" >&3
	awk '/^! [^ ]+ expected/ { print "  failed " $2 } /\.\.\. Ok$/ { ok++ }
		/^Time: / { print $2, ok + 0; ok = 0 } /errors out of/ { print $1, $2, $3, $4, $5, $6 }' "$TMPDIR/out" >&3
	rm -rf testdir
}

# --- all of them ---

. "$(dirname "$0")/upstream_servers.sh"

source_name()
{
	case $1 in make) echo make-dfsg ;; sqlite) echo sqlite3 ;; ruby) echo ruby3.1 ;; node) echo nodejs ;;
	postgresql) echo postgresql-15 ;; boost) echo boost1.74 ;; *) echo "$1" ;; esac
}

case $1 in
list) echo "$projects" ;;
build)
	place=$TOOLS/upstream/$2
	[ ! -e "$place/.built" ] || exit 0
	if [ "$(type -t "$2_fetch")" = function ]; then
		source=$("$2_fetch" "$3") || exit
	else
		source=$("${0%/*}/../../../scripts/fetch-source" "$(source_name "$2")" "$3") || exit
	fi
	rm -rf "$place" && mkdir -p "$place" && cp -a "$source/." "$place" && cd "$place" || exit
	{ "$2_build" >log.build 2>&1 || { tail -n 5 log.build >&2; exit 1; }; } && touch .built &&
		{ [ -z "$user" ] || chown -R 65534:65534 .; }
	;;
*)
	cd "$TOOLS/upstream/$1" && chmod 777 "$TMPDIR" && exec 3>&1 >"$TMPDIR/log" 2>&1 </dev/null && "$1_run"
	rm -rf "${TMPDIR:?}"/*
	;;
esac
