/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - the sampler's handling of kernel records, repeated.
 *
 *   stacks record FILE HZ COMMAND...   runs the command and keeps its records, stacks of 32 KiB with them
 *   stacks replay FILE [ROUNDS]        ns a sample, least of the rounds; and a hash of all stacks found
 *
 * They are put into a ring as large as root's on one processor and read on another, as if the
 * program and the sampler had one each. The hash covers each sample's frames in order, so two
 * builds with equal hashes found the same stacks. Linked with the objects of sampler/, see
 * samples.sh.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sampler/perf/ring.h"
#include "sampler/sample/sample.h"

#define RING_SIZE ((size_t)8 << 20)
#define STACK_SIZE 32768	/* the sampler's total for a compiler: 16 KiB would truncate 2.4 % */
#define SAMPLE_TYPE \
	(HP_PERF_COMMON | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER | \
	 PERF_SAMPLE_STACK_USER)

/* ---- record ---- */

static void keep(void *file, const struct perf_event_header *record)
{
	fwrite(record, record->size, 1, file);
}

static int event_open(const struct hp_perf_ring *ring, pid_t pid, uint64_t hz)
{
	struct perf_event_attr attr;
	int fd;

	hp_perf_attr_init(&attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	attr.sample_type = SAMPLE_TYPE;
	attr.sample_regs_user = HP_SAMPLE_REGISTERS;
	attr.sample_stack_user = STACK_SIZE;
	attr.exclude_callchain_user = 1;
	attr.exclude_kernel = 1;
	attr.freq = attr.inherit = attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task =
		1;
	attr.sample_freq = hz;
	fd = hp_perf_open(&attr, pid, (int)ring->cpu, -1);
	return fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0 ? -1 : 0;
}

static int record(const char *path, uint64_t hz, char **command)
{
	struct hp_perf_rings rings;
	FILE *file = fopen(path, "w");
	int go[2], status;
	char byte;

	if (!file || pipe2(go, O_CLOEXEC) < 0 || hp_perf_rings_init(&rings, RING_SIZE) < 0)
		return 1;
	pid_t pid = fork();
	if (pid == 0) {
		if (read(go[0], &byte, 1) == 1)
			execvp(command[0], command);
		_exit(127);
	}
	for (uint32_t i = 0; i < rings.count; i++)
		if (event_open(&rings.list[i], pid, hz) < 0) {
			perror("stacks: perf_event_open");
			return 1;
		}
	if (write(go[1], "", 1) != 1)
		return 1;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		hp_perf_rings_read(&rings, UINT64_MAX - 1, keep, file);
		usleep(20000);
	}
	hp_perf_rings_read(&rings, UINT64_MAX - 1, keep, file);
	return fclose(file) != 0;
}

/* ---- replay ---- */

struct round {
	uint64_t hash;
	uint64_t samples;
	uint64_t complete;
	uint64_t cut;	/* longer than the copy */
	uint64_t nodes;
	double ns;	/* of all samples */
};

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
	return hash ^ hash >> 31;
}

/* Over all samples in order, innermost frame first. */
static uint64_t stacks_hash(const struct hp_samples *samples, const struct hp_segment *segment)
{
	uint64_t hash = 0, at = samples->record->events;
	const struct hp_event_chunk *chunk;

	for (; (chunk = hp_segment_at(segment, at, sizeof(*chunk))); at = chunk->next)
		for (uint32_t i = 0; i < chunk->count; i++)
			for (uint32_t n = chunk->events[i].node; n;) {
				const struct hp_stack_node *node =
					hp_sample_tree_node(&samples->tree, n);

				hash = mix(hash, node->address);
				n = node->parent;
				hash = mix(hash, n == 0);
			}
	return hash;
}

/* Moves to the program's processor, or to the sampler's; no effect if there is only one. */
static void move_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* As much of the records as a ring holds when it wakes its reader; returns where they end. */
static size_t ring_fill(struct hp_perf_ring *ring, const uint8_t *bytes, size_t at, size_t size)
{
	uint64_t head = ring->page->data_head;

	move_to(1);
	while (at < size && head - ring->page->data_tail < RING_SIZE / 4) {
		const struct perf_event_header *header = (const void *)(bytes + at);
		size_t place = (size_t)(head & (RING_SIZE - 1));
		size_t first = RING_SIZE - place < header->size ? RING_SIZE - place : header->size;

		memcpy(ring->data + place, bytes + at, first);
		memcpy(ring->data, bytes + at + first, header->size - first);
		head += header->size;
		at += header->size;
	}
	ring->page->data_head = head;
	move_to(0);
	return at;
}

static int replay_once(struct hp_perf_rings *rings, const uint8_t *bytes, size_t size,
		       struct round *result)
{
	static struct hp_samples samples;
	struct hp_segment segment;
	struct hp_segment_wish wish = { .size = (uint64_t)2 << 30, .path = NULL };
	double start, ns = 0;

	if (hp_segment_create(&segment, &wish) < 0)
		return 1;
	uint64_t offset = hp_segment_take(&segment, sizeof(struct hp_sampling), HP_LINE);
	struct hp_sampling *sampling = hp_segment_at(&segment, offset, sizeof(*sampling));
	if (!sampling || !hp_samples_init(&samples, &segment, sampling))
		return 1;
	samples.sample_type = SAMPLE_TYPE;
	for (size_t at = 0; at < size;) {
		at = ring_fill(rings->list, bytes, at, size);
		start = cpu_ns();
		hp_perf_rings_read(rings, UINT64_MAX - 1, hp_samples_handle, &samples);
		ns += cpu_ns() - start;
	}
	*result = (struct round){ .samples = sampling->samples,
				  .complete = sampling->complete,
				  .cut = sampling->cut,
				  .nodes = sampling->node_count,
				  .ns = ns,
				  .hash = stacks_hash(&samples, &segment) };
	hp_samples_release(&samples);
	hp_segment_release(&segment);
	return 0;
}

static int replay(const char *path, long rounds)
{
	int fd = open(path, O_RDONLY);
	static struct perf_event_mmap_page page;
	struct hp_perf_ring ring = { .fd = -1, .page = &page, .size = RING_SIZE };
	struct hp_perf_rings rings = { .list = &ring, .ahead = hp_samples_ahead, .count = 1 };
	struct round best = { .ns = 1e300 }, now;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return 1;
	uint8_t *bytes =
		mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	ring.data = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	rings.copy = malloc(HP_PERF_RECORD_MAX);
	if (bytes == MAP_FAILED || ring.data == MAP_FAILED || !rings.copy)
		return 1;
	for (long i = 0; i < rounds; i++) {
		if (replay_once(&rings, bytes, (size_t)status.st_size, &now))
			return 1;
		if (now.ns < best.ns)
			best = now;
	}
	printf("%.0f ns a sample, %lu samples, %.2f %% complete (longer than the copy %.2f), %lu nodes, "
	       "hash %016lx\n",
	       best.ns / (double)best.samples, best.samples,
	       100 * (double)best.complete / (double)best.samples,
	       100 * (double)best.cut / (double)best.samples, best.nodes, best.hash);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 4 && strcmp(argv[1], "record") == 0)
		return record(argv[2], strtoull(argv[3], NULL, 10), argv + 4);
	if (argc > 2 && strcmp(argv[1], "replay") == 0)
		return replay(argv[2], argc > 3 ? strtol(argv[3], NULL, 10) : 5);
	fputs("usage: stacks record FILE HZ COMMAND... | replay FILE [ROUNDS]\n", stderr);
	return 2;
}
