/* SPDX-License-Identifier: MIT */
/*
 * ring.c - see ring.h.
 */
#include "sampler/perf/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/proc.h"

#define SIZE_MIN (size_t)65536
#define MORE_MIN (size_t)131072
#define WAKE_SHARE 4	/* of a ring, when we are woken */
#define CPUS_MAX 4096
#define MLOCK_KB "/proc/sys/kernel/perf_event_mlock_kb"
#define LINE 64	/* of the processor's cache */

void hp_perf_attr_init(struct perf_event_attr *attr, uint32_t type, uint64_t config)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = type;
	attr->config = config;
	attr->sample_type = HP_PERF_COMMON;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC_RAW;
	attr->watermark = 1;
	attr->wakeup_watermark = (uint32_t)SIZE_MIN / WAKE_SHARE;
	attr->exclude_hv = 1;
}

int hp_perf_open(struct perf_event_attr *attr, int pid, int cpu, int group)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* ---- creation ---- */

static int ring_map(struct hp_perf_ring *ring, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *base = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	ring->page = base;
	ring->data = (uint8_t *)base + page;
	ring->size = size;
	return 0;
}

static void ring_unmap(struct hp_perf_ring *ring)
{
	if (ring->page)
		munmap(ring->page, (size_t)(ring->data - (uint8_t *)ring->page) + ring->size);
	ring->page = NULL;
}

/* All have the same size: a thread may run on any CPU. */
static int rings_map(struct hp_perf_rings *rings, uint32_t first, size_t size)
{
	int error = 0;

	for (uint32_t i = first; i < rings->all && !error; i++)
		error = ring_map(&rings->list[i], size);
	for (uint32_t i = first; i < rings->all && error; i++)
		ring_unmap(&rings->list[i]);
	return error;
}

static bool may_lock(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	return syscall(SYS_capget, &header, data) == 0 &&
	       data[0].effective & UINT32_C(1) << CAP_IPC_LOCK;
}

/*
 * The share of a ring in what an ordinary user may lock (perf_mmap in the kernel): mlock_kb for
 * each CPU and user, and beyond that RLIMIT_MEMLOCK. Other sessions may have some of it.
 */
static size_t size_fair(uint32_t rings, size_t size)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), all;
	struct rlimit locked;
	long kb;

	if (may_lock() || !rings || !hp_proc_read_number(MLOCK_KB, &kb) || kb < 0 ||
	    getrlimit(RLIMIT_MEMLOCK, &locked) < 0)
		return size;
	all = ((uint64_t)kb << 10) * rings;
	all = locked.rlim_cur > UINT64_MAX / 2 ? UINT64_MAX / 2 : all + locked.rlim_cur;
	while (size > SIZE_MIN && size + page > all / rings)
		size /= 2;
	return size;
}

static int ring_init(struct hp_perf_ring *ring, uint32_t cpu, size_t size)
{
	struct perf_event_attr attr;

	hp_perf_attr_init(&attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	attr.exclude_kernel = 1;
	attr.comm = 1;	/* for hp_perf_rings_settle */
	attr.wakeup_watermark = (uint32_t)(size / WAKE_SHARE);
	*ring = (struct hp_perf_ring){ .cpu = cpu, .time = UINT64_MAX };
	ring->fd = hp_perf_open(&attr, 0, (int)cpu, -1);
	return ring->fd < 0 ? ring->fd : 0;
}

/* The numbers of online CPUs: "0-3,8". */
static uint32_t online(uint32_t *cpus, uint32_t most)
{
	char text[1024];
	int fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	uint32_t count = 0;
	char *at = text;

	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = '\0';
	while (*at >= '0' && *at <= '9') {
		unsigned long from = strtoul(at, &at, 10), to = from;

		if (*at == '-')
			to = strtoul(at + 1, &at, 10);
		for (; from <= to && count < most; from++)
			cpus[count++] = (uint32_t)from;
		at += *at == ',';
	}
	for (long i = 0; !count && i < sysconf(_SC_NPROCESSORS_ONLN) && i < (long)most; i++)
		cpus[i] = (uint32_t)i;
	return count ? count : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Without them, those of the CPUs have all records. */
static bool second_init(struct hp_perf_rings *rings, size_t size)
{
	int error = 0;

	for (uint32_t i = 0; i < rings->count && !error; i++) {
		error = ring_init(&rings->list[rings->all], rings->list[i].cpu, size);
		rings->all += !error;
	}
	while (error && rings->all > rings->count)
		close(rings->list[--rings->all].fd);
	return !error;
}

bool hp_perf_rings_more(struct hp_perf_rings *rings)
{
	size_t size = rings->list[0].size;

	if (rings->has_waits || rings->is_more_refused)
		return false;
	if (rings->all > rings->count)
		return true;
	rings->is_more_refused = size < MORE_MIN || !second_init(rings, size);
	while (!rings->is_more_refused && rings_map(rings, rings->count, size)) {
		size /= 2;
		rings->is_more_refused = size < MORE_MIN;
	}
	while (rings->is_more_refused && rings->all > rings->count)
		close(rings->list[--rings->all].fd);
	return !rings->is_more_refused;
}

const struct hp_perf_ring *hp_perf_rings_waits(const struct hp_perf_rings *rings,
					       const struct hp_perf_ring *ring)
{
	return rings->has_waits ? ring + rings->count : ring;
}

uint64_t hp_perf_rings_switches(const struct hp_perf_rings *rings, uint32_t cpu)
{
	uint64_t switches = 0;

	for (uint32_t i = cpu; i < rings->all; i += rings->count)
		switches += rings->list[i].switches;
	return switches;
}

void hp_perf_rings_recount(struct hp_perf_rings *rings)
{
	for (uint32_t i = 0; i < rings->all; i++)
		rings->list[i].switches = 0;
}

int hp_perf_rings_init(struct hp_perf_rings *rings, size_t size, bool has_waits)
{
	static uint32_t cpus[CPUS_MAX];
	uint32_t count = online(cpus, CPUS_MAX);
	int error = 0;

	size = size_fair(count, size);
	memset(rings, 0, sizeof(*rings));
	rings->list = calloc(2 * (size_t)count, sizeof(*rings->list));
	rings->copy = malloc(HP_PERF_RECORD_MAX);
	if (!rings->list || !rings->copy)
		error = -ENOMEM;
	for (uint32_t i = 0; i < count && !error; i++) {
		error = ring_init(&rings->list[rings->count], cpus[i], size);
		rings->count++;
		/* A CPU may go off-line at any time. */
		if (error == -ENODEV) {
			rings->count--;
			error = 0;
		}
	}
	if (!error && !rings->count)
		error = -ENODEV;
	rings->all = rings->count;
	if (!error && has_waits && may_lock())
		rings->has_waits = second_init(rings, size);
	for (; !error && (error = rings_map(rings, 0, size)) && size > SIZE_MIN; size /= 2)
		error = 0;
	if (error)
		hp_perf_rings_release(rings);
	return error;
}

void hp_perf_rings_release(struct hp_perf_rings *rings)
{
	for (uint32_t i = 0; i < rings->all; i++) {
		struct hp_perf_ring *ring = &rings->list[i];

		ring_unmap(ring);
		if (ring->fd >= 0)
			close(ring->fd);
	}
	free(rings->list);
	free(rings->copy);
	memset(rings, 0, sizeof(*rings));
}

/* ---- reading ---- */

static void bytes_at(const struct hp_perf_ring *ring, uint64_t place, void *to, size_t size)
{
	size_t at = (size_t)(place & (ring->size - 1));
	size_t first = ring->size - at < size ? ring->size - at : size;

	memcpy(to, ring->data + at, first);
	memcpy((uint8_t *)to + first, ring->data, size - first);
}

/* Reads the record at the tail. */
static void ring_peek(struct hp_perf_ring *ring)
{
	struct perf_event_header header;

	ring->time = UINT64_MAX;
	if (ring->head - ring->tail < sizeof(header))
		return;
	bytes_at(ring, ring->tail, &header, sizeof(header));
	if (header.size < sizeof(header) || header.size > ring->head - ring->tail) {
		ring->tail = ring->head;	/* impossible: the rest is invalid */
		return;
	}
	/* After identifier, ip, pid and tid; else before the identifier at the end. */
	bytes_at(ring, ring->tail + (header.type == PERF_RECORD_SAMPLE ? 32u : header.size - 16u),
		 &ring->time, sizeof(ring->time));
}

static void ring_begin(struct hp_perf_ring *ring)
{
	/* Acquire: the kernel publishes the head after the records. */
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);

	ring->tail = ring->page->data_tail;
	if (head != ring->head)
		ring->is_tight = head - ring->tail > ring->size - HP_PERF_RECORD_MAX;
	ring->head = head;
	ring_peek(ring);
}

static const struct perf_event_header *ring_record(struct hp_perf_rings *rings,
						   struct hp_perf_ring *ring)
{
	size_t at = (size_t)(ring->tail & (ring->size - 1));
	const struct perf_event_header *record = (const void *)(ring->data + at);

	/* Records are multiples of 8 bytes: a header is never torn. */
	if (ring->size - at >= record->size)
		return record;
	bytes_at(ring, ring->tail, rings->copy, record->size);
	return (const void *)rings->copy;
}

/* The record at a place, if it is contiguous. */
static const struct perf_event_header *whole_at(const struct hp_perf_ring *ring, uint64_t place)
{
	uint64_t left = ring->head - place;
	size_t at = (size_t)(place & (ring->size - 1));
	const struct perf_event_header *record = (const void *)(ring->data + at);

	if (left < sizeof(*record) || record->size < sizeof(*record) || record->size > left ||
	    record->size > ring->size - at)
		return NULL;
	return record;
}

/* Records were written by another processor, so the first access to each takes long. */
static void look_ahead(const struct hp_perf_rings *rings, const struct hp_perf_ring *ring,
		       void *context)
{
	const struct perf_event_header *record = whole_at(ring, ring->tail);
	uint64_t place = ring->tail;

	for (unsigned steps = 1; record; steps++) {
		place += record->size;
		if (steps > HP_PERF_AHEAD)
			break;
		record = whole_at(ring, place);
		if (record)
			rings->ahead(context, record, steps);
	}
	if (record && ring->head - place > 2 * LINE) {
		const uint8_t *begin = ring->data + (place & (ring->size - 1));

		__builtin_prefetch(begin - sizeof(uint64_t));
		__builtin_prefetch(begin);
		__builtin_prefetch(begin + LINE);
	}
}

static struct hp_perf_ring *oldest(struct hp_perf_rings *rings)
{
	struct hp_perf_ring *best = &rings->list[0];

	for (uint32_t i = 1; i < rings->all; i++)
		if (rings->list[i].time < best->time)
			best = &rings->list[i];
	return best;
}

uint64_t hp_perf_rings_read(struct hp_perf_rings *rings, uint64_t until, hp_perf_handler handler,
			    void *context)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < rings->all; i++)
		ring_begin(&rings->list[i]);
	while (rings->count) {
		struct hp_perf_ring *ring = oldest(rings);
		const struct perf_event_header *record;

		if (ring->time == UINT64_MAX || ring->time > until)
			break;
		record = ring_record(rings, ring);
		uint16_t size = record->size;
		if (rings->ahead)
			look_ahead(rings, ring, context);
		uint64_t switches = rings->switches ? *rings->switches : 0;
		rings->is_of_waits = rings->has_waits && ring - rings->list >= rings->count;
		handler(context, record);
		ring->switches += rings->switches ? *rings->switches - switches : 0;
		ring->tail += size;
		/* Release: the kernel may write there now. */
		__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
		ring_peek(ring);
		count++;
	}
	return count;
}

/* A record of our own in the ring of a CPU: our name, which does not change. */
static void ring_write(const struct hp_perf_ring *ring)
{
	char name[16] = "";
	cpu_set_t set;

	CPU_ZERO(&set);
	if (ring->cpu >= CPU_SETSIZE)
		return;
	CPU_SET(ring->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) == 0 && prctl(PR_GET_NAME, name) == 0)
		prctl(PR_SET_NAME, name);
}

uint64_t hp_perf_rings_settle(struct hp_perf_rings *rings, hp_perf_handler handler, void *context)
{
	cpu_set_t before;
	bool is_moved = false;
	uint64_t count = hp_perf_rings_read(rings, UINT64_MAX - 1, handler, context);

	for (uint32_t i = 0; i < rings->all; i++) {
		if (!rings->list[i].is_tight)
			continue;
		if (!is_moved && sched_getaffinity(0, sizeof(before), &before) < 0)
			break;
		is_moved = true;
		ring_write(&rings->list[i]);
	}
	if (!is_moved)
		return count;
	sched_setaffinity(0, sizeof(before), &before);
	return count + hp_perf_rings_read(rings, UINT64_MAX - 1, handler, context);
}
