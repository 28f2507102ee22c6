/* SPDX-License-Identifier: MIT */
/*
 * mutate.c - a segment that changes while it is read, as from a target that writes out of bounds.
 *
 *     mutate SECONDS [SEED]
 *
 * A child writes random changes into the run of FUZZ_BASE, in memory that both share, and restores
 * the run now and then. Meanwhile this process makes all views of it, both fresh and like the live
 * server, which continues from the previous refresh.  It runs under ASan and UBSan.  No refresh
 * may take 20 s of processor time, or hold more than four times the input and 64 MB.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/read/model.h"
#include "test/fuzz/views.h"
#include "util/random.h"

#define SECONDS_MAX 20	/* of processor time for one refresh */
#define MEMORY_MAX(there) (4 * (there) + (UINT64_C(64) << 20))
#define LOOKS 8	/* that continue from each other */
#define BURST 64	/* maximum number of changes before the writer pauses */

/* From the sanitizers (sanitizer/allocator_interface.h, which not all compilers have). */
size_t __sanitizer_get_allocated_size(const volatile void *memory);
int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void *, size_t),
					      void (*)(const volatile void *));

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "malloc_context_size=4:quarantine_size_mb=8:max_allocation_size_mb=4096:detect_leaks=0";
}

static uint64_t held, most_held;

static void on_malloc(const volatile void *memory, size_t size)
{
	(void)memory;
	held += size;
	most_held = held > most_held ? held : most_held;
}

static void on_free(const volatile void *memory)
{
	held -= memory ? __sanitizer_get_allocated_size(memory) : 0;
}

/* --- the writer --- */

/* Data that fuzz_base_change reads as changes. */
static size_t changes_draw(uint64_t *random, uint8_t *data, size_t most)
{
	size_t size = (size_t)(hp_random_next(random) % most + 1);

	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(hp_random_next(random) >> 32);
	return size;
}

static void write_for_ever(const struct fuzz_base *base, char *shared, uint64_t random)
{
	static uint8_t data[BURST * 16];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned turn = 0;; turn++) {
		size_t size = changes_draw(&random, data, sizeof(data));

		fuzz_base_change(shared, base->used, data, size);
		if (turn % 16 == 0)
			memcpy(shared + HP_LINE, (char *)base->kept.segment.header + HP_LINE,
			       base->used - HP_LINE);
		usleep((useconds_t)(hp_random_next(&random) % 400));
	}
}

/* --- the reader --- */

static struct hp_segment lent(const struct fuzz_base *base, char *shared)
{
	return (struct hp_segment){ .header = (struct hp_header *)shared,
				    .size = base->used,
				    .fd = -1,
				    .is_lent = true,
				    .records_most = base->kept.segment.records_most };
}

static void follow(const struct fuzz_base *base, char *shared)
{
	struct hp_model model = { .functions = NULL };

	for (int i = 0; i < LOOKS; i++) {
		struct hp_segment segment = lent(base, shared);

		hp_model_look(&model, &segment);
		hp_model_pause(&model);
	}
	hp_model_release(&model);
}

static void look(const struct fuzz_base *base, char *shared, unsigned number)
{
	const struct itimerval limit = { .it_value.tv_sec = SECONDS_MAX };
	struct hp_segment segment = lent(base, shared);

	setitimer(ITIMER_PROF, &limit, NULL);
	held = most_held = 0;
	if (number % 4 == 3)
		follow(base, shared);
	else
		fuzz_views(base, &segment, number % 4 == 0);
	if (most_held <= MEMORY_MAX(base->used))
		return;
	fprintf(stderr, "mutate: look %u held %llu bytes, of a run of %llu\n", number,
		(unsigned long long)most_held, (unsigned long long)base->used);
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	const struct fuzz_base *base = fuzz_base();
	double end = now() + (argc > 1 ? atof(argv[1]) : 1);
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)getpid(), most = 0;
	char *shared =
		mmap(NULL, base->used, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned looks = 0;
	int status;

	if (shared == MAP_FAILED)
		abort();
	memcpy(shared, base->kept.segment.header, base->used);
	((struct hp_header *)shared)->size = base->used;
	pid_t writer = fork();
	if (writer == 0)
		write_for_ever(base, shared, seed | 1);
	fprintf(stderr, "mutate: seed %llu\n", (unsigned long long)seed);
	if (!__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free))
		abort();
	for (; looks < 8 || now() < end; looks++) {
		look(base, shared, looks);
		most = most_held > most ? most_held : most;
	}
	kill(writer, SIGKILL);
	if (waitpid(writer, &status, 0) != writer || !WIFSIGNALED(status) ||
	    WTERMSIG(status) != SIGKILL) {
		fprintf(stderr, "mutate: the writer ended by itself\n");
		return 1;
	}
	printf("%u looks at a run of %llu bytes; none held more than %llu\n", looks,
	       (unsigned long long)base->used, (unsigned long long)most);
	return 0;
}
