/* SPDX-License-Identifier: MIT */
/*
 * refused.c - calls with arguments that the kernel refuses: invalid pointers,
 * invalid numbers, huge sizes.  Each line is the call, its result and
 * errno; a call that reads such a pointer itself reports it, with and without
 * the library.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wnonnull"
#pragma GCC diagnostic ignored "-Wint-conversion"
#pragma GCC diagnostic ignored "-Wrestrict"
#pragma GCC diagnostic ignored "-Walloc-size-larger-than="
#pragma GCC diagnostic ignored "-Wunused-result"
#pragma GCC diagnostic ignored "-Wstringop-overflow="
#pragma GCC diagnostic ignored "-Wstringop-overread"

static sigjmp_buf back;
static char room[8192];

static void fault(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

#define SAY(call) \
	do { \
		errno = 0; \
		if (sigsetjmp(back, 1) == 0) { \
			long result = (long)(call); \
			printf("%s: %ld %s\n", #call, result, \
			       result < 0 ? strerrorname_np(errno) : ""); \
		} else { \
			printf("%s: reads it\n", #call); \
		} \
	} while (0)

static void files(void *bad)
{
	int f = open("refused.file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	SAY(fcntl(f, F_SETLK, bad));
	SAY(fcntl(f, F_SETLKW, bad));
	SAY(fcntl(f, F_OFD_SETLKW, bad));
	SAY(fcntl(f, F_GETLK, bad));
	SAY(fcntl(-1, F_SETLK, bad));
	SAY(copy_file_range(f, bad, f, bad, 1, 0));
	SAY(flock(-1, LOCK_EX));
	SAY(lockf(-1, F_LOCK, 0));
	SAY(open(bad, 0));
	SAY(mkfifo(bad, 0));
}

/* Both ends of objects that pass messages, with one message in each. */
struct ends {
	int p[2];	/* a pipe */
	int s[2];	/* a stream */
	int d[2];	/* datagrams */
	int ev;	/* a counter */
};

static void ends_open(struct ends *e)
{
	e->ev = eventfd(0, EFD_NONBLOCK);
	if (pipe2(e->p, O_NONBLOCK) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, e->s) < 0 ||
	    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, e->d) < 0)
		exit(1);
	write(e->p[1], "hello", 5);
	write(e->s[1], "hello", 5);
	write(e->d[1], "hello", 5);
	eventfd_write(e->ev, 3);
}

static void bytes(const struct ends *e, void *bad)
{
	struct iovec iv = { bad, 5 };

	SAY(pipe(bad));
	SAY(pipe2(bad, 0));
	SAY(socketpair(AF_UNIX, SOCK_STREAM, 0, bad));
	SAY(read(e->p[0], bad, 5));
	SAY(write(e->p[1], bad, 5));
	SAY(readv(e->p[0], bad, 1));
	SAY(writev(e->p[1], bad, 1));
	SAY(readv(e->p[0], bad, 0));
	SAY(readv(e->p[0], &iv, 1));
	SAY(writev(e->p[1], &iv, 1));
	SAY(writev(e->p[1], &iv, -1));
	SAY(writev(e->p[1], &iv, 5000));
}

static void packets(const struct ends *e, void *bad)
{
	struct iovec iv = { bad, 5 };
	struct msghdr m = { .msg_iov = bad, .msg_iovlen = 1 };
	struct msghdr mc = { .msg_control = bad, .msg_controllen = 64, .msg_iov = &iv };

	SAY(recv(e->s[0], bad, 5, 0));
	SAY(send(e->s[1], bad, 5, 0));
	SAY(recvmsg(e->s[0], bad, 0));
	SAY(sendmsg(e->s[1], bad, 0));
	SAY(recvmsg(e->s[0], &m, 0));
	SAY(sendmsg(e->s[1], &m, 0));
	SAY(recvmsg(e->d[0], &m, 0));
	SAY(sendmsg(e->d[1], &m, 0));
	SAY(recvmsg(e->s[0], &mc, 0));
	SAY(sendmsg(e->s[1], &mc, 0));
	SAY(recvmmsg(e->d[0], bad, 1, 0, 0));
	SAY(sendmmsg(e->d[1], bad, 1, 0));
	SAY(recvmmsg(e->d[0], bad, 0, 0, 0));
	SAY(recvfrom(e->d[0], bad, 5, 0, bad, bad));
	SAY(sendto(e->d[1], "x", 1, 0, bad, 5));
	SAY(recvfrom(e->d[0], room, 5, 0, bad, bad));
}

static void descriptors(const struct ends *e, void *bad, int file)
{
	SAY(read(e->ev, bad, 8));
	SAY(write(e->ev, bad, 8));
	SAY(eventfd_read(e->ev, bad));
	SAY(eventfd_read(e->ev, (eventfd_t *)room));
	SAY(splice(e->p[0], bad, e->p[1], 0, 5, 0));
	SAY(vmsplice(e->p[1], bad, 1, 0));
	SAY(sendfile(e->p[1], file, bad, 5));
	SAY(tee(-1, -1, 5, 0));
	SAY(dup2(-1, 5));
	SAY(dup3(e->p[0], e->p[0], 0));
	SAY(fcntl(e->p[0], F_DUPFD, -1));
	SAY(close(-1));
	SAY(close_range(5000, 4000, 0));
	SAY(fcntl(e->p[0], 12345, bad));
	SAY(read(-1, bad, 5));
	SAY(write(-1, bad, 5));
	SAY(read(e->p[0], bad, 0));
	SAY(write(e->p[1], bad, 0));
	SAY(connect(e->s[0], bad, 5));
	SAY(accept(e->s[0], bad, bad));
	SAY(bind(e->s[0], bad, 5));
	SAY(socket(-1, -1, -1));
	SAY(pread(e->p[0], bad, 5, 0));
	SAY(preadv(e->p[0], bad, 1, 0));
}

static void channels(void *bad, int file)
{
	struct ends e;

	ends_open(&e);
	bytes(&e, bad);
	packets(&e, bad);
	descriptors(&e, bad, file);
	/* Their remaining contents. */
	SAY(read(e.p[0], room, 100));
	SAY(read(e.s[0], room, 100));
	SAY(read(e.d[0], room, 100));
}

static void messages(void *bad)
{
	int q = msgget(IPC_PRIVATE, 0600);

	SAY(msgsnd(q, bad, 5, 0));
	SAY(msgrcv(q, bad, 5, 0, IPC_NOWAIT));
	SAY(mq_open(bad, 0));
	SAY(mq_send(1234, bad, 5, 0));
	SAY(mq_receive(1234, bad, 5, bad));
	SAY(mq_timedsend(1234, "x", 1, 0, bad));
	msgctl(q, IPC_RMID, NULL);
}

static void waits(void *bad)
{
	int ep = epoll_create1(0);

	SAY(poll(bad, 1, 0));
	SAY(ppoll(bad, 1, bad, bad));
	SAY(epoll_wait(ep, bad, 1, 0));
	SAY(select(5, bad, bad, bad, bad));
}

static void others(void *bad)
{
	SAY(nanosleep(bad, bad));
	SAY(clock_nanosleep(0, 0, bad, bad));
	SAY(sigaction(SIGPROF, bad, 0));
	SAY(sigaction(SIGPROF, 0, bad));
	SAY(sigprocmask(0, bad, 0));
	SAY(sigaction(64, 0, bad));
	SAY(timer_create(0, bad, bad));
	SAY(sigtimedwait(bad, bad, bad));
	SAY(pthread_sigmask(99, (sigset_t *)room, 0));
	SAY(signal(99, SIG_DFL));
	SAY(wait4(-1, bad, 0, bad));
	SAY(posix_memalign(bad, 16, 5));
	SAY(malloc(~0UL) != NULL);
	SAY(calloc(1UL << 40, 1UL << 40) != NULL);
	SAY(reallocarray(0, 1UL << 40, 1UL << 40) != NULL);
	SAY(aligned_alloc(3, 5) != NULL);
}

/* Those that return the error: free locks, which a try would acquire. */
#define SAY_LOCK(call, unlock) \
	do { \
		if (sigsetjmp(back, 1) == 0) { \
			int result = (call); \
			printf("%s: %d\n", #call, result); \
			if (result == 0) \
				unlock; \
		} else { \
			printf("%s: reads it\n", #call); \
		} \
	} while (0)

static void mutexes(const struct timespec *until, clockid_t clock)
{
	static const int protocols[] = { PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT };

	for (int i = 0; i < 2; i++) {
		pthread_mutexattr_t attributes;
		pthread_mutex_t m;

		pthread_mutexattr_init(&attributes);
		pthread_mutexattr_setprotocol(&attributes, protocols[i]);
		pthread_mutex_init(&m, &attributes);
		printf("protocol %d, ", protocols[i]);
		SAY_LOCK(pthread_mutex_clocklock(&m, clock, until), pthread_mutex_unlock(&m));
		SAY_LOCK(pthread_mutex_timedlock(&m, until), pthread_mutex_unlock(&m));
		pthread_mutex_destroy(&m);
	}
}

static void locks(const struct timespec *until, clockid_t clock)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER;
	sem_t s;
	mtx_t t;

	printf("clock %d, %s\n", (int)clock,
	       !until		    ? "no time"
	       : until == (void *)8 ? "a time that is nowhere"
	       : until->tv_nsec < 0 ? "a negative time"
				    : "a time");
	sem_init(&s, 0, 1);
	mtx_init(&t, mtx_timed);
	mutexes(until, clock);
	SAY_LOCK(mtx_timedlock(&t, until), mtx_unlock(&t));
	SAY_LOCK(pthread_rwlock_timedrdlock(&r, until), pthread_rwlock_unlock(&r));
	SAY_LOCK(pthread_rwlock_timedwrlock(&r, until), pthread_rwlock_unlock(&r));
	SAY_LOCK(pthread_rwlock_clockrdlock(&r, clock, until), pthread_rwlock_unlock(&r));
	SAY_LOCK(pthread_rwlock_clockwrlock(&r, clock, until), pthread_rwlock_unlock(&r));
	if (until && until != (void *)8) {
		SAY(sem_timedwait(&s, until));
		SAY(sem_clockwait(&s, clock, until));
		pthread_mutex_lock(&m);
		SAY_LOCK(pthread_cond_timedwait(&c, &m, until), (void)0);
		SAY_LOCK(pthread_cond_clockwait(&c, &m, clock, until), (void)0);
		pthread_mutex_unlock(&m);
	}
}

static void all_locks(void *bad)
{
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME,
					    CLOCK_THREAD_CPUTIME_ID, 77 };
	static const struct timespec negative = { 5, -1 }, large = { 5, 1000000000 },
				     past = { 5, 5 };

	for (size_t i = 0; i < sizeof(clocks) / sizeof(*clocks); i++) {
		locks(&past, clocks[i]);
		locks(&negative, clocks[i]);
		locks(&large, clocks[i]);
		locks(NULL, clocks[i]);
		locks(bad, clocks[i]);
	}
}

static void limits(void *bad)
{
	struct rlimit limit = { 2, 1 };

	SAY(setrlimit(RLIMIT_AS, bad));
	SAY(setrlimit64(RLIMIT_AS, bad));
	SAY(prlimit(0, RLIMIT_AS, bad, NULL));
	SAY(prlimit64(0, RLIMIT_AS, NULL, bad));
	SAY(setrlimit(RLIMIT_AS, &limit));
	SAY(setrlimit(99, &limit));
	SAY(prlimit(0x7fffffff, RLIMIT_AS, &limit, NULL));
}

int main(void)
{
	void *volatile bad = (void *)8;

	signal(SIGSEGV, fault);
	setvbuf(stdout, NULL, _IOLBF, 0);
	files(bad);
	channels(bad, open("refused.file", O_RDWR | O_CLOEXEC));
	messages(bad);
	waits(bad);
	others(bad);
	limits(bad);
	all_locks(bad);
	return 0;
}
