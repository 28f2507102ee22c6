/* SPDX-License-Identifier: MIT */
/*
 * flip.c - a reader gets a run with one byte changed, each byte in turn.
 *
 *     flip segment|kept|packed [STEP [FROM]]
 *
 * Bytes of the run's segment, as it is in memory; of the kept file, unpacked, since zlib's
 * checksum hides the data after it; and of the kept file as it is on disk. FUZZ_BASE names the
 * run. Each byte gets four values: with its lowest bit changed, its highest, all of them, and 0.
 * With STEP, only every STEPth byte is changed, from the FROMth on, or from one chosen by the
 * process number.
 *
 * A reader whose result depends only on its input cannot distinguish values of a byte that it does
 * not read.  So the bytes of the segment that the unchanged run's report reads are found first,
 * by protecting the memory and single-stepping each access (x86-64), and only these are changed,
 * plus a sample of the others, which must give the same report.
 *
 * A child makes the runs. If ASan, a signal or 20 s of processor time ends it, the next child
 * continues after that byte. It reads from read-only memory, and reports its position.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <zlib.h>

#include "test/fuzz/fuzz.h"
#include "test/fuzz/views.h"

#define SECONDS_MAX 20	/* of processor time for one run; a run takes some milliseconds */
#define WIDEST 64	/* bytes that one instruction of the C library reads at once */
#define WIDE 16	/* of ours */
#define SAMPLE 257	/* one in this many unread bytes is changed all the same */
#define INPUT_MAX (64 << 20)

enum value { VALUE_LOW, VALUE_HIGH, VALUE_ALL, VALUE_ZERO, VALUES };

/* Written by the child, kept by its parent. */
struct progress {
	volatile size_t next;	/* number of the run that is under way: place * VALUES + value */
	volatile size_t made;
	volatile size_t differ;	/* an unread byte that changed the report */
};

struct run {
	uint8_t *bytes;	/* separate pages, to be changed and restored */
	size_t size;
	size_t *places;	/* in `bytes` */
	size_t place_count;
	size_t read_count;	/* the first of them: read by the report */
	uint64_t expected;	/* of the unchanged run */
	uint64_t (*look)(const struct run *run, bool with_exports);	/* a hash of its output */
	struct progress *progress;
};

/* ASan's options: without features that cost time and find nothing more. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "malloc_context_size=2:quarantine_size_mb=8:max_allocation_size_mb=4096:detect_leaks=0";
}

/* --- which bytes are read --- */

#if defined(__x86_64__)

static struct {
	uint8_t *bytes;
	size_t size;
	uint8_t *is_read;
	uint8_t *open[4];	/* pages that the instruction under way may read */
	size_t open_count;
	struct sigaction before;
} watch;

extern char __executable_start[], etext[];	/* by the linker */

/* An access to a protected page: it is unprotected for this instruction. */
static void on_access(int signal, siginfo_t *info, void *context)
{
	ucontext_t *where = context;
	uint8_t *at = info->si_addr;
	size_t place = (size_t)(at - watch.bytes);

	if (at < watch.bytes || place >= watch.size || watch.open_count == 4) {
		sigaction(signal, &watch.before, NULL);
		return;
	}
	uintptr_t code = (uintptr_t)where->uc_mcontext.gregs[REG_RIP];
	size_t end =
		place +
		(code >= (uintptr_t)__executable_start && code < (uintptr_t)etext ? WIDE : WIDEST);

	for (size_t i = place; i < end && i < watch.size; i++)
		watch.is_read[i] = 1;
	watch.open[watch.open_count] = at - (uintptr_t)at % HP_PAGE;
	mprotect(watch.open[watch.open_count++], HP_PAGE, PROT_READ);
	where->uc_mcontext.gregs[REG_EFL] |=
		0x100;	/* the trap flag: one instruction, then on_step */
}

static void on_step(int signal, siginfo_t *info, void *context)
{
	ucontext_t *where = context;

	(void)signal, (void)info;
	while (watch.open_count)
		mprotect(watch.open[--watch.open_count], HP_PAGE, PROT_NONE);
	where->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

static void reads_find(struct run *run, uint8_t *is_read)
{
	struct sigaction access = { .sa_sigaction = on_access, .sa_flags = SA_SIGINFO };
	struct sigaction step = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	watch.bytes = run->bytes;
	watch.size = run->size;
	watch.is_read = is_read;
	sigaction(SIGSEGV, &access, &watch.before);
	sigaction(SIGTRAP, &step, NULL);
	mprotect(run->bytes, run->size, PROT_NONE);
	run->look(run, true);
	mprotect(run->bytes, run->size, PROT_READ | PROT_WRITE);
	sigaction(SIGSEGV, &watch.before, NULL);
	signal(SIGTRAP, SIG_DFL);
}

/* First the bytes that are read, then the sample of the others. */
static void places_find(struct run *run)
{
	uint8_t *is_read = calloc(run->size, 1);

	run->places = malloc(run->size * sizeof(*run->places));
	if (!is_read || !run->places)
		abort();
	reads_find(run, is_read);
	for (size_t i = 0; i < run->size; i++)
		if (is_read[i])
			run->places[run->place_count++] = i;
	run->read_count = run->place_count;
	for (size_t i = 0; i < run->size; i++)
		if (!is_read[i] && (i / SAMPLE + i % SAMPLE) % SAMPLE == 0)
			run->places[run->place_count++] = i;
	free(is_read);
}
#endif

static void places_all(struct run *run)
{
	run->places = malloc(run->size * sizeof(*run->places));
	if (!run->places)
		abort();
	for (size_t i = 0; i < run->size; i++)
		run->places[i] = i;
	run->place_count = run->read_count = run->size;
}

#if !defined(__x86_64__)
/* Elsewhere all count as read: that takes four times as long. */
static void places_find(struct run *run)
{
	places_all(run);
}
#endif

/* --- readers --- */

/* The length of the used part of a file; its header may claim another one. */
static uint64_t look_segment(const struct run *run, bool with_exports)
{
	struct hp_header *header = (struct hp_header *)run->bytes;
	struct hp_segment segment = { .header = header, .fd = -1, .is_lent = true };
	const struct fuzz_base *base = fuzz_base();

	if (hp_segment_check(header, run->size) != HP_SEGMENT_FINE)
		return 0;
	segment.size = header->size < run->size ? header->size : run->size;
	segment.records_most = base->kept.segment.records_most;
	return fuzz_views(base, &segment, with_exports);
}

static uint64_t look_kept(const struct run *run, bool with_exports)
{
	(void)with_exports;
	LLVMFuzzerTestOneInput(run->bytes, run->size);
	return 0;
}

/* --- runs --- */

static uint8_t changed(uint8_t byte, enum value value)
{
	static const uint8_t bits[VALUES] = { 0x01, 0x80, 0xff, 0 };

	return value == VALUE_ZERO ? 0 : byte ^ bits[value];
}

static void try(const struct run *run, size_t number)
{
	struct itimerval limit = { .it_value.tv_sec = SECONDS_MAX };
	enum value value = number % VALUES;
	size_t place = run->places[number / VALUES];
	uint8_t byte = run->bytes[place], other = changed(byte, value);

	if (other == byte)
		return;
	run->bytes[place] = other;
	mprotect(run->bytes, run->size, PROT_READ);
	setitimer(ITIMER_PROF, &limit, NULL);
	/* For one of the values, also the views made from the same data as the tables. */
	uint64_t sum = run->look(run, value == VALUE_ALL);
	mprotect(run->bytes, run->size, PROT_READ | PROT_WRITE);
	run->bytes[place] = byte;
	if (number / VALUES >= run->read_count && sum != run->expected)
		run->progress->differ++;
	run->progress->made++;
}

static void tell_end(const struct run *run, int status)
{
	size_t number = run->progress->next, place = run->places[number / VALUES];

	fprintf(stderr, "flip: byte %zu, 0x%02x instead of 0x%02x: ", place,
		changed(run->bytes[place], number % VALUES), run->bytes[place]);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
		fprintf(stderr, "not done after %d s\n", SECONDS_MAX);
	else if (WIFSIGNALED(status))
		fprintf(stderr, "%s\n", strsignal(WTERMSIG(status)));
	else
		fprintf(stderr, "exit status %d\n", WEXITSTATUS(status));
}

/* Returns how many runs ended the child. */
static unsigned try_all(struct run *run, size_t step, size_t from)
{
	size_t end = run->place_count * VALUES;
	unsigned ends = 0;
	int status;

	for (run->progress->next = from * VALUES; run->progress->next < end;
	     run->progress->next++) {
		pid_t child = fork();

		if (child < 0)
			abort();
		while (child == 0) {
			try(run, run->progress->next);
			/* The next value, or the next byte to change. */
			run->progress->next +=
				(run->progress->next + 1) % VALUES ? 1 : (step - 1) * VALUES + 1;
			if (run->progress->next >= end)
				_exit(0);
		}
		if (waitpid(child, &status, 0) == child && status != 0) {
			tell_end(run, status);
			ends++;
		}
	}
	return ends;
}

/* --- where the bytes come from --- */

static uint8_t *pages(size_t size)
{
	uint8_t *bytes = mmap(NULL, size + !size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes == MAP_FAILED)
		abort();
	return bytes;
}

static void take_segment(struct run *run)
{
	const struct fuzz_base *base = fuzz_base();

	run->size = base->used;
	run->bytes = pages(run->size);
	memcpy(run->bytes, base->kept.segment.header, run->size);
	run->look = look_segment;
	run->expected = run->look(run, false);
	places_find(run);
}

/* The file, unpacked by zlib or as it is. */
static void take_file(struct run *run, bool is_unpacked)
{
	int fd = open(getenv("FUZZ_BASE") ? getenv("FUZZ_BASE") : "", O_RDONLY | O_CLOEXEC);
	uint8_t *bytes = pages(INPUT_MAX);
	gzFile in = is_unpacked && fd >= 0 ? gzdopen(dup(fd), "rb") : NULL;
	ssize_t got = in ? gzread(in, bytes, INPUT_MAX) : read(fd, bytes, INPUT_MAX);

	if (got <= 0) {
		fprintf(stderr, "flip: FUZZ_BASE: %s\n", strerror(errno));
		exit(1);
	}
	if (in)
		gzclose(in);
	close(fd);
	run->size = (size_t)got;
	run->bytes = bytes;
	run->look = look_kept;
	places_all(run);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	size_t step = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	struct run run = { .progress = mmap(NULL, sizeof(*run.progress), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0) };

	if (run.progress == MAP_FAILED)
		abort();
	if (strcmp(what, "segment") == 0) {
		take_segment(&run);
	} else if (strcmp(what, "kept") == 0 || strcmp(what, "packed") == 0) {
		take_file(&run, strcmp(what, "kept") == 0);
	} else {
		fprintf(stderr, "usage: flip segment|kept|packed [STEP [FROM]]\n");
		return 2;
	}
	step = step ? step : 1;
	unsigned ends = try_all(&run, step,
				(argc > 3 ? strtoul(argv[3], NULL, 10) : (size_t)getpid()) % step);
	printf("%s: %zu bytes, %zu of them read, %zu runs, %u ended early", what, run.size,
	       run.read_count, run.progress->made, ends);
	if (run.place_count > run.read_count)
		printf("; of %zu bytes that are not read %zu made a difference",
		       run.place_count - run.read_count, run.progress->differ);
	printf("\n");
	return ends || run.progress->differ || !run.progress->made;
}
