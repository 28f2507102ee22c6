/* SPDX-License-Identifier: MIT */
/*
 * maps.c - maps memory itself, keeps a table of its pages by mapping function, and prints it:
 * "FUNCTION CALLS BYTES LEFT RANGES" lines.
 *
 *   maps random SEED COUNT      maps, unmaps parts, maps over parts, moves, in a window of 1 MiB
 *   maps threads COUNT          four threads, each in its own window, and one frees for another
 *   maps signal COUNT           the same while a signal handler does it, too
 *   maps jump COUNT             the handler jumps out
 *   maps break                  brk and sbrk
 *   maps fork                   the child unmaps its parent's mappings
 *   maps kinds LIBRARY          each kind once, and a library that is loaded
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define PAGES 256	/* of a window */
#define NOINLINE __attribute__((noinline))

enum { ONE, TWO, OVER, MOVED, NAMES };
static const char *const names[NAMES] = { "map_one", "map_two", "map_over", "move" };

/* The map of each page in a window, and the map's owner. */
struct window {
	char *at;
	int map[PAGES + 1];	/* 0 = none */
	int maps;
	int by[100000];
	long calls[NAMES];
	size_t bytes[NAMES];
};

static char *checked(char *at)
{
	if (at == MAP_FAILED) {
		perror("maps");
		exit(1);
	}
	return at;
}

#define ANYWHERE (MAP_PRIVATE | MAP_ANONYMOUS)

/* volatile: no tail call, so that the caller is on the path. */
static NOINLINE char *map_one(char *wanted, size_t size)
{
	char *volatile at = checked(mmap(wanted, size, PROT_READ, ANYWHERE | MAP_FIXED, -1, 0));
	return at;
}

static NOINLINE char *map_two(char *wanted, size_t size)
{
	char *volatile at = checked(mmap64(wanted, size, PROT_READ, ANYWHERE | MAP_FIXED, -1, 0));
	return at;
}

static NOINLINE char *map_over(char *wanted, size_t size)
{
	char *volatile at = checked(mmap(wanted, size, PROT_NONE, ANYWHERE | MAP_FIXED, -1, 0));
	return at;
}

static NOINLINE char *move(char *old, size_t old_size, char *wanted, size_t size)
{
	char *volatile at =
		checked(mremap(old, old_size, size, MREMAP_MAYMOVE | MREMAP_FIXED, wanted));
	return at;
}

static unsigned draw(unsigned *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16;
}

static void note(struct window *w, int page, int count, int who)
{
	w->by[++w->maps] = who;
	for (int i = page; i < page + count; i++)
		w->map[i] = w->maps;
	w->calls[who]++;
	w->bytes[who] += (size_t)count * PAGE;
}

static void note_gone(struct window *w, int page, int count)
{
	memset(&w->map[page], 0, (size_t)count * sizeof(w->map[0]));
}

/* Pages after `page` in the same map. */
static int same(const struct window *w, int page)
{
	int count = 1;

	while (page + count < PAGES && w->map[page + count] == w->map[page])
		count++;
	return count;
}

static void step(struct window *w, unsigned *seed)
{
	int page = (int)(draw(seed) % PAGES);
	int count = 1 + (int)(draw(seed) % 24);
	size_t odd = draw(seed) % PAGE;	/* lengths need not be whole pages */
	int to;

	if (page + count > PAGES)
		count = PAGES - page;
	switch (draw(seed) % 8) {
	case 0:
	case 1:
		map_one(w->at + (size_t)page * PAGE, (size_t)count * PAGE - odd);
		note(w, page, count, ONE);
		break;
	case 2:
		map_two(w->at + (size_t)page * PAGE, (size_t)count * PAGE);
		note(w, page, count, TWO);
		break;
	case 3:
		map_over(w->at + (size_t)page * PAGE, (size_t)count * PAGE - odd);
		note(w, page, count, OVER);
		break;
	case 4:
	case 5:
	case 6:
		munmap(w->at + (size_t)page * PAGE, (size_t)count * PAGE - odd);
		note_gone(w, page, count);
		break;
	default:
		if (!w->map[page])
			break;
		count = count < same(w, page) ? count : same(w, page);
		to = (int)(draw(seed) % PAGES);
		if (to + count > PAGES || (to < page + count && page < to + count))
			break;
		move(w->at + (size_t)page * PAGE, (size_t)count * PAGE, w->at + (size_t)to * PAGE,
		     (size_t)count * PAGE);
		note_gone(w, page, count);
		note(w, to, count, MOVED);
	}
}

/* Far from where the kernel puts mappings without a hint: it would use the holes. */
static void window_init(struct window *w, int which)
{
	w->at = (char *)((UINT64_C(1) << 44) + ((uint64_t)which << 32));
}

static void window_add(const struct window *w, long sums[NAMES][4])
{
	for (int who = 0; who < NAMES; who++) {
		sums[who][0] += w->calls[who];
		sums[who][1] += (long)w->bytes[who];
	}
	for (int i = 0; i < PAGES; i++) {
		if (!w->map[i])
			continue;
		sums[w->by[w->map[i]]][2] += (long)PAGE;
		sums[w->by[w->map[i]]][3] += i == 0 || w->map[i] != w->map[i - 1];
	}
}

static void say(long sums[NAMES][4])
{
	for (int who = 0; who < NAMES; who++)
		if (sums[who][0])
			printf("%s %ld %ld %ld %ld\n", names[who], sums[who][0], sums[who][1],
			       sums[who][2], sums[who][3]);
}

static struct window windows[4];
static long sums[NAMES][4];
static int steps;

static void *work(void *data)
{
	struct window *w = data;
	unsigned seed = (unsigned)(w - windows) + 1;

	for (int i = 0; i < steps; i++)
		step(w, &seed);
	return NULL;
}

static int random_steps(unsigned seed, int count)
{
	window_init(&windows[0], 0);
	for (int i = 0; i < count; i++)
		step(&windows[0], &seed);
	window_add(&windows[0], sums);
	say(sums);
	return 0;
}

static int threads(int count)
{
	pthread_t ids[4];

	steps = count;
	for (int i = 0; i < 4; i++) {
		window_init(&windows[i], i);
		pthread_create(&ids[i], NULL, work, &windows[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
	for (int i = 0; i < 4; i++) {
		munmap(windows[i].at, PAGES / 2 * PAGE);
		note_gone(&windows[i], 0, PAGES / 2);
		window_add(&windows[i], sums);
	}
	say(sums);
	return 0;
}

static unsigned handler_seed = 99;
static volatile int handled;

static void handler(int number)
{
	int saved = errno;

	(void)number;
	step(&windows[1], &handler_seed);
	handled++;
	errno = saved;
}

static sigjmp_buf back;

static void jumper(int number)
{
	(void)number;
	handled++;
	siglongjmp(back, 1);
}

static void tick(void (*what)(int), long us)
{
	struct itimerval timer = { { 0, us }, { 0, us } };

	signal(SIGALRM, what);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static int signals(int count)
{
	unsigned seed = 7;

	window_init(&windows[0], 0);
	window_init(&windows[1], 1);
	/* A handler that runs before the profiler's first record is counted as lost. */
	step(&windows[0], &seed);
	tick(handler, 200);
	for (int i = 0; i < count || handled < 100; i++) {
		if (windows[0].maps > 90000)
			windows[0].maps = 0;
		step(&windows[0], &seed);
	}
	tick(SIG_IGN, 0);
	window_add(&windows[0], sums);
	window_add(&windows[1], sums);
	say(sums);
	return 0;
}

static int jumps(int count)
{
	window_init(&windows[0], 0);
	/* The first signal may arrive before setitimer() returns: the jump target is set by
	 * then. */
	if (sigsetjmp(back, 1) == 0)
		tick(jumper, 100);
	while (handled < count) {
		sigsetjmp(back, 1);
		if (handled < count) {
			map_one(windows[0].at, 4 * PAGE);
			munmap(windows[0].at + PAGE, PAGE);
		}
	}
	tick(SIG_IGN, 0);
	puts("done");
	return 0;
}

static NOINLINE int breaks(void)
{
	char *first = sbrk(0);
	char *volatile got = sbrk(3 * 4096 + 100);

	if (got != first)
		return 1;
	sbrk(-200);
	if (brk(first + 20000) != 0)
		return 1;
	printf("breaks 2 %d 20000 2\n", 3 * 4096 + 100 + (20000 - (3 * 4096 - 100)));
	return 0;
}

static NOINLINE char *before_fork(void)
{
	char *volatile at = checked(mmap(NULL, 8 * PAGE, PROT_READ, ANYWHERE, -1, 0));
	return at;
}

static NOINLINE char *in_child(void)
{
	char *volatile at = checked(mmap(NULL, 2 * PAGE, PROT_READ, ANYWHERE, -1, 0));
	return at;
}

static int forks(void)
{
	char *at = before_fork();

	if (fork() == 0) {
		munmap(at, 4 * PAGE);
		in_child();
		_exit(0);
	}
	wait(NULL);
	puts("before_fork 1 32768 32768 1\nin_child 1 8192 8192 1");
	return 0;
}

static NOINLINE void kind_memory(void)
{
	checked(mmap(NULL, PAGE, PROT_READ, ANYWHERE, -1, 0));
}

static NOINLINE void kind_shared(void)
{
	checked(mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

static NOINLINE void kind_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);

	checked(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0));
	close(fd);
}

static NOINLINE void kind_reserved(void)
{
	checked(mmap(NULL, (size_t)1 << 40, PROT_NONE, ANYWHERE | MAP_NORESERVE, -1, 0));
}

static int each_kind(const char *library)
{
	kind_memory();
	kind_shared();
	kind_file();
	kind_reserved();
	munmap((void *)1, 1);	/* is refused */
	if (!dlopen(library, RTLD_NOW))
		return 1;
	puts("kind_memory memory\nkind_shared shared\nkind_file file\nkind_reserved reserved");
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int number = argc > 2 ? atoi(argv[2]) : 0;

	if (strcmp(what, "random") == 0)
		return random_steps((unsigned)number, atoi(argv[3]));
	if (strcmp(what, "threads") == 0)
		return threads(number);
	if (strcmp(what, "signal") == 0)
		return signals(number);
	if (strcmp(what, "jump") == 0)
		return jumps(number);
	if (strcmp(what, "break") == 0)
		return breaks();
	if (strcmp(what, "fork") == 0)
		return forks();
	if (strcmp(what, "kinds") == 0)
		return each_kind(argv[2]);
	return 2;
}
