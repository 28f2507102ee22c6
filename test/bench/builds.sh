#!/bin/bash
# SPDX-License-Identifier: MIT
#
# builds.sh [PROJECT...] - `make -j2` with everything that is recorded by default, from start to
# prompt, as a multiple of `make -j2` alone: wall time and CPU time, each the minimum of ROUNDS (5).
#
#   files   100 small C files, some 300 processes
#   lua     Debian's lua from its 33 files
#
# Budget: 1.15.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
work=$(mktemp -d /tmp/builds.XXXXXX) || exit
trap 'rm -rf "$work"' EXIT
unset HOTPATH_KEEP
export HOTPATH_PROFILE_DIR=off XDG_STATE_HOME=$work/state

make_files()
{
	mkdir -p "$work/files" || return
	for i in {1..100}; do
		cat >"$work/files/f$i.c" <<-END
			#include <stdio.h>
			#include <stdlib.h>
			#include <string.h>
			int f$i(int n)
			{
				char text[100];
				int sum = 0;
				for (int i = 0; i < n; i++) {
					snprintf(text, sizeof(text), "%d", i * $i);
					sum += (int)strlen(text);
				}
				return sum;
			}
		END
	done
	echo 'int f1(int n); int main(void) { return f1(0); }' >"$work/files/main.c"
	printf 'app: %s\n\tgcc -o $@ $^\n%%.o: %%.c\n\tgcc -O1 -c -o $@ $<\n' "$(echo f{1..100}.o main.o)" >"$work/files/Makefile"
	command=(make -C "$work/files" -j2)
}

make_lua()
{
	local source

	source=$(scripts/fetch-source lua5.4 "$build/source") && cp -r "$source" "$work/lua" || return
	# Debian's makefile wants its package's environment, and runs dpkg-buildflags for each file.
	printf 'lua: %s\n\tgcc -o $@ $^ -lm -ldl\n%%.o: %%.c\n\tgcc -std=gnu99 -O2 -DLUA_USE_POSIX -c -o $@ $<\n' \
		"$(cd "$work/lua/src" && echo *.c | sed 's/luac\.c//; s/\.c/.o/g')" >"$work/lua/src/Makefile"
	echo '#define DEB_HOST_MULTIARCH "lua"' >"$work/lua/src/lua5.4-deb-multiarch.h"
	command=(make -C "$work/lua/src" -j2)
}

# once KIND - seconds; those of CPU time follow in a file.
once()
{
	local -a run=() used
	local TIMEFORMAT='%3R %3U %3S'

	find "$work/files" "$work/lua" '(' -name '*.[oa]' -o -name app -o -name lua -type f ')' -delete 2>/dev/null
	[ "$1" = none ] || run=("$build/hotpath-run")
	read -ra used < <({ time "${run[@]}" "${command[@]}" >/dev/null 2>&1; } 2>&1)
	reckon "${used[1]} + ${used[2]}" '%.3f\n' >>"$work/cpu.$1"
	echo "${used[0]}"
}

least_cpu()
{
	sort -g "$work/cpu.$1" | head -n 1
}

row()
{
	"make_$1" || { echo "skipped: $1"; return; }
	"${command[@]}" >/dev/null || { echo "skipped: $1 cannot be built here"; return; }
	rm -f "$work"/cpu.*
	turns "${ROUNDS:-5}" none default
	printf '%-10s%9.2f s%10s x%9.2f s%10s x\n' "$1" "${least[none]}" "$(ratio default none)" "$(least_cpu none)" \
		"$(reckon "$(least_cpu default) / $(least_cpu none)")"
}

have make && have gcc || exit 0
printf '%-10s%11s%12s%11s%12s\n' project wall default CPU default
for project in "${@:-files lua}"; do
	for name in $project; do
		case $name in
		files | lua) row "$name" ;;
		*) echo "builds.sh: no project '$name': files, lua" >&2; exit 2 ;;
		esac
	done
done
