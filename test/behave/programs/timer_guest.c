// SPDX-License-Identifier: MIT
//
// timer_guest.c - visible effects of a foreign signal on a program:
// calls that are interrupted or end early, masks and actions of signals, its own
// timers, sigwait, signalfd, ids that change in all threads. Prints what
// it finds, which must be the same with and without timers.

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static volatile unsigned long sink;
static char block[1 << 18];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void work(long n)
{
	for (long i = 0; i < n; i++)
		sink += (unsigned long)i * 7;
}

static void *drain(void *argument)
{
	static char bytes[4096];

	while (read(*(int *)argument, bytes, sizeof(bytes)) > 0)
		work(1000);
	return NULL;
}

/* Work and waiting calls in turn: how many were interrupted, or wrote only a part? */
static void calls(double seconds)
{
	struct timespec little = { 0, 20000 };
	struct timeval little_too = { 0, 20 };
	struct pollfd nothing = { -1, 0, 0 };
	struct epoll_event event;
	int ends[2], interrupted = 0, less = 0, epoll = epoll_create1(0);
	pthread_t thread;
	double end = now() + seconds;

	(void)!pipe(ends);
	pthread_create(&thread, NULL, drain, &ends[0]);
	while (now() < end) {
		work(20000);
		interrupted += nanosleep(&little, NULL) < 0;
		interrupted += poll(&nothing, 1, 0) < 0;
		interrupted += select(0, NULL, NULL, NULL, &little_too) < 0;
		interrupted += epoll_wait(epoll, &event, 1, 0) < 0;
		less += write(ends[1], block, sizeof(block)) != (ssize_t)sizeof(block);
	}
	close(ends[1]);
	pthread_join(thread, NULL);
	printf("calls: %d interrupted, %d short\n", interrupted, less);
}

static void print_set(const char *what, const sigset_t *set)
{
	printf("%s:", what);
	for (int i = 1; i <= 64; i++)
		if (sigismember(set, i) == 1)
			printf(" %d", i);
	printf("\n");
}

static void handle(int number)
{
	(void)number;
	handled++;
}

static void masks(void)
{
	sigset_t all, was;
	struct sigaction action, ours = { .sa_handler = handle };
	int set = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	print_set("mask at first", &was);
	pthread_sigmask(SIG_SETMASK, &was, &all);
	print_set("mask when full", &all);
	for (int i = 1; i <= 64; i++)
		set += sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL;
	printf("actions: %d\n", set);
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
		set += sigaction(i, &ours, NULL) == 0;
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
		raise(i);
	printf("real time signals: %d set, %d came\n", set, (int)handled);
}

/* The program's own timer on its CPU time, and one that a thread waits for. */
static void timers(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1 };
	struct itimerspec soon = { { 0, 10000000 }, { 0, 10000000 } };
	sigset_t set, quit;
	struct signalfd_siginfo info;
	timer_t cpu, wall;
	int number = 0, fd;

	handled = 0;
	timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &cpu);
	timer_settime(cpu, 0, &soon, NULL);
	while (handled < 5)
		work(1000);
	timer_delete(cpu);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	event.sigev_signo = SIGRTMIN + 2;
	timer_create(CLOCK_MONOTONIC, &event, &wall);
	timer_settime(wall, 0, &soon, NULL);
	for (int i = 0; i < 3; i++)
		if (sigwait(&set, &number) != 0)
			printf("sigwait failed\n");
	sigfillset(&quit);
	sigdelset(&quit, SIGINT);
	fd = signalfd(-1, &set, 0);
	printf("timers: %d came, waited for %d, read %d\n", handled >= 5, number - SIGRTMIN,
	       read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info));
	timer_delete(wall);
	close(fd);
}

static int run_c11(void *argument)
{
	work(3000000);
	return *(int *)argument;
}

static void *id_of_thread(void *argument)
{
	pthread_barrier_t *barrier = argument;

	pthread_barrier_wait(barrier);
	work(1000000);
	pthread_barrier_wait(barrier);
	return (void *)(long)geteuid();
}

/* The C library notifies all threads with the signal that the timers use. */
static void ids(void)
{
	pthread_barrier_t barrier;
	pthread_t threads[3];
	void *id;
	long sum = 0;
	thrd_t c11;
	int value = 42;

	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, id_of_thread, &barrier);
	pthread_barrier_wait(&barrier);
	if (geteuid() == 0 && seteuid(65534) != 0)
		perror("seteuid");
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], &id);
		sum += (long)id == (long)geteuid();
	}
	thrd_create(&c11, run_c11, &value);
	thrd_join(c11, &value);
	printf("ids: %ld threads of 3 have it, C11 says %d\n", sum, value);
}

static void children(void)
{
	int status, good = 0;

	for (int i = 0; i < 20; i++) {
		pid_t child = fork();

		if (child == 0) {
			work(2000000);
			_exit(i);
		}
		waitpid(child, &status, 0);
		good += WIFEXITED(status) && WEXITSTATUS(status) == i;
	}
	fflush(stdout);
	good += system("true") == 0;
	printf("children: %d\n", good);
}

int main(int argc, char **argv)
{
	masks();
	calls(argc > 1 ? atof(argv[1]) : 0.5);
	timers();
	children();
	ids();
	errno = 0;
	work(50000000);
	printf("errno %d\n", errno);
	return 0;
}
