/* SPDX-License-Identifier: MIT */
/*
 * whole.c - see whole.h.
 */
#include "sampler/perf/whole.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sampler/base/proc.h"

#define LEAST_NS UINT64_C(100000000)	/* of CPU time: before that nothing is known */
/*
 * Its own, those that its successor had begun, and as many again for ends whose
 * records were lost.
 */
#define END_PERIODS 4
#define FIELD_USER 14	/* of proc(5), "stat": utime, stime, cutime, cstime */
#define FIELD_THREADS 20

bool hp_whole_use(uint32_t pid, struct hp_whole_use *use)
{
	char path[64], text[1024];
	long rate = sysconf(_SC_CLK_TCK);
	uint64_t ticks = 0;

	hp_proc_path(path, pid, "stat");
	if (hp_proc_read(path, text, sizeof(text)) <= 0)
		return false;
	/* The name, field 2, may have blanks and brackets. */
	char *at = strrchr(text, ')');
	for (int field = 3; at && field < FIELD_USER; field++)
		at = strchr(at + 1, ' ');
	if (!at || !(at = strchr(at + 1, ' ')))
		return false;
	for (int i = 0; i < 4; i++)
		ticks += strtoull(at, &at, 10);
	for (int field = FIELD_USER + 4; field < FIELD_THREADS; field++)
		strtoll(at, &at, 10);
	use->threads = (uint32_t)strtoul(at, NULL, 10);
	use->cpu_ns = ticks * (UINT64_C(1000000000) / (uint64_t)(rate > 0 ? rate : 100));
	return true;
}

bool hp_whole_is_wanted(struct hp_whole *whole, const struct hp_whole_use *use, uint64_t sampled_ns,
			uint64_t period_ns)
{
	if (!whole->is_begun) {
		whole->is_begun = true;
		whole->cpu_ns = use->cpu_ns;
		whole->sampled_ns = sampled_ns;
		whole->ended = use->ended;
	}
	uint64_t cpu_ns = use->cpu_ns - whole->cpu_ns;
	uint64_t missed_ns, sampled = sampled_ns - whole->sampled_ns;

	if (whole->is_refused || use->cpu_ns < whole->cpu_ns || cpu_ns <= sampled)
		return false;
	missed_ns = cpu_ns - sampled;
	return missed_ns >= LEAST_NS && missed_ns >= 2 * period_ns * use->threads &&
	       missed_ns >= cpu_ns / 3 &&
	       missed_ns <= (uint64_t)(use->ended - whole->ended) * period_ns * END_PERIODS;
}

static void close_all(struct hp_whole *whole)
{
	for (uint32_t i = 0; i < whole->count; i++)
		close(whole->fds[i]);
	whole->count = 0;
}

static void report_set(struct perf_event_attr *attr, bool reports)
{
	attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = attr->task = reports;
}

static int open_all(struct hp_whole *whole, const struct hp_perf_rings *rings)
{
	for (uint32_t i = 0; i < rings->count; i++) {
		int fd = hp_perf_open(&whole->attr, -1, (int)rings->list[i].cpu, -1);

		if (fd < 0)
			return fd;
		whole->fds[whole->count++] = fd;
		if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, rings->list[i].fd) < 0)
			return -errno;
	}
	return 0;
}

int hp_whole_open(struct hp_whole *whole, const struct perf_event_attr *attr,
		  const struct hp_perf_rings *rings, uint64_t hz)
{
	int error = -ENOMEM;

	whole->attr = *attr;
	whole->attr.freq = hz != 0;
	whole->attr.sample_freq = hz;
	whole->attr.disabled = 1;
	whole->attr.inherit = 0;
	whole->attr.exclude_idle = 1;
	/* The threads' own events report these. */
	report_set(&whole->attr, false);
	whole->attr.context_switch = 0;
	whole->fds = calloc(rings->count, sizeof(*whole->fds));
	if (whole->fds)
		error = open_all(whole, rings);
	if (error) {
		hp_whole_release(whole);
		whole->is_refused = true;
	}
	return error;
}

void hp_whole_begin(struct hp_whole *whole)
{
	whole->attr.disabled = 0;
	for (uint32_t i = 0; i < whole->count; i++)
		ioctl(whole->fds[i], PERF_EVENT_IOC_ENABLE, 0);
}

/* The old events are closed last: no report is missed. */
static int open_again(struct hp_whole *whole, const struct hp_perf_rings *rings)
{
	struct hp_whole old = *whole;
	int error = -ENOMEM;

	whole->count = 0;
	whole->fds = calloc(rings->count, sizeof(*whole->fds));
	if (whole->fds)
		error = open_all(whole, rings);
	struct hp_whole *loser = error ? whole : &old;
	close_all(loser);
	free(loser->fds);
	if (error) {
		whole->fds = old.fds;
		whole->count = old.count;
	}
	return error;
}

int hp_whole_report(struct hp_whole *whole, const struct hp_perf_rings *rings, bool reports)
{
	int error;

	report_set(&whole->attr, reports);
	error = open_again(whole, rings);
	if (error)
		report_set(&whole->attr, !reports);
	return error;
}

void hp_whole_resize(struct hp_whole *whole, const struct hp_perf_rings *rings, uint32_t stack_size)
{
	if (!whole->fds)
		return;
	whole->attr.sample_stack_user = stack_size;
	open_again(whole, rings);
}

void hp_whole_release(struct hp_whole *whole)
{
	close_all(whole);
	free(whole->fds);
	whole->fds = NULL;
}
