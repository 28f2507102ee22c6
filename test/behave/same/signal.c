/* SPDX-License-Identifier: MIT */
/* signal.c - what handlers do, and what threads do to each other: each scene ends as it does
 * without a guest. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

#include "scene.h"

#define HANDLED 400

static volatile sig_atomic_t handled;
static sigjmp_buf back;
static pthread_mutex_t in_handler = PTHREAD_MUTEX_INITIALIZER, outside = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) int step(int x)
{
	return x * 2654435761u >> 3;
}

static void on_timer(int number)
{
	(void)number;
	/* main is never inside malloc or holding this lock in these scenes. */
	pthread_mutex_lock(&in_handler);
	allocate(3);
	pthread_mutex_unlock(&in_handler);
	handled += step(1) != 0;
}

static void tick(int which, int number, void (*handler)(int), int every_us)
{
	struct itimerval timer = { { 0, every_us }, { 0, every_us } };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };

	sigaction(number, &action, NULL);
	setitimer(which, &timer, NULL);
}

static void untick(int which)
{
	static const struct itimerval off;

	setitimer(which, &off, NULL);
}

/* Each intercepted function is interrupted by a handler that allocates, locks, and calls. */
static void handlers_allocate(void)
{
	sem_t sem;

	sem_init(&sem, 0, 0);
	tick(ITIMER_REAL, SIGALRM, on_timer, 100);
	while (handled < HANDLED) {
		pthread_mutex_lock(&outside);
		step(2);
		pthread_mutex_unlock(&outside);
		sem_post(&sem);
		sem_wait(&sem);
	}
	untick(ITIMER_REAL);
	puts("all handled");
}

static void profiling_timers(void)
{
	volatile unsigned sum = 0;

	handled = 0;
	tick(ITIMER_PROF, SIGPROF, on_timer, 1000);
	while (handled < 20)
		sum += step((int)sum);
	untick(ITIMER_PROF);
	handled = 0;
	tick(ITIMER_VIRTUAL, SIGVTALRM, on_timer, 1000);
	while (handled < 20)
		sum += step((int)sum);
	untick(ITIMER_VIRTUAL);
	puts("SIGPROF and SIGVTALRM come");
}

static void out_of_handler(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

/*
 * Jumps out of uncontended locks, semaphores and calls: none of these leaves
 * anything unfinished.
 */
static void handlers_jump(void)
{
	volatile int jumps = 0;
	sem_t sem;

	sem_init(&sem, 0, 0);
	while (jumps < 200) {
		if (sigsetjmp(back, 1) == 0) {
			tick(ITIMER_REAL, SIGALRM, out_of_handler, 100);
			for (;;) {
				sem_post(&sem);
				sem_trywait(&sem);
				step(3);
			}
		}
		jumps++;
	}
	untick(ITIMER_REAL);
	printf("%d jumps, sum %u\n", jumps, allocate(1000));
}

static volatile int depth;

static __attribute__((noinline)) int deeper(int x)
{
	if (x < 0)
		return 0;
	volatile char room[512];

	room[0] = (char)x;
	depth++;
	return deeper(x + 1) + room[0];
}

static void on_overflow(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	allocate(10);
	siglongjmp(back, 2);
}

static void stack_overflow(void)
{
	struct sigaction action = { .sa_sigaction = on_overflow,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
	struct rlimit limit = { 1 << 20, RLIM_INFINITY };

	setrlimit(RLIMIT_STACK, &limit);
	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	for (volatile int i = 0; i < 3; i++) {
		depth = 0;
		if (sigsetjmp(back, 1) == 0)
			deeper(0);
		check(depth > 500, "depth");
	}
	puts("overflowed three times");
}

/* A signal stack of the minimum size. */
static void small_signal_stack(void)
{
	long size = sysconf(_SC_MINSIGSTKSZ) + 4096;
	stack_t stack = { .ss_sp = malloc((size_t)size), .ss_size = (size_t)size };
	struct sigaction action = { .sa_handler = on_timer, .sa_flags = SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	handled = 0;
	for (int i = 0; i < 100; i++)
		raise(SIGUSR1);
	printf("%d on a small stack\n", (int)handled);
}

static void *volatile fault_at;

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)context;
	fault_at = info->si_addr;
	siglongjmp(back, number);
}

static void faults(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	volatile int zero = 0, seven = 7;
	int number;

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGFPE, &action, NULL);
	sigaction(SIGILL, &action, NULL);
	sigaction(SIGTRAP, &action, NULL);
	if ((number = sigsetjmp(back, 1)) == 0)
		*(volatile int *)16 = 1;
	printf("signal %d at %p\n", number, fault_at);
	if ((number = sigsetjmp(back, 1)) == 0)
		zero = seven / zero;
	printf("signal %d\n", number);
	if ((number = sigsetjmp(back, 1)) == 0)
		__asm__ volatile("ud2");
	printf("signal %d\n", number);
	if ((number = sigsetjmp(back, 1)) == 0)
		__asm__ volatile("int3");
	printf("signal %d\n", number);
	action.sa_sigaction = NULL;
	action.sa_handler = SIG_DFL;
	sigaction(SIGSEGV, &action, NULL);
	*(volatile int *)24 = 1;
}

static atomic_int stop;

static void on_nothing(int number)
{
	handled = number;
}

static void *interrupt(void *thread)
{
	while (!atomic_load(&stop)) {
		pthread_kill(*(pthread_t *)thread, SIGUSR2);
		usleep(1000);
	}
	return NULL;
}

/* Calls that a signal interrupts: with EINTR if they do so without the library. */
static void interrupted(void)
{
	struct sigaction action = { .sa_handler = on_nothing };
	struct timespec until;
	pthread_t me = pthread_self(), other;
	char byte;
	int ends[2], got;
	sem_t sem;

	sigaction(SIGUSR2, &action, NULL);
	sem_init(&sem, 0, 0);
	check(pipe(ends) == 0, "pipe");
	for (int i = 0; i < 4; i++) {
		atomic_store(&stop, 0);
		pthread_create(&other, NULL, interrupt, &me);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 60;
		errno = 0;
		got = i == 0   ? sem_wait(&sem)
		      : i == 1 ? sem_timedwait(&sem, &until)
		      : i == 2 ? (int)read(ends[0], &byte, 1)
			       : pause();
		printf("%d: %d %s\n", i, got, strerror(errno));
		atomic_store(&stop, 1);
		pthread_join(other, NULL);
	}
}

static void waited_for(void)
{
	struct signalfd_siginfo info;
	siginfo_t details;
	sigset_t set;
	int number = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGPROF);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	sigwait(&set, &number);
	printf("sigwait %d\n", number);
	sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = 5 });
	sigwaitinfo(&set, &details);
	printf("sigwaitinfo %d %d\n", details.si_signo - SIGRTMIN, details.si_value.sival_int);
	raise(SIGPROF);
	int fd = signalfd(-1, &set, 0);
	check(read(fd, &info, sizeof(info)) == sizeof(info), "signalfd");
	printf("signalfd %d\n", (int)info.ssi_signo);
	printf("SIGRTMIN %d\n", SIGRTMIN);
}

static atomic_int ready;

static __attribute__((noreturn)) void *forever(void *arg)
{
	pthread_setcanceltype(arg ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED, NULL);
	atomic_fetch_add(&ready, 1);
	for (unsigned i = 0;; i++) {
		step((int)i);
		if (arg)
			continue;
		free(malloc(i % 999));
		pthread_mutex_lock(&outside);
		pthread_mutex_unlock(&outside);
		pthread_testcancel();
	}
}

static void cancelled(void)
{
	pthread_t threads[40];
	void *value;
	int count = 0;

	for (int i = 0; i < 40; i++)
		pthread_create(&threads[i], NULL, forever, i % 2 ? (void *)1 : NULL);
	while (atomic_load(&ready) < 40)
		sched_yield();
	for (int i = 0; i < 40; i++)
		pthread_cancel(threads[i]);
	for (int i = 0; i < 40; i++) {
		pthread_join(threads[i], &value);
		count += value == PTHREAD_CANCELED;
	}
	printf("%d cancelled\n", count);
}

/* The process ends while threads allocate, lock and call. */
static void exit_amid(void)
{
	pthread_t thread;

	for (int i = 0; i < 8; i++)
		pthread_create(&thread, NULL, forever, NULL);
	while (atomic_load(&ready) < 8)
		sched_yield();
	puts("exit");
	exit(9);
}

static void *small_work(void *arg)
{
	char room[2048];

	memset(room, (int)(intptr_t)arg, sizeof(room));
	free(malloc((size_t)room[7] + 1));
	pthread_mutex_lock(&outside);
	pthread_mutex_unlock(&outside);
	return (void *)(intptr_t)step(room[5]);
}

static void small_stacks(void)
{
	pthread_attr_t attributes;
	pthread_t threads[50];

	pthread_attr_init(&attributes);
	for (size_t size = (size_t)sysconf(_SC_THREAD_STACK_MIN); size <= 65536; size *= 2) {
		char *room = mmap(NULL, size * 50, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		int failed = 0;

		for (int i = 0; i < 50; i++) {
			pthread_attr_setstack(&attributes, room + (size_t)i * size, size);
			failed += pthread_create(&threads[i], &attributes, small_work,
						 (void *)(intptr_t)i) != 0;
		}
		for (int i = 0; i < 50; i++)
			pthread_join(threads[i], NULL);
		printf("%zu: %d failed\n", size, failed);
		munmap(room, size * 50);
	}
}

static pthread_barrier_t barrier;

static void *wait_there(void *arg)
{
	pthread_barrier_wait(&barrier);
	return small_work(arg);
}

static void many_threads(void)
{
	enum { MANY = 1500 };
	static pthread_t threads[MANY];
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	pthread_barrier_init(&barrier, NULL, MANY);
	for (int i = 0; i < MANY; i++)
		check(pthread_create(&threads[i], &attributes, wait_there, (void *)(intptr_t)i) ==
			      0,
		      "thread");
	for (int i = 0; i < MANY; i++)
		pthread_join(threads[i], NULL);
	puts("all joined");
}

static pthread_key_t keys[2];

static void at_end(void *value)
{
	intptr_t rounds = (intptr_t)value;

	free(malloc(100));
	step((int)rounds);
	if (rounds < 3)
		pthread_setspecific(keys[0], (void *)(rounds + 1));
	else
		puts("third round");
}

static void *with_keys(void *arg)
{
	pthread_setspecific(keys[0], (void *)1);
	pthread_setspecific(keys[1], malloc(77));
	return arg;
}

static void key_destructors(void)
{
	pthread_t thread;

	pthread_key_create(&keys[0], at_end);
	pthread_key_create(&keys[1], free);
	for (int i = 0; i < 3; i++) {
		pthread_create(&thread, NULL, with_keys, NULL);
		pthread_join(thread, NULL);
	}
	int count = 0;
	while (pthread_key_create(&keys[0], NULL) == 0)
		count++;
	printf("at least 1000 more keys: %d\n", count >= 1000);
}

static ucontext_t contexts[3];

static void coroutine(int which)
{
	for (int i = 0; i < 1000; i++) {
		free(malloc((size_t)(i + which)));
		step(i);
		swapcontext(&contexts[which], &contexts[(which + 1) % 3]);
	}
}

static void coroutines(void)
{
	for (int i = 1; i < 3; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = malloc(16384);
		contexts[i].uc_stack.ss_size = 16384;
		contexts[i].uc_link = &contexts[0];
		makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
	}
	for (int i = 0; i < 1000; i++)
		swapcontext(&contexts[0], &contexts[1]);
	puts("went round");
}

static ucontext_t home, again, kept;

/* What is below the caller's frame, up to 16 KiB, is gone. */
static __attribute__((noinline)) int overwrite(int byte)
{
	volatile char room[16384];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = (char)byte;
	return room[byte];
}

/* Saves `kept`, but continues with `again`, which is in the same frame; then `kept` is resumed. */
static void resumed_late(void)
{
	static volatile int rounds;

	getcontext(&again);
	if (rounds++ == 0) {
		check(swapcontext(&kept, &again) == 0, "swapcontext");
		puts("resumed");
		return;
	}
	step(overwrite(1));
	swapcontext(&again, &home);
}

static void late_contexts(void)
{
	static char stack[65536];

	getcontext(&kept);
	kept.uc_stack.ss_sp = stack;
	kept.uc_stack.ss_size = sizeof(stack);
	kept.uc_link = &home;
	makecontext(&kept, resumed_late, 0);
	swapcontext(&home, &kept);
	puts("back");
	swapcontext(&home, &kept);
	puts("ended");
}

/* Futexes and threads without the C library. */
static int raw_thread(void *word)
{
	for (int i = 0; i < 1000; i++)
		step(i);
	atomic_store((atomic_int *)word, 1);
	syscall(SYS_futex, word, 1, 1, NULL, NULL, 0);
	syscall(SYS_exit, 0);
	return 0;
}

static void raw_threads(void)
{
	static atomic_int word;

	for (int i = 0; i < 10; i++) {
		char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);
		atomic_store(&word, 0);
		clone(raw_thread, stack + 65536,
		      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			      CLONE_SYSVSEM,
		      (void *)&word);
		while (atomic_load(&word) == 0)
			syscall(SYS_futex, &word, 0, 0, NULL, NULL, 0);
	}
	puts("ten raw threads");
}

static const struct scene scenes[] = {
	{ "handlers_allocate", handlers_allocate },
	{ "profiling_timers", profiling_timers },
	{ "handlers_jump", handlers_jump },
	{ "stack_overflow", stack_overflow },
	{ "small_signal_stack", small_signal_stack },
	{ "faults", faults },
	{ "interrupted", interrupted },
	{ "waited_for", waited_for },
	{ "cancelled", cancelled },
	{ "exit_amid", exit_amid },
	{ "small_stacks", small_stacks },
	{ "many_threads", many_threads },
	{ "key_destructors", key_destructors },
	{ "coroutines", coroutines },
	{ "late_contexts", late_contexts },
	{ "raw_threads", raw_threads },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return play(scenes, argc, argv);
}
