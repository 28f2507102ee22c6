#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-hardening.sh BUILD - checks that binaries are PIE, have full RELRO, a
# non-executable stack and stack protectors; commands also have _FORTIFY_SOURCE.

status=0

# wants FILE WHAT COMMAND... - COMMAND succeeds.
wants()
{
	file=$1 what=$2
	shift 2
	"$@" >/dev/null && return
	echo "$file: $what" >&2
	status=1
}

# has TEXT PATTERN
has()
{
	printf '%s\n' "$1" | grep -Eq "$2"
}

lacks()
{
	! has "$1" "$2"
}

for file in "$1"/libhotpath.so "$1"/hotpath "$1"/hotpath-run "$1"/hotpath-live "$1"/hotpath-console \
	"$1"/hotpath-sampler "$1"/hotpath-samply "$1"/hotpath-report.so; do
	head=$(readelf -hW "$file") parts=$(readelf -lW "$file") dynamic=$(readelf -dW "$file")
	symbols=$(readelf --dyn-syms -W "$file")

	wants "$file" "is not position-independent: -fPIE -pie" has "$head" 'Type: +DYN'
	wants "$file" "has no read-only relocations: -z relro" has "$parts" 'GNU_RELRO'
	wants "$file" "binds functions late: -z now" has "$dynamic" 'BIND_NOW|FLAGS.* NOW'
	wants "$file" "has a stack that can be executed: -z noexecstack" lacks "$parts" 'GNU_STACK.*RWE'
	wants "$file" "writes into its code: -z text" lacks "$dynamic" 'TEXTREL'
	wants "$file" "has no guarded stacks: -fstack-protector-strong" has "$symbols" '__stack_chk_fail'
	case $file in
	*/libhotpath.so) ;;
	*) wants "$file" "has no checked copies: -D_FORTIFY_SOURCE=2" has "$symbols" '_chk@' ;;
	esac
done
exit $status
