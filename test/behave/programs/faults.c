// SPDX-License-Identifier: MIT
/*
 * faults.c - everything that makes the library request memory or call the kernel, part by part.
 *
 *     faults PART...     with FAULTS_PLUGIN, a shared object, in the environment for "load"
 *
 * The output is always the same, and the status 3, whatever fails below us: only calls of the
 * program itself are checked.
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static char **arguments;

static void is(bool claim, int line)
{
	if (!claim) {
		printf("line %d\n", line);
		fflush(stdout);
		_exit(1);
	}
}

#define IS(claim) is(claim, __LINE__)

/* --- memory: 2^10 call paths, blocks far from each other, maps --- */

static long left(int depth, unsigned way);

static long right(int depth, unsigned way)
{
	return depth ? (way & 1 ? left : right)(depth - 1, way >> 1) + 1 : (long)strlen("x");
}

static long left(int depth, unsigned way)
{
	char *block = malloc(16 + way % 64);
	long sum;

	__asm__ volatile("" : "+r"(block));	/* the compiler would omit it */
	block[0] = (char)depth;
	sum = depth ? (way & 1 ? left : right)(depth - 1, way >> 1) : 0;
	sum += block[0];
	free(block);
	return sum;
}

static long deep(int depth)
{
	volatile char room[200] = { 1 };

	return depth ? deep(depth - 1) + room[0] : room[0];
}

static void memory(void)
{
	static char *blocks[5000];
	long sum = 0;

	for (unsigned way = 0; way < 1024; way++)
		sum += left(10, way);
	for (int i = 0; i < 5000; i++)
		memset(blocks[i] = malloc(10 + (size_t)i % 300 * 20), i, 10);
	for (int i = 0; i < 5000; i += 2)
		IS((blocks[i] = realloc(blocks[i], 9000)) && blocks[i][9] == (char)i);
	for (int i = 0; i < 5000; i++)
		free(blocks[i]);
	for (size_t size = 1; size < 24; size++) {
		char *large = mmap(NULL, size << 16, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		IS(large != MAP_FAILED);
		large = mremap(large, size << 16, size << 17, MREMAP_MAYMOVE);
		IS(large != MAP_FAILED);
		if (size % 3 && munmap(large, size << 17))
			IS(false);
	}
	free(aligned_alloc(4096, 8192));
	void *lost = calloc(3, 333);
	IS(lost != NULL);
	printf("memory %ld %ld\n", sum, deep(3000));
}

/* --- locks --- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t gate;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int turn, rounds;
static long total;

static void begin(void)
{
	rounds++;
}

static void *work(void *argument)
{
	pthread_spinlock_t spin;
	pthread_mutex_t many[40];

	pthread_once(&once, begin);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 2000; i++) {
		pthread_mutex_lock(&lock);
		total++;
		for (volatile int j = 0; i % 100 == 0 && j < 20000; j++)
			;
		pthread_mutex_unlock(&lock);
		pthread_rwlock_rdlock(&shared);
		pthread_rwlock_unlock(&shared);
	}
	pthread_spin_init(&spin, 0);
	pthread_spin_lock(&spin);
	pthread_spin_unlock(&spin);
	pthread_spin_destroy(&spin);
	for (int i = 0; i < 40; i++) {
		pthread_mutex_init(&many[i], NULL);
		pthread_mutex_lock(&many[i]);
	}
	for (int i = 0; i < 40; i++) {
		pthread_mutex_unlock(&many[i]);
		pthread_mutex_destroy(&many[i]);
	}
	pthread_mutex_lock(&lock);
	if (++turn == 4)
		pthread_cond_broadcast(&ready);
	pthread_mutex_unlock(&lock);
	sem_wait(&gate);
	return argument;
}

static void locks(void)
{
	pthread_t threads[4];
	char name[] = "/tmp/faults.XXXXXX";
	int fd = mkstemp(name);

	turn = 0;
	total = 0;
	pthread_barrier_init(&barrier, NULL, 5);
	sem_init(&gate, 0, 0);
	for (int i = 0; i < 4; i++)
		IS(pthread_create(&threads[i], NULL, work, NULL) == 0);
	/* Meeting a holder counts as one wait, not once for each thread that finishes. */
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&barrier);
	while (turn < 4)
		pthread_cond_wait(&ready, &lock);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 4; i++)
		sem_post(&gate);
	for (int i = 0; i < 4; i++)
		IS(pthread_join(threads[i], NULL) == 0);
	IS(fd >= 0 && unlink(name) == 0 && flock(fd, LOCK_EX) == 0 && flock(fd, LOCK_UN) == 0);
	IS(lockf(fd, F_LOCK, 1) == 0 && lockf(fd, F_ULOCK, 1) == 0 && close(fd) == 0);
	printf("locks %ld %d\n", total, rounds);
}

/* --- channels --- */

static void *drain(void *argument)
{
	char text[8];
	long sum = 0;
	ssize_t got;

	while ((got = read(*(int *)argument, text, sizeof(text))) > 0)
		sum += got;
	return (void *)sum;
}

static void pipes(void)
{
	int ends[2], pair[2], copy;
	pthread_t reader;
	void *sum;
	char text[8];

	IS(pipe(ends) == 0);
	IS(pthread_create(&reader, NULL, drain, &ends[0]) == 0);
	for (int i = 0; i < 20000; i++)
		IS(write(ends[1], "hello", 5) == 5);
	copy = dup(ends[1]);
	IS(copy >= 0 && close(ends[1]) == 0 && close(copy) == 0);
	IS(pthread_join(reader, &sum) == 0 && (long)sum == 100000 && close(ends[0]) == 0);
	for (int i = 0; i < 50; i++) {
		IS(socketpair(AF_UNIX, i % 2 ? SOCK_STREAM : SOCK_SEQPACKET, 0, pair) == 0);
		IS(send(pair[0], "abc", 3, 0) == 3 && recv(pair[1], text, 8, 0) == 3);
		IS(close(pair[0]) == 0 && close(pair[1]) == 0);
	}
	FILE *file = pipe(ends) == 0 ? fdopen(ends[0], "r") : NULL;
	IS(file && write(ends[1], "a\n", 2) == 2 && fgets(text, 8, file) && fclose(file) == 0);
	close(ends[1]);
}

static void names(void)
{
	struct sockaddr_un name = { AF_UNIX, "" };
	socklen_t size = sizeof(sa_family_t);
	int to = socket(AF_UNIX, SOCK_DGRAM, 0), from = socket(AF_UNIX, SOCK_DGRAM, 0);
	char text[8];

	IS(to >= 0 && bind(to, (struct sockaddr *)&name, size) == 0);
	size = sizeof(name);
	IS(getsockname(to, (struct sockaddr *)&name, &size) == 0);
	IS(sendto(from, "xyz", 3, 0, (struct sockaddr *)&name, size) == 3);
	IS(connect(from, (struct sockaddr *)&name, size) == 0 && send(from, "uvw", 3, 0) == 3);
	IS(recv(to, text, 8, 0) == 3 && recv(to, text, 8, 0) == 3 && text[0] == 'u');
	close(to);
	close(from);
}

static void queues(void)
{
	char name[32], text[64];
	struct mq_attr attributes = { .mq_maxmsg = 4, .mq_msgsize = 64 };
	struct {
		long type;
		char text[8];
	} message = { 1, "sysv" };

	snprintf(name, sizeof(name), "/faults%d", getpid());
	mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attributes);
	IS(queue == (mqd_t)-1 ||
	   (mq_send(queue, "m", 1, 0) == 0 && mq_receive(queue, text, 64, NULL) == 1 &&
	    mq_close(queue) == 0 && mq_unlink(name) == 0));
	int id = msgget(IPC_PRIVATE, 0600);
	IS(id >= 0 && msgsnd(id, &message, 8, 0) == 0 && msgrcv(id, &message, 8, 0, 0) == 8 &&
	   msgctl(id, IPC_RMID, NULL) == 0);
	int event = eventfd(0, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t value = 7;
	struct itimerspec soon = { .it_value.tv_nsec = 1000 };
	IS(write(event, &value, 8) == 8 && read(event, &value, 8) == 8 && value == 7);
	IS(timerfd_settime(timer, 0, &soon, NULL) == 0 && read(timer, &value, 8) == 8);
	struct pollfd poll_for = { .fd = event, .events = POLLIN };
	IS(poll(&poll_for, 1, 1) == 0 && close(event) == 0 && close(timer) == 0);
}

static void channels(void)
{
	pipes();
	names();
	queues();
	printf("channels\n");
}

/* --- threads --- */

static void *small(void *argument)
{
	char *block = malloc(100);

	pthread_mutex_lock(&lock);
	total += (long)strnlen(memset(block, 0, 100), 9) + 1;
	pthread_mutex_unlock(&lock);
	free(block);
	return argument;
}

static void threads(void)
{
	pthread_t some[20];

	total = 0;
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 20; i++)
			IS(pthread_create(&some[i], NULL, small, NULL) == 0);
		for (int i = 0; i < 20; i++)
			IS(pthread_join(some[i], NULL) == 0);
	}
	printf("threads %ld\n", total);
}

/* --- processes --- */

static int child_of(pid_t child)
{
	int status = -1;

	IS(child > 0 && waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void processes(void)
{
	char *again[] = { arguments[0], "threads", NULL };
	pid_t child;
	int ends[2];
	char text[8] = "";

	fflush(stdout);
	IS(pipe(ends) == 0);
	if ((child = fork()) == 0) {
		total = left(10, 77);
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		_exit(write(ends[1], "child", 5) == 5 ? 7 : 8);
	}
	IS(child_of(child) == 7 && read(ends[0], text, 5) == 5);
	if ((child = _Fork()) == 0)
		syscall(SYS_exit_group, left(10, 3) ? 6 : 5);
	IS(child_of(child) == 6);
	if ((child = vfork()) == 0) {
		execv(arguments[0], again);
		_exit(9);
	}
	IS(child_of(child) == 3);
	IS(posix_spawn(&child, arguments[0], NULL, NULL, again, environ) == 0);
	IS(child_of(child) == 3);
	if ((child = fork()) == 0)
		quick_exit(4);
	IS(child_of(child) == 4);
	if ((child = fork()) == 0) {
		for (;;)
			pause();
	}
	struct timespec nap = { 0, 1000000 };
	nanosleep(&nap, NULL);
	IS(kill(child, SIGKILL) == 0 && child_of(child) == -1);
	printf("processes %s\n", text);
	fflush(stdout);
}

/* --- objects that come and go --- */

static void load(void)
{
	for (int i = 0; i < 3; i++) {
		void *plugin = dlopen(getenv("FAULTS_PLUGIN"), RTLD_NOW);
		int (*plug)(int) = plugin ? (int (*)(int))dlsym(plugin, "plug") : NULL;

		IS(plug && plug(i) == i + 1 && dlclose(plugin) == 0);
	}
	printf("load\n");
}

/* --- its own limits --- */

static void limits(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	bool is_locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;

	memory();
	threads();
	if (is_locked)
		munlockall();
	IS(getrlimit(RLIMIT_AS, &limit) == 0);
	limit.rlim_cur = UINT64_C(4) << 30;
	IS(setrlimit(RLIMIT_AS, &limit) == 0);
	memory();
	printf("limits\n");
}

/* --- a port that the helper uses --- */

static void port(void)
{
	const char *wanted = getenv("HOTPATH_METRICS_PORT");
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)atoi(wanted ? wanted : "0")),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	/* If the helper's calls fail, it may not release it. */
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		listen(fd, 1);
	close(fd);
	printf("port\n");
}

/* --- handlers --- */

static sigjmp_buf back;

static void jump(int number)
{
	(void)left(5, (unsigned)number);
	siglongjmp(back, 1);
}

static void handlers(void)
{
	static char stack[65536];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_handler = jump, .sa_flags = SA_ONSTACK };

	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (volatile int i = 0; i < 10; i++)
		if (!sigsetjmp(back, 1))
			raise(SIGUSR1);
	printf("handlers\n");
}

/* --- a filter --- */

static void confined(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };

	IS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	IS(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	threads();
	memory();
	pipes();
	printf("confined\n");
}

static void burn(void)
{
	struct timespec now;
	volatile long sum = 0;

	do {
		for (int i = 0; i < 100000; i++)
			sum += i;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_nsec < 60000000 && now.tv_sec == 0);
	printf("burn\n");
}

int main(int count, char **values)
{
	static const struct part {
		const char *name;
		void (*run)(void);
	} parts[] = {
		{ "memory", memory },	{ "locks", locks },	  { "channels", channels },
		{ "threads", threads }, { "load", load },	  { "processes", processes },
		{ "limits", limits },	{ "port", port },	  { "handlers", handlers },
		{ "burn", burn },	{ "confined", confined },
	};
	char *self = realpath("/proc/self/exe", NULL);

	arguments = values;
	arguments[0] = self ? self : values[0];
	for (int i = 1; i < count; i++)
		for (size_t j = 0; j < sizeof(parts) / sizeof(parts[0]); j++)
			if (!strcmp(values[i], parts[j].name))
				parts[j].run();
	fflush(stdout);
	return 3;
}
