# SPDX-License-Identifier: MIT
# stress.sh - stress-ng's stressors that are about what a guest can break, each with its own verification: how it ends.
stressors="aiol alarm atomic bigheap branch brk cap chdir clock clone close context cpu daemon dentry dev-shm dnotify dup dynlib
	env epoll eventfd exec fault fcntl fd-fork fifo file-ioctl flock fork fp-error full funccall futex get getdent
	hdd hrtimers inotify io itimer kill lease list locka lockbus lockf longjmp lsearch madvise malloc mcontend
	membarrier memcpy memfd mergesort mincore misaligned mlock mmap mmapfork mprotect mq mremap msg msync munmap mutex
	nanosleep nice null open pageswap personality peterson pidfd pipe pipeherd poll prctl prefetch priv-instr procfs
	pthread ptrace qsort rename resched resources revio ring-pipe rlimit rseq schedpolicy sctp seal seccomp seek
	sem sem-sysv sendfile session set shm shm-sysv sigabrt sigchld sigfd sigfpe sigio signal signest sigpending sigpipe
	sigq sigrt sigsegv sigsuspend sigtrap sleep sock sockpair spawn splice stack stackmmap switch symlink sync-file
	sysinfo tee timer timerfd tmpfs tree tsc tsearch udp unshare utime vdso vfork vforkmany vm vm-addr vm-rw vm-segv
	vm-splice wait wcs x86syscall xattr yield zero zlib zombie"
for name in $stressors; do
	timeout -k 5 60 stress-ng --quiet --verify --temp-path . --"$name" 1 --"$name"-ops "${OPS:-50}" --timeout 5 >out 2>&1
	echo "$name $?"
	grep -a -e fail -e FAIL -e hotpath out | sed -E 's/\[[0-9]+\]//' | sort -u | head -n 5
	rm -f out
done
