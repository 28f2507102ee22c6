#!/bin/bash
# SPDX-License-Identifier: MIT
#
# stress.sh [CLASS...] - the cost for stress-ng's classes, one worker each: µs per operation.
#
#   none      without the library
#   default   with the sections recorded by default
#   offcpu    the same without CPU samples
#   cpu       the same without waits
#   neither   the same without both
#
# Alternating, the minimum of ROUNDS (5) of LENGTH (2) seconds each, without printing a report. By
# default without offcpu and cpu: KINDS="default offcpu" measures others.
# Budget: default 1.15 x none; pthread and fork 1.3.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
have stress-ng || exit 0

# The line of a class: ... CLASS operations seconds user system ...
once()
{
	(with "${1#*.}" stress-ng "--${1%.*}" 1 -t "${LENGTH:-2}" --metrics-brief) 2>&1 |
		awk -v class="${1%.*}" '{
			for (i = 1; i < NF - 1; i++)
				if ($i == class && $(i + 1) > 0 && $(i + 2) > 0) {
					print $(i + 2) * 1e6 / $(i + 1)
					exit
				}
		}'
}

kinds=${KINDS:-default neither}
printf '%-10s%12s' class none
# shellcheck disable=SC2086
printf '%12s' $kinds
echo
for classes in "${@:-pthread pipe mq mutex fork skiplist flock futex sigq switch vfork malloc}"; do
	for name in $classes; do
		# shellcheck disable=SC2046
		turns "${ROUNDS:-5}" $(printf "$name.%s " none $kinds)
		[ -n "${least[$name.none]}" ] || { echo "skipped: $name"; continue; }
		printf '%-10s%9.2f µs' "$name" "${least[$name.none]}"
		for kind in $kinds; do
			printf '%10s x' "$(ratio "$name.$kind" "$name.none")"
		done
		echo
	done
done
