// SPDX-License-Identifier: MIT
/*
 * interrupt.c - ends, jumps and forks at random moments, as many as possible inside the library.
 *
 *     interrupt ROUNDS SEED FILE [THING]
 *
 * Each round is a child that works in one of four ways until a timer's handler, or its other
 * thread, does one of eleven things. Ways and events are combined as far as the C library allows: a
 * jump out of malloc() or pthread_mutex_lock() breaks it in any case. The child's status must match
 * the action, within a minute. stdout has the number of successful rounds and is always the
 * same; FILE has how many calls of step(), blocks and locks were started and finished, and how
 * often the handler interrupted the library.
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NO_HOOKS __attribute__((no_instrument_function))

enum way { COMPUTE, MEMORY, LOCKS, PIPES, WAYS };
enum thing {
	LEAVE,	/* _exit */
	LEAVE_QUICKLY,	/* quick_exit */
	ABORT,
	EXEC,
	EXIT,
	FORK,	/* in the handler, and continue */
	KILL,	/* by the parent */
	CANCEL,	/* at a cancellation point */
	JUMP,	/* siglongjmp, several times */
	END_THREAD,	/* pthread_exit in the handler */
	CANCEL_ANYWHERE,
	THINGS
};

static const char *const names[THINGS] = { "_exit",
					   "quick_exit",
					   "abort",
					   "execve",
					   "exit",
					   "fork",
					   "kill",
					   "cancel",
					   "siglongjmp",
					   "pthread_exit",
					   "asynchronous cancel" };
/* Ways of work that may be left like this at any moment. */
static const unsigned ways_of[THINGS] = {
	[LEAVE] = 15,
	[LEAVE_QUICKLY] = 15,
	[ABORT] = 15,
	[EXEC] = 15,
	[EXIT] = 15,
	[FORK] = 15,
	[KILL] = 15,
	[CANCEL] = 15,
	[JUMP] = 1 << COMPUTE | 1 << PIPES,
	[END_THREAD] = 1 << COMPUTE | 1 << PIPES,
	[CANCEL_ANYWHERE] = 1 << COMPUTE,
};

struct shared {	/* by all children */
	_Atomic uint64_t begun[3], done[3];	/* calls of step(), blocks, locks */
	_Atomic uint64_t handled, inside;	/* handlers; those that interrupted the library */
};

static struct shared *shared;
static uint64_t random_state;
static enum thing thing;
static enum way way;
static sigjmp_buf back;
static pthread_t worker;
static sem_t started;
static uintptr_t library[2];
static char **arguments;
static volatile sig_atomic_t jumps;
static volatile bool is_enough;

NO_HOOKS static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

NO_HOOKS static void begin(int what)
{
	atomic_fetch_add_explicit(&shared->begun[what], 1, memory_order_relaxed);
}

NO_HOOKS static void done(int what)
{
	atomic_fetch_add_explicit(&shared->done[what], 1, memory_order_relaxed);
}

/* --- work --- */

__attribute__((noinline)) static void step(void)
{
	__asm__ volatile("");
}

static void odd(unsigned path, int depth);

__attribute__((noinline)) static void even(unsigned path, int depth)
{
	begin(0);
	step();
	done(0);
	if (depth)
		(path & 1 ? odd : even)(path >> 1, depth - 1);
	__asm__ volatile("");
}

__attribute__((noinline)) static void odd(unsigned path, int depth)
{
	if (depth)
		(path & 1 ? odd : even)(path >> 1, depth - 1);
	__asm__ volatile("");
}

__attribute__((noinline)) static void block(unsigned path, int depth)
{
	void *got;

	if (depth) {
		block(path >> 1, depth - 1);
		__asm__ volatile("");
		return;
	}
	begin(1);
	got = malloc(1000 + path % 4096 * 16);
	done(1);
	__asm__ volatile("" : "+r"(got));
	free(got);
}

__attribute__((noinline)) static void lock(unsigned path)
{
	static pthread_mutex_t many[4096];
	pthread_mutex_t *mutex = &many[path % 4096];

	begin(2);
	pthread_mutex_lock(mutex);
	done(2);
	pthread_mutex_unlock(mutex);
}

__attribute__((noinline)) static void pipes(unsigned path)
{
	int ends[2];
	char text[16];

	if (pipe(ends) != 0)
		return;
	for (unsigned i = 0; i < path % 8; i++)
		if (write(ends[1], "some text", 9) != 9 || read(ends[0], text, 9) != 9)
			_exit(99);
	close(ends[0]);
	close(ends[1]);
}

/* A jump out leaves the pipe's descriptors open, so there are only few jumps. */
static void work(void)
{
	unsigned path = (unsigned)draw();

	while (!is_enough) {
		path = path * 1664525 + 1013904223;
		switch (way) {
		case MEMORY:
			block(path >> 8, (int)(path >> 28));
			break;
		case LOCKS:
			lock(path >> 8);
			break;
		case PIPES:
			pipes(path >> 8);
			break;
		default:
			even(path >> 8, 12);
		}
		if (thing == CANCEL)
			pthread_testcancel();
	}
}

/* --- things --- */

NO_HOOKS static void on_time(int number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	char *again[] = { arguments[0], NULL };
	int saved = errno, status;
	pid_t child;

	(void)number;
	(void)info;
	atomic_fetch_add(&shared->handled, 1);
	if (at >= library[0] && at < library[1])
		atomic_fetch_add(&shared->inside, 1);
	switch (thing) {
	case LEAVE:
		_exit(20 + LEAVE);
	case LEAVE_QUICKLY:
		quick_exit(20 + LEAVE_QUICKLY);
	case ABORT:
		abort();
	case EXEC:
		execve(again[0], again, environ);
		_exit(98);
	case EXIT:
		exit(20 + EXIT);
	case FORK:
		child = fork();
		if (child == 0) {
			even(7, 5);
			_exit(5);
		}
		is_enough = true;
		if (waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 5)
			_exit(97);
		break;
	case JUMP:
		siglongjmp(back, 1);
	case END_THREAD:
		pthread_exit(PTHREAD_CANCELED);
	default:
		break;
	}
	errno = saved;
}

NO_HOOKS static void arm(long us)
{
	struct itimerval soon = { .it_value.tv_usec = us };

	setitimer(ITIMER_REAL, &soon, NULL);
}

static void *work_in_thread(void *argument)
{
	sigset_t set;

	if (thing == CANCEL_ANYWHERE)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sem_post(&started);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	work();
	return argument;
}

/* Everything must still be usable. */
static int after(void)
{
	is_enough = false;
	even(5, 12);
	block(77, 3);
	lock(99);
	pipes(7);
	return 20 + (int)thing;
}

static int in_thread(long us)
{
	struct timespec nap = { 0, us * 1000 };
	sigset_t set;
	void *result = NULL;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sem_init(&started, 0, 0);
	if (thing == END_THREAD)
		arm(us + 1);
	if (pthread_create(&worker, NULL, work_in_thread, NULL) != 0)
		return 96;
	sem_wait(&started);
	if (thing != END_THREAD) {
		nanosleep(&nap, NULL);
		pthread_cancel(worker);
	}
	pthread_join(worker, &result);
	return result == PTHREAD_CANCELED ? after() : 95;
}

static int child_main(void)
{
	struct sigaction action = { .sa_sigaction = on_time, .sa_flags = SA_SIGINFO };
	long us = 1 + (long)(draw() % 400);

	sigaction(SIGALRM, &action, NULL);
	if (thing == CANCEL || thing == CANCEL_ANYWHERE || thing == END_THREAD)
		return in_thread(us);
	if (thing == JUMP && sigsetjmp(back, 1) && ++jumps == 10)
		return after();
	if (thing != KILL)
		arm(us);
	work();
	return after();
}

/* --- rounds --- */

NO_HOOKS static bool is_as_wanted(int status)
{
	if (thing == ABORT || thing == KILL)
		return WIFSIGNALED(status) &&
		       WTERMSIG(status) == (thing == KILL ? SIGKILL : SIGABRT);
	return WIFEXITED(status) && WEXITSTATUS(status) == (thing == EXEC ? 3 : 20 + (int)thing);
}

NO_HOOKS static bool ends(pid_t child, int *status)
{
	const struct timespec minute = { 60, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	while (waitpid(child, status, WNOHANG) == 0)
		if (sigtimedwait(&set, NULL, &minute) < 0 && errno == EAGAIN)
			return false;
	return true;
}

NO_HOOKS static int round_of(void)
{
	struct timespec nap = { 0, (long)(draw() % 1000) * 1000 };
	int status = 0;
	sigset_t set;
	pid_t child;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	child = fork();
	if (child == 0) {
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		exit(child_main());
	}
	if (thing == KILL) {
		nanosleep(&nap, NULL);
		kill(child, SIGKILL);
	}
	if (ends(child, &status) && is_as_wanted(status))
		return 1;
	printf("%s in way %d: status %x\n", names[thing], way, status);
	fflush(stdout);
	if (getenv("INTERRUPT_STOP"))
		pause();
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return 0;
}

NO_HOOKS static void find_library(void)
{
	Dl_info info;
	void *at = dlsym(RTLD_DEFAULT, "hotpath_label");
	char line[512];
	FILE *maps = at ? fopen("/proc/self/maps", "r") : NULL;

	if (!at || !dladdr(at, &info))
		at = NULL;
	while (at && maps && fgets(line, sizeof(line), maps)) {
		uintptr_t begin, end;

		if (strstr(line, info.dli_fname) && sscanf(line, "%lx-%lx", &begin, &end) == 2) {
			library[0] = library[0] ? library[0] : begin;
			library[1] = end;
		}
	}
	if (maps)
		fclose(maps);
}

NO_HOOKS int main(int count, char **values)
{
	static const char *const kinds[3] = { "step", "block", "lock" };
	int rounds = count > 1 ? atoi(values[1]) : 0;
	unsigned as_wanted[THINGS] = { 0 };
	FILE *file;

	if (count < 4)
		return 3;	/* the exec'd program */
	arguments = values;
	random_state = strtoull(values[2], NULL, 10) * UINT64_C(0x9E3779B97F4A7C15) | 1;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	find_library();
	for (int i = 0; i < rounds; i++) {
		thing = (enum thing)(count > 4 ? atoi(values[4]) : i % THINGS);
		do
			way = (enum way)(draw() % WAYS);
		while (!(ways_of[thing] & 1U << way));
		as_wanted[thing] += (unsigned)round_of();
	}
	for (int i = 0; i < THINGS; i++)
		printf("%s %u\n", names[i], as_wanted[i]);
	file = fopen(values[3], "w");
	for (int i = 0; file && i < 3; i++)
		fprintf(file, "%s %lu %lu\n", kinds[i], (unsigned long)shared->done[i],
			(unsigned long)shared->begun[i]);
	if (file) {
		fprintf(file, "inside %lu %lu\n", (unsigned long)shared->inside,
			(unsigned long)shared->handled);
		fclose(file);
	}
	return 0;
}
