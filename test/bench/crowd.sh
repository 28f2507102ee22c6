#!/bin/bash
# SPDX-License-Identifier: MIT
#
# crowd.sh [THREADS...] - many threads that exist at once: they start, wait for one condition
# variable, and end (10000). Seconds, the minimum of ROUNDS (5), in turns:
#
#   none      without the library
#   neither   with the sections recorded by default, without CPU samples and waits
#   cpu       the same with CPU samples
#   default   with the sections recorded by default
#   user      the same by a user who may not see all processes (as root only)
#
# Without printing a report. Budget: default 1.2 x none.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
compile -o "$out/crowd_wait" test/behave/programs/crowd_wait.c -lpthread || exit

# once KIND.THREADS
once()
{
	local kind=${1%.*}
	local -a as=()

	case $kind in
	user)
		[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || return
		as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
		;;
	neither) local -x HOTPATH_REPORT=auto,-functions-cpu,-offcpu,-bound ;;
	cpu) local -x HOTPATH_REPORT=auto,-offcpu,-bound ;;
	esac
	local -x HOTPATH_OUTPUT_FORMAT=none
	[ "$kind" = none ] && wall "$out/crowd_wait" "${1#*.}" </dev/null && return
	wall "${as[@]}" env LD_PRELOAD="$lib" "$out/crowd_wait" "${1#*.}" </dev/null
}

kinds='neither cpu default user'
printf '%-10s%12s' threads none
# shellcheck disable=SC2086
printf '%12s' $kinds
echo
for threads in "${@:-10000}"; do
	# shellcheck disable=SC2046
	turns "${ROUNDS:-5}" $(printf "%s.$threads " none $kinds)
	printf '%-10s%10s s' "$threads" "${least[none.$threads]:--}"
	for kind in $kinds; do
		printf '%10s x' "$(ratio "$kind.$threads" "none.$threads")"
	done
	echo
done
