/* SPDX-License-Identifier: MIT */
/*
 * pprof.c - see pprof.h.
 *
 * The profile of a time span is the difference between two refreshes: stacks
 * keep their numbers, so their initial values are subtracted.
 */
#include "live/export/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "live/answer/report_snapshot.h"
#include "report/section/cpu/cpu.h"
#include "report/export/export.h"
#include "report/base/memory.h"

#define SECONDS_MAX 3600

/* Initial values of each stack. */
struct begun {
	size_t count;
	uint64_t *samples;
	uint64_t *cpu_ns;
	uint64_t elapsed_ns;
};

/* The content of a memory file as an answer; closes it. */
static struct hp_answer *answer_of(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *body = hp_xmalloc(size > 0 ? (size_t)size : 1);
	size_t done = 0;
	ssize_t got;

	while (size > 0 && done < (size_t)size &&
	       (got = pread(fd, body + done, (size_t)size - done, (off_t)done)) > 0)
		done += (size_t)got;
	close(fd);
	return hp_answer_new(200, HP_TYPE_BYTES, body, done);
}

static struct hp_answer *exported(struct hp_snapshot *snapshot,
				  int (*write)(struct hp_report *report, int fd))
{
	int fd = memfd_create("hotpath-profile", MFD_CLOEXEC);
	int error = fd < 0 ? -errno : write(&snapshot->report, fd);

	if (!error)
		return answer_of(fd);
	if (fd >= 0)
		close(fd);
	return hp_answer_error(500, NULL, "The profile cannot be made: %s", strerror(-error));
}

/* NULL = exportable; else the error answer. */
static struct hp_answer *missing(struct hp_snapshot *snapshot, const char *format)
{
	const struct hp_export *export = hp_export_find(format);
	const char *why = export ? export->missing(&snapshot->report) : NULL;

	return why ? hp_answer_error(404, "hotpath doctor says what this machine allows", "%s", why)
		   : NULL;
}

uint64_t hp_pprof_span_ns(const struct hp_request *request)
{
	return hp_request_number(request, "seconds", 0, SECONDS_MAX) * UINT64_C(1000000000);
}

void *hp_pprof_cpu_begin(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	const struct hp_model_sampling *sampling = &snapshot->report.model.sampling;
	size_t count = hp_pprof_span_ns(request) ? sampling->stack_count : 0;
	/* One allocation, so that it can be freed without calling the end. */
	struct begun *begun = hp_xmalloc(sizeof(*begun) + 2 * count * sizeof(uint64_t));

	begun->count = count;
	begun->samples = (uint64_t *)(begun + 1);
	begun->cpu_ns = begun->samples + count;
	begun->elapsed_ns = count ? snapshot->report.model.elapsed_ns : 0;
	for (size_t i = 0; i < count; i++) {
		begun->samples[i] = sampling->stacks[i].samples;
		begun->cpu_ns[i] = sampling->stacks[i].cpu_ns;
	}
	return begun;
}

/* Afterwards the report only serves this answer. */
static void take_off(struct hp_report *report, const struct begun *begun)
{
	struct hp_model_sampling *sampling = &report->model.sampling;

	hp_model_sampling_spoil(sampling);
	for (size_t i = 0; i < begun->count && i < sampling->stack_count; i++) {
		struct hp_model_stack *stack = &sampling->stacks[i];

		stack->samples -=
			stack->samples < begun->samples[i] ? stack->samples : begun->samples[i];
		stack->cpu_ns -=
			stack->cpu_ns < begun->cpu_ns[i] ? stack->cpu_ns : begun->cpu_ns[i];
	}
	report->model.reader.header.created_unix_ns += (int64_t)begun->elapsed_ns;
	report->model.elapsed_ns -= begun->elapsed_ns;
}

struct hp_answer *hp_pprof_cpu_end(struct hp_snapshot *snapshot, const struct hp_request *request,
				   void *context)
{
	struct begun *begun = context;
	struct hp_answer *answer = missing(snapshot, "pprof");

	(void)request;
	if (!answer && begun->count && hp_target_is_live(&snapshot->target) &&
	    !hp_snapshot_renew(snapshot))
		answer = hp_answer_error(404, NULL, "the program has ended");
	if (!answer) {
		take_off(&snapshot->report, begun);
		answer = exported(snapshot, hp_export_pprof);
		if (begun->count)
			hp_snapshot_drop(snapshot);
	}
	free(begun);
	return answer;
}

struct hp_answer *hp_pprof_heap(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	struct hp_answer *answer = missing(snapshot, "pprof-heap");

	(void)request;
	return answer ? answer : exported(snapshot, hp_export_pprof_heap);
}

struct hp_answer *hp_pprof_allocs(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	struct hp_answer *answer = missing(snapshot, "pprof-heap");

	(void)request;
	return answer ? answer : exported(snapshot, hp_export_pprof_allocs);
}

struct hp_answer *hp_pprof_mutex(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	(void)request;
	return exported(snapshot, hp_export_pprof_mutex);
}
