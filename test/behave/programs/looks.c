/* SPDX-License-Identifier: MIT */
/*
 * looks.c - runs a round for each line that it reads, prints "done", and waits, so
 * that a server's refreshed view can be compared with a view that is read for the
 * first time. Rounds differ: new threads replace ended ones, children end,
 * functions are called for the first time, recursion, longjmp, locks, memory.
 *
 *     looks            rounds
 *     looks FILE       counts its calls of tick() in FILE, 8 bytes, until it is killed
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned sink;
static void *kept[4096];
static unsigned kept_count;

__attribute__((noinline)) void leaf(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += i;
}

__attribute__((noinline)) void twig(unsigned n)
{
	leaf(n);
	leaf(n / 2);
}

__attribute__((noinline)) unsigned deep(unsigned n)
{
	return n ? deep(n - 1) + 1 : 0;
}

__attribute__((noinline)) void *take(unsigned n)
{
	return malloc(n);
}

__attribute__((noinline)) void hold(void)
{
	pthread_mutex_lock(&lock);
	if (kept_count < 4096)
		kept[kept_count++] = take(100 + kept_count);
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) void jump(jmp_buf *back)
{
	longjmp(*back, 1);
}

__attribute__((noinline)) void leap(void)
{
	jmp_buf back;

	if (setjmp(back) == 0)
		jump(&back);
}

#define LATER(n) \
	__attribute__((noinline)) void later##n(void) \
	{ \
		twig(n); \
		free(take(10 * n)); \
	}
LATER(1)
LATER(2)
LATER(3)
LATER(4)

static void (*const laters[])(void) = { later1, later2, later3, later4 };

struct task {
	unsigned round;
	unsigned number;
};

static void *work(void *argument)
{
	const struct task *task = argument;

	for (unsigned i = 0; i < 3000; i++) {
		twig((i * 7 + task->number) % 300);
		if (i % 100 == task->number)
			deep(20 + task->round);
		if (i % 200 == 0)
			hold();
		if (i % 500 == 0)
			leap();
		if (i % 50 == 0)
			free(take(i + 1));
	}
	/* Half of the rounds have a function that none had before. */
	if (task->round % 2 && task->round / 2 < sizeof(laters) / sizeof(laters[0]))
		laters[task->round / 2]();
	return NULL;
}

static void run(unsigned round)
{
	pthread_t threads[THREADS];
	struct task tasks[THREADS];
	unsigned count = 1 + round % THREADS;
	pid_t child;

	for (unsigned i = 0; i < count; i++) {
		tasks[i] = (struct task){ round, i };
		pthread_create(&threads[i], NULL, work, &tasks[i]);
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	child = fork();
	if (child == 0) {
		for (unsigned i = 0; i < 100 * (round + 1); i++)
			leaf(i);
		hold();
		exit(0);
	}
	waitpid(child, NULL, 0);
}

__attribute__((noinline)) void tick(void)
{
	leaf(2000);
}

static void count(const char *path)
{
	int fd = open(path, O_RDWR);
	volatile uint64_t *counter = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	for (;;) {
		tick();
		++*counter;
		usleep(200);
	}
}

int main(int argc, char **argv)
{
	char line[16];

	puts("up");
	fflush(stdout);
	if (argc > 1)
		count(argv[1]);
	for (unsigned round = 0; fgets(line, sizeof(line), stdin); round++) {
		run(round);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
