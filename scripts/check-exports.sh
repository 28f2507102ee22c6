#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-exports.sh [LIBRARY] - the library may only export the compiler's hooks,
# the functions that it interposes (listed in preload/guest/real.h, glib.h,
# allocator.h and operator.h, and those below that use another one) and the
# public hotpath_* functions. It may only need libc, and no text relocations.

library=${1:-build/libhotpath.so}
preload=$(dirname "$0")/../preload
real="$preload/guest/real.h $preload/heap/allocator.h $preload/lock/glib.h $preload/future/aio.h $preload/future/uring.h $preload/future/task.h $preload/future/pool.h $preload/future/uv.h $preload/stream/gio.h $preload/heap/operator.h"
by_another="reallocarray execl execle execlp execv execvp wait waitpid wait3 eventfd_read eventfd_write"
[ -r "$library" ] || {
	echo "check-exports: no $library"
	exit 2
}

stand_ins()
{
	sed -n 's/^[[:space:]]*X([^,]*,[[:space:]]*\([A-Za-z0-9_]*\),.*/\1/p' $real
	sed -n 's/.*HP_ABSENT("\([A-Za-z_]*\)").*/\1/p' "$preload"/*/*.c
	printf '%s\n' $by_another
}

stray_symbols()
{
	nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u |
		grep -v -x -E 'hotpath_[a-z0-9_]+|__cyg_profile_func_(enter|exit)' |
		grep -v -x -F -e "$(stand_ins)" | sed 's/^/exported, but no hook, stand-in or API: /'
}

stray_libraries()
{
	readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v -x 'libc\.so\.6' |
		sed 's/^/needed, but not libc: /'
	readelf -d "$library" | grep -q TEXTREL && echo "text relocations"
}

# Its thread-local storage comes from a surplus shared by all libraries.
thread_local()
{
	size=$(readelf -lW "$library" | awk '$1 == "TLS" { print $6 }')
	[ $((${size:-0})) -le 96 ] || echo "thread-local storage: $((size)) bytes, 96 are agreed"
}

{ stray_symbols; stray_libraries; thread_local; } | { ! grep .; }
