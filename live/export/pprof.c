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

#include "live/answer/cpu_snapshot.h"
#include "live/answer/report_snapshot.h"
#include "report/section/cpu/cpu.h"
#include "report/export/export.h"
#include "report/base/memory.h"

#define SECONDS_MAX 3600

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
	return hp_pprof_span_ns(request) ? hp_cpu_seen_new(&snapshot->report) : NULL;
}

struct hp_answer *hp_pprof_cpu_end(struct hp_snapshot *snapshot, const struct hp_request *request,
				   void *begun)
{
	struct hp_answer *answer = missing(snapshot, "pprof");
	struct hp_cpu_seen *seen = begun;

	(void)request;
	if (!answer && seen && hp_target_is_live(&snapshot->target) && !hp_snapshot_renew(snapshot))
		answer = hp_answer_error(404, NULL, "the program has ended");
	if (!answer && seen) {
		hp_cpu_seen_take_off(&snapshot->report, seen);
		snapshot->report.model.reader.header.created_unix_ns += (int64_t)seen->elapsed_ns;
	}
	if (!answer) {
		answer = exported(snapshot, hp_export_pprof);
		if (seen)
			hp_snapshot_drop(snapshot);
	}
	free(seen);
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
