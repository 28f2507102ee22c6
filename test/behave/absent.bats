#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Stand-ins for libraries that a program may not have: which library's function they call, and how
# they are switched off.

load helper

# build N - library N with q() that returns it, and one that uses it.
build()
{
	echo "int q(void) { return $1; }" | gcc -shared -fPIC -o "$T/libq$1.so" -xc -
	echo "int q(void); int user(void) { return q(); } int only_$2(void) { return 0; }" |
		gcc -shared -fPIC -Wl,-rpath,"$T" -o "$T/libuser$1.so" -xc - -L"$T" "-lq$1"
}

@test "a caller gets its own library's function, and the next one when that is closed" {
	build 1 a
	build 2 b
	gcc -g -no-pie -D_GNU_SOURCE -I"$ROOT" -o "$T/absent" "$ROOT/test/behave/programs/absent.c" -ldl
	run "$T/absent" "$T/libuser1.so" "$T/libuser2.so"
	[ "$status" -eq 0 ]
	[ "$output" = "none 1
errno 77
a 1
b 2
a 1
load order 1
beside 1
beside 1
not beside 1
kept 1
dropped 1
load order 2" ]
}

@test "HOTPATH_WITHOUT=glib passes GLib's locks on and reports none" {
	pkg-config --exists glib-2.0 || skip "GLib's headers are not installed"
	gcc -g -O1 -o "$T/glib" "$ROOT/test/behave/programs/locks_glib.c" \
		$(pkg-config --cflags --libs glib-2.0)
	HOTPATH_REPORT=mutexes HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/with.json" \
		LD_PRELOAD="$HP_LIB" "$T/glib"
	HOTPATH_WITHOUT=uv,glib HOTPATH_REPORT=mutexes HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/without.json" LD_PRELOAD="$HP_LIB" "$T/glib"
	grep -q GMutex "$T/with.json"
	run ! grep -q GMutex "$T/without.json"
}

# weak [FLAGS...] - what a program and its library see of functions that neither has.
weak()
{
	cat >"$T/seen.c" <<-'END'
		#include <stdio.h>
		#define NAMES(X) X(uv_run) X(uv_queue_work) X(uv_fs_read) X(event_base_loop) X(sqlite3_step) \
			X(g_mutex_lock) X(g_task_new) X(g_thread_pool_push) X(io_uring_submit) X(_Unwind_SetIP) X(malloc)
		#define DECLARE(name) int name() __attribute__((weak));
		#define SHOW(name) printf("%s %d %d\n", #name, &name != 0, data_##name != 0);
		#define DATA(name) static int (*volatile data_##name)() = name;
		NAMES(DECLARE)
		NAMES(DATA)
		void SEEN(void) { NAMES(SHOW) }
	END
	gcc -shared -fPIC -w -DSEEN=seen_by_library "$@" -o "$T/libseen.so" "$T/seen.c"
	gcc -c -w -fPIE -DSEEN=seen_by_program -o "$T/seen.o" "$T/seen.c"
	compile weak -O1 "-Wl,$T/seen.o" "$@" -Wl,-rpath,"$T" -L"$T" -lseen <<-'END'
		#include <dlfcn.h>
		#include <stdio.h>
		void seen_by_program(void), seen_by_library(void);
		int main(void)
		{
			static const char *const names[] = { "uv_run", "uv_loop_init", "uv_queue_work", "uv_fs_open",
				"g_thread_pool_new", "event_base_loop", "ev_run", "g_main_loop_run", "sqlite3_step" };
			for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
				printf("%s %d\n", names[i], dlsym(RTLD_DEFAULT, names[i]) != 0);
			seen_by_program();
			seen_by_library();
			return 0;
		}
	END
	"$T/weak" >"$T/weak.plain"
	LD_PRELOAD=$HP_LIB HOTPATH_OUTPUT_FORMAT=none "$T/weak" >"$T/weak.out"
	diff "$T/weak.plain" "$T/weak.out"
}

@test "weak references, dlsym and ctypes find what they find without us" {
	weak -Wl,-z,now
	weak -Wl,-z,lazy
	weak -Wl,-z,norelro
	cat >"$T/weak.py" <<-'END'
		import ctypes
		whole = ctypes.CDLL(None)
		for name in "uv_run", "uv_queue_work", "uv_random", "g_thread_pool_push", "event_base_loop", "sqlite3_step":
		    print(name, hasattr(whole, name))
		for file, name in ("libuv.so.1", "uv_version"), ("liburing.so.2", "io_uring_submit"), ("libc.so.6", "getpid"):
		    try:
		        print(file, bool(getattr(ctypes.CDLL(file), name)))
		    except OSError:
		        print(file, "is not here")
		try:
		    uring = ctypes.CDLL("liburing.so.2")
		    ring = ctypes.create_string_buffer(4096)
		    if uring.io_uring_queue_init(8, ring, 0) == 0:
		        print(uring.io_uring_submit(ring), uring.io_uring_queue_exit(ring) is not None)
		except OSError:
		    pass
	END
	/usr/bin/env python3 "$T/weak.py" >"$T/py.plain"
	LD_PRELOAD=$HP_LIB HOTPATH_OUTPUT_FORMAT=none /usr/bin/env python3 "$T/weak.py" >"$T/py.out"
	cmp "$T/py.plain" "$T/py.out"
}

@test "a function of a library that is not loaded fails as that library would" {
	compile missing -O1 <<-'END'
		#include <dlfcn.h>
		#include <errno.h>
		#include <stdio.h>
		int main(void)
		{
			int (*submit)(void *) = (int (*)(void *))dlsym(RTLD_DEFAULT, "io_uring_submit");
			unsigned (*peek)(void *, void *, unsigned) =
				(unsigned (*)(void *, void *, unsigned))dlsym(RTLD_DEFAULT, "io_uring_peek_batch_cqe");
			errno = 7;
			if (submit && peek)
				printf("%d %u %d\n", submit(0), peek(0, 0, 1), errno);
			return 0;
		}
	END
	[ -z "$("$T/missing")" ]
	[ "$(LD_PRELOAD=$HP_LIB HOTPATH_OUTPUT_FORMAT=none "$T/missing")" = "-38 0 7" ]
}
