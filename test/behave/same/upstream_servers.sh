# SPDX-License-Identifier: MIT
# upstream_servers.sh - recipes of upstream.sh: servers, event loops, coroutines, the kernel's own tests of its system calls.

# each_test LIMIT COMMAND <LIST - runs `COMMAND NAME` for each line of the list, $jobs at a time,
# as the unprivileged user, at most LIMIT seconds, up to three times until it succeeds; prints NAME
# and its status.
each_test()
{
	limit=$1 command=$2 user=$user xargs -P"$jobs" -I{} sh -c '
		room=$(mktemp -d) && chmod 777 "$room"
		for _ in 1 2 3; do
			status=0
			(cd "$room" && TMPDIR=$room exec $user timeout -k 5 "$limit" $command "{}") >"$room.out" 2>&1 </dev/null ||
				status=$?
			[ $status != 0 ] || break
		done
		echo "{} $status"
		[ $status = 0 ] || [ -z "${SUITE_LOG-}" ] || { echo "== {} $status"; tail -n 30 "$room.out"; } >>"$SUITE_LOG"
		rm -rf "$room" "$room.out"' | sort >&3
}

# --- libevent: one program, which forks for each test ---

libevent_build() { automake_build --disable-samples; }
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

# --- node: the installed one, each of these files alone with the flags that it names ---

node_build() { chmod -R a+rX test; }
node_run()
{
	names="${NODE_TESTS:-worker child-process net process cluster dgram fs stdin stdio stdout pipe signal}"
	# Tests of the machine's networks, users or speed.
	left_out='net-(autoselectfamily|connect-(memleak|options-ipv6))|dgram-(multicast|membership|.*ipv6)|fs-(watch|readdir-ucs2)'
	left_out="$left_out"'|process-(setgroups|initgroups|euid-egid|uid-gid)|(tick|benchmark)'
	cat >"$TMPDIR/run" <<-'EOF'
		test=$1
		export NODE_TEST_DIR=$TMPDIR
		exec node $(sed -n 's|^// Flags: ||p' "$test" | head -n 1) "$test"
	EOF
	(cd test/parallel && for name in $names; do ls "test-$name-"*.js "test-$name.js" 2>/dev/null; done) |
		grep -vE "test-($left_out)" | sort -u | sed "s|^|$PWD/test/parallel/|" | each_test 120 "sh $TMPDIR/run" 3>&1 |
		sed 's|.*/||' >&3
}

# --- postgres: its server with twenty clients at once, and the order of locks between sessions ---

postgresql_build()
{
	./configure -q --without-readline --without-zlib --without-icu CFLAGS='-O1 -w' &&
		make -s -j"$jobs" && make -s -C src/test/regress -j"$jobs" all && make -s -C src/test/isolation -j"$jobs" all &&
		make -s temp-install
}
postgresql_run()
{
	for suite in regress isolation; do
		(cd src/test/$suite && NO_TEMP_INSTALL=yes $user timeout -k 5 1500 make -s check) >"$TMPDIR/out" 2>&1 </dev/null
		echo "$suite $?" >&3
		sed -nE "s/^(test | +)([^ ]+) +\.\.\. (ok|FAILED).*/$suite \2 \3/p" "$TMPDIR/out" | sort >&3
		[ -z "${SUITE_LOG-}" ] || cat src/test/$suite/*.diffs >>"$SUITE_LOG" 2>/dev/null
		rm -rf "$TMPDIR/out" src/test/$suite/results src/test/$suite/tmp_check
	done
}

# --- boost: fibers, contexts and coroutines, with a hook in each function ---

boost_build()
{
	flags="-O1 -g -w -std=c++17 -pthread -DBOOST_COROUTINES_NO_DEPRECATION_WARNING $(printf -- '-I%s ' libs/*/include libs/numeric/*/include)"
	mkdir -p objects programs
	printf '%s\n' libs/context/src/posix/stack_traits.cpp \
		libs/context/src/asm/{jump,make,ontop}_"$(uname -m)"_sysv_elf_gas.S libs/fiber/src/*.cpp libs/fiber/src/algo/*.cpp \
		libs/coroutine/src/*.cpp libs/coroutine/src/detail/*.cpp libs/coroutine/src/posix/*.cpp \
		libs/thread/src/pthread/{thread,once}.cpp libs/thread/src/{future,tss_null}.cpp libs/chrono/src/{chrono,thread_clock}.cpp \
		libs/test/src/*.cpp | grep -vE '/(test_main|cpp_main)[.]' | FLAGS=$flags xargs -P"$jobs" -I{} sh -c \
		'g++ $FLAGS -c -o "objects/$(echo "{}" | tr / -).o" "{}"'
	ar rcs objects/all.a objects/*.o
	printf '%s\n' libs/{context,coroutine,coroutine2}/test/test_*.cpp libs/fiber/test/test_*.cpp | FLAGS=$flags xargs -P"$jobs" -I{} sh -c \
		'g++ $FLAGS -finstrument-functions -o "programs/$(basename "{}" .cpp)" "{}" objects/all.a || :'
	[ "$(ls programs | wc -l)" -ge 30 ]
}
boost_run()
{
	ls -d "$PWD"/programs/* | each_test 300 "" 3>&1 | sed 's|.*/||' >&3
}

# --- kernel: Linux's selftests of system calls that do not change the machine ---

kernel_tests="breakpoints clone3 core exec futex/functional ipc kcmp landlock membarrier memfd mincore mount_setattr
	mqueue nsfs openat2 pid_namespace pidfd prctl proc ptrace rlimits rseq sched seccomp sigaltstack splice sync
	syscall_user_dispatch timens timers tmpfs vDSO x86 vm"

# Only these folders of Debian's source package.
kernel_fetch()
{
	place=$1/linux
	[ ! -d "$place/tools/testing/selftests" ] || { echo "$place" && return; }
	mkdir -p "$place" && cd "$place" && apt-get -q download linux-source-6.1 >log 2>&1 || {
		echo "cannot fetch linux-source-6.1: $(grep '^[EW]:' log | tail -n 1)" >&2
		return 1
	}
	dpkg-deb --fsys-tarfile linux-source-*.deb | tar xO --wildcards './usr/src/linux-source-*.tar.xz' | tar xJ --strip-components=1 \
		--wildcards '*/tools/testing/selftests/*' '*/tools/include/*' '*/tools/arch/x86/include/*' && rm -f linux-source-*.deb && echo "$place"
}
kernel_build()
{
	cd tools/testing/selftests || return
	for folder in $kernel_tests; do
		make -k -j"$jobs" -C "$folder" CC=gcc KHDR_INCLUDES=
	done
	[ "$(kernel_programs | wc -l)" -ge 80 ] && cd - >/dev/null
}
# This leaves out scripts that set clocks, sleep until an alarm, measure, or are part of another.
kernel_programs()
{
	for folder in $kernel_tests; do
		find "$folder" -maxdepth 1 -type f -perm -100 ! -name '*.py' | sort
	done | grep -vE 'suspend|clocksource-switch|set-t|set-2|leap|adjt|freq|skew|rtcpie|bench|-lat|inconsistency|param_test|percpu|script|/true$|/load_address.static|fuse|[.]so$|[.]sh$'
}
# How each ends, as root of a separate user namespace, how many of its parts passed, and the names
# of failed ones. Failing tests are retried twice: many wait only some milliseconds for their
# children.
kernel_run()
{
	cd tools/testing/selftests || return
	# Some are built with AddressSanitizer, which must be the first library.
	export LD_LIBRARY_PATH=$PWD/rseq ASAN_OPTIONS=verify_asan_link_order=0
	kernel_programs | while read -r program; do
		for _ in 1 2 3; do
			rm -rf "$TMPDIR/room" && mkdir "$TMPDIR/room" && chmod 777 "$TMPDIR/room"
			status=0
			(cd "$TMPDIR/room" && exec $user timeout -k 5 300 unshare -Ur "$OLDPWD/$program") >"$TMPDIR/out" 2>&1 </dev/null ||
				status=$?
			case $status in 0 | 4) break ;; esac
		done
		echo "$program $status $(grep -cE '^ok |\[OK\]' "$TMPDIR/out")" "$(grep -E '^not ok|\[FAIL\]' "$TMPDIR/out" |
			tr -d '0-9' | cut -c1-60 | sort -u | tr '\n' ' ')" >&3
		[ -z "${SUITE_LOG-}" ] || { echo "== $program" && tail -n 60 "$TMPDIR/out"; } >>"$SUITE_LOG"
	done
}
