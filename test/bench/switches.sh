#!/bin/bash
# SPDX-License-Identifier: MIT
#
# switches.sh [PROGRAM...] - the cost for programs whose threads or processes switch all the time.
#
#   none      without the library
#   default   with the sections recorded by default
#   offcpu    the same without CPU samples
#   cpu       the same without waits
#   neither   the same without both
#
# sysbench (8 threads, 2 locks, yields): µs per event. pipe (yes | head | wc), python (two threads,
# two queues) and messaging (perf bench sched messaging): seconds. Alternating, the minimum of
# ROUNDS (3). Without printing a report.
# Budget: default 1.15 x none.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit

python='
import queue, threading, time
there, back = queue.Queue(1), queue.Queue(1)
def work():
    while (job := there.get()) is not None:
        back.put(job + 1)
thread = threading.Thread(target=work)
start = time.perf_counter()
thread.start()
for i in range(60000):
    there.put(i)
    back.get()
there.put(None)
thread.join()
print("%.3f" % (time.perf_counter() - start))
'

once()
{
	local kind=${1#*.}

	case $1 in
	sysbench.*)
		(with "$kind" sysbench threads --threads=8 --thread-locks=2 --time=2 run) 2>/dev/null |
			awk '/total time:/ { s = $3 } /number of events:/ { print s * 1e6 / $5 }'
		;;
	pipe.*) wall with_shell "$kind" 'yes | head -n 200000000 | wc -l' ;;
	python.*) (with "$kind" /usr/bin/python3 -c "$python") 2>/dev/null ;;
	messaging.*)
		(with "$kind" perf bench sched messaging -l 200) 2>/dev/null | awk '/Total time:/ { print $3 }'
		;;
	esac
}

with_shell()
{
	(with "$1" sh -c "$2")
}

# row PROGRAM UNIT
row()
{
	# shellcheck disable=SC2046
	turns "${ROUNDS:-3}" $(printf "$1.%s " none $kinds)
	[ -n "${least[$1.none]}" ] || { echo "skipped: $1"; return; }
	printf '%-10s%9.2f %-3s' "$1" "${least[$1.none]}" "$2"
	for kind in $kinds; do
		printf '%10s x' "$(ratio "$1.$kind" "$1.none")"
	done
	echo
}

kinds=${KINDS:-default offcpu cpu neither}
printf '%-10s%13s' program none
# shellcheck disable=SC2086
printf '%12s' $kinds
echo
for program in "${@:-sysbench pipe python messaging}"; do
	for name in $program; do
		case $name in
		sysbench) have sysbench && row sysbench µs ;;
		pipe) row pipe s ;;
		python) have /usr/bin/python3 && row python s ;;
		messaging) have perf && row messaging s ;;
		*) echo "switches.sh: no program '$name': sysbench, pipe, python, messaging" >&2; exit 2 ;;
		esac
	done
done
