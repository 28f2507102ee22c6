# SPDX-License-Identifier: MIT
# conform.sh posix|glibc DIR SOURCES - conformance suites for threads, memory, signals, clocks, queues and
# processes, each test its own program in DIR, with a hook in each function: the POSIX suite as Debian has its
# source, and tests of the C library that can be built beside the installed one. Those that do not compile are
# left out. conform.sh table DIR - a table of same.py's, on stdout. The outcome and the leftovers of a test
# are compared: its output has addresses and times.
# conform.sh missing DIR - programs that did not compile, one a line: the file, and the compiler's last
# message.
set -e
export FLAGS='-w -O1 -g -D_GNU_SOURCE -finstrument-functions'
here=$(cd "$(dirname "$0")" && pwd)

# compile <LIST - one file per line. The result is a program, or the reason for its
# absence.
compile()
{
	mkdir -p "$DIR.missing"
	xargs -P2 -I{} sh -c 'name=$(echo "{}" | sed -e "s/^conformance.interfaces.//" -e "s/^sysdeps.//" -e "s/[.]c$//" |
		tr / -); gcc $FLAGS -o "$DIR/$name" "{}" $LIBS 2>"$DIR.missing/$name" &&
		rm "$DIR.missing/$name" || :'
}

case $1 in
posix)
	cd "$("$here/../../../scripts/fetch-source" posixtestsuite "$3")"
	# Definitions for today's headers that the old suite lacks.
	export DIR=$2 FLAGS="$FLAGS -std=gnu99 -Iinclude -include fcntl.h -include signal.h" LIBS='-lpthread -lrt -lm'
	mkdir -p "$DIR"
	ls conformance/interfaces/*/[0-9]*.c | grep -v buildonly | compile
	;;
glibc)
	cd "$("$here/../../../scripts/fetch-source" glibc "$3")"
	# Its own headers are for the library itself; these few are for tests. Some include
	# ../test-skeleton.c.
	export DIR=$2 own=$2.inc/include
	export FLAGS="$FLAGS -std=gnu11 -I$own -include $own/config.h"
	mkdir -p "$DIR" "$own" "$DIR.obj"
	ln -sfn "$PWD/support" "$own/support"
	ln -sfn "$PWD/test-skeleton.c" "$own/.."
	ln -sfn "$PWD/test-skeleton.c" "$own"
	for header in array_length libc-diag intprops libc-pointer-arith; do
		cp "include/$header.h" "$own"
	done
	for place in SRCDIR OBJDIR OBJDIR_ELF_LDSO INSTDIR LIBDIR SLIBDIR BINDIR SBINDIR ROOTSBINDIR SYSCONFDIR \
		COMPLOCALEDIR; do
		echo "#define ${place}_PATH \"/nowhere\""
	done >"$own/config.h"
	printf '#define TIMEOUTFACTOR 1\n#include <limits.h>\n' >>"$own/config.h"
	echo '#define _STACK_GROWS_DOWN 1' >"$own/stackinfo.h"
	(cd support && ls ./*.c | xargs -P2 -I{} sh -c \
		'gcc -w -O1 -std=gnu11 -D_GNU_SOURCE -I"$own" -I. -include "$own/config.h" -c {} -o "$DIR.obj/{}.o" 2>/dev/null || :')
	rm -f "$DIR.obj"/libsupport.a
	ar rcs "$DIR.obj/libsupport.a" "$DIR.obj"/*.o
	export LIBS="$DIR.obj/libsupport.a -lpthread -lrt -ldl -lm"
	ls nptl/tst-*.c sysdeps/pthread/tst-*.c malloc/tst-*.c signal/tst-*.c setjmp/tst-*.c rt/tst-*.c posix/tst-*.c \
		stdlib/tst-*.c time/tst-*.c io/tst-*.c misc/tst-*.c dlfcn/tst-*.c | compile
	;;
missing)
	for path in "$2.missing"/*; do
		[ ! -e "$path" ] || echo "${path##*/}: $(tail -n 1 "$path")"
	done
	;;
table)
	for path in "$2"/*; do
		case ${path##*/} in
		# They use all existing keys, or the first one, and some are ours.
		pthread-tst-key1 | pthread-tst-key4 | pthread-tst-tss-basic) continue ;;
		# Signals before their handlers, and timers that overrun: these fail now and then
		# without the library, too.
		pthread_mutex_lock-3-1 | pthread_mutex_init-5-3 | timer_getoverrun-2-3) continue ;;
		# Gives a stack to a new thread while a detached one may still run on it: it crashes
		# without the library, too.
		pthread_detach-4-3) continue ;;
		# They wait for themselves, or for longer than the rest together.
		fork-11-1 | timer_settime-5-3 | malloc-tst-mallocfork3 | stdlib-tst-arc4random-fork) continue ;;
		esac
		# They end themselves after 20 s, which is short on a machine that others share.
		options='env=TIMEOUTFACTOR=10 time=300'
		# Uses all memory that it may have: its last threads are not recorded, which is
		# reported.
		[ "${path##*/}" != pthread-tst-basic7 ] || options="$options told=yes"
		echo "${path##*/} $options probe=off compare=end -- $path"
	done
	;;
esac
