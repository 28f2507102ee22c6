# SPDX-License-Identifier: MIT
# tools.sh FOLDER - compiles the programs that the cases use. HP_BUILD is where the library is.
cd "$(dirname "$0")" || exit
flags='-O1 -g -D_GNU_SOURCE -Wall -Wextra'
set -e

# The functions of the library; those of GLib and liburing only if they can be called. libuv's return at once, since it
# is not loaded: nothing is behind them.
exported()
{
	nm -D --defined-only "${HP_BUILD:?}/libhotpath.so" |
		awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort -u | grep -v "$skip"
}

list()
{
	sed 's/.*/X(&)/'
}

gcc $flags -o "$1/probe" probe.c
gcc $flags -DPROBE_LIBRARY -shared -fPIC -o "$1/probe.so" probe.c
gcc $flags -shared -fPIC -o "$1/bad_guest.so" bad_guest.c
gcc $flags -shared -fPIC -o "$1/plugin.so" plugin.c
if [ "$(uname -m)" = x86_64 ]; then
	skip='^$' uring=
	if glib=$(pkg-config --cflags --libs gio-2.0 2>/dev/null); then
		glib="-DWITH_GLIB -Wl,--no-as-needed $glib"
	else
		skip+='\|^g_'
	fi
	# Versions before 2.3 lack some of its functions.
	if echo '#include <liburing.h>
		int main(void) { return io_uring_get_events(0) + io_uring_submit_and_get_events(0); }' |
		gcc -o "$1/has" -xc - -luring 2>/dev/null; then
		uring='-DWITH_URING -Wl,--no-as-needed -luring'
	else
		skip+='\|io_uring_'
	fi
	exported | list >"$1/exports.h"
	exported | grep -vxE '__cyg_.*|hotpath_.*|cfree|free_.*sized|execl.*|execvp?|wait(pid|3)?|eventfd_.*|reallocarray|uv_.*' |
		list >"$1/behind.h"
	gcc $flags -no-pie -I "$1" -o "$1/registers" registers.c registers_io.c registers_glib.c registers_uring.c registers_uv.c \
		$glib $uring \
		-Wl,--no-as-needed -lstdc++
	# Our library resolves these by their version.
	echo 'GLIBC_2.3.2 { pthread_cond_wait; pthread_cond_timedwait; pthread_cond_signal; pthread_cond_broadcast;
		pthread_cond_init; pthread_cond_destroy; };' >"$1/behind.map"
	gcc $flags -fno-builtin -shared -fPIC -I "$1" -Wl,--version-script="$1/behind.map" -o "$1/behind.so" behind.c
fi
for program in process signal memory refused; do
	for suffix in '' .hooks; do
		gcc $flags ${suffix:+-finstrument-functions} -o "$1/$program$suffix" $program.c
	done
done
# Resolvers that run while the loader relocates, with immediate and with lazy binding.
for how in now lazy; do
	for suffix in '' .hooks; do
		own="$flags ${suffix:+-finstrument-functions} -Wl,-z,$how"
		gcc $own -DPART=library -shared -fPIC -o "$1/libearly-$how$suffix.so" early.c
		gcc $own -DPART=program -DIS_PROGRAM -o "$1/early-$how$suffix" early.c -L "$1" -Wl,-rpath,"$1" \
			-l:"libearly-$how$suffix.so"
	done
done
for suffix in '' .hooks; do
	g++ -O1 -g -std=c++17 ${suffix:+-finstrument-functions} -o "$1/thread_local$suffix" thread_local.cc -lpthread
done
# C++'s operators in all forms.
g++ -O1 -g -std=c++17 -fno-builtin -w -o "$1/new" ../programs/alloc_new.cc -lpthread
