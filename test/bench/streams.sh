#!/bin/bash
# SPDX-License-Identifier: MIT
#
# streams.sh - ns for one item of a stream of stdio: without the library, with it, and with it but
# the section not requested; and instructions of fgets by callgrind, if installed.
# Budget: fgets of a file 1.06.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit

once()
{
	case $1 in
	plain) "$out/streams" $what ;;
	ours)
		HOTPATH_KEEP=0 HOTPATH_REPORT=streams HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=none \
			LD_PRELOAD=$lib "$out/streams" $what
		;;
	off)
		HOTPATH_KEEP=0 HOTPATH_REPORT=threads HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=none \
			LD_PRELOAD=$lib "$out/streams" $what
		;;
	esac
}

# instructions ENVIRONMENT... - per item of 10 rounds of fgets, including everything around them.
instructions()
{
	env "$@" valgrind --tool=callgrind --callgrind-out-file=/dev/null "$out/streams" fgets 10 2>&1 |
		sed -n 's/.*Collected : //p' | awk '{ print $1 / 1000000 }'
}

compile -o "$out/streams" test/bench/streams.c || exit
printf '%-16s%9s%9s%9s%10s%10s\n' 'ns an item' plain ours off ours/plain off/plain
for what in fgets getline getc fread pipe open; do
	turns "${ROUNDS:-7}" plain ours off
	printf '%-16s%9.1f%9.1f%9.1f%10s%10s\n' "$what" "${least[plain]}" "${least[ours]}" \
		"${least[off]}" "$(ratio ours plain)" "$(ratio off plain)"
done
command -v valgrind >/dev/null || exit 0
printf '%-16s%9.1f%9.1f\n' 'fgets, instr.' "$(instructions HOTPATH_KEEP=0)" \
	"$(instructions HOTPATH_KEEP=0 HOTPATH_REPORT=streams HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD="$lib")"
