# SPDX-License-Identifier: MIT
# stress.sh all|some - a table of stress-ng's stressors, each for few operations and with its own
# verification; `some` are those that a guest can break: processes, threads, memory, descriptors, signals,
# stacks.
few="clone exec fork vfork pthread mutex sem futex signal sigsegv sigsuspend itimer longjmp stack bad-altstack malloc
	mmap mremap brk memfd pipe eventfd dup close shm wait"
case $1 in
all) list=$(stress-ng --stressors) ;;
*) list=$few ;;
esac
for name in $list; do
	echo "stress-$name probe=off compare=end time=60" \
		"-- stress-ng --quiet --verify --temp-path . --$name 1 --$name-ops ${OPS:-20} --timeout ${SECONDS_EACH:-4}"
done
