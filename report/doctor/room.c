/* SPDX-License-Identifier: MIT */
/*
 * room.c - how much can be recorded here: memory and its limits.
 *
 * The limits are those of this shell. Services and containers have their own,
 * so run the check there.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "report/doctor/check.h"
#include "report/base/format.h"
#include "report/base/memory.h"
#include "segment/segment.h"
#include "segment/setting.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

extern char **environ;

enum { SEGMENT_FINE, SEGMENT_SMALL, SEGMENT_NONE };

/* Creates one like the library, but not in a file. */
static size_t look_segment(struct hp_patient *patient, struct hp_finding *finding)
{
	struct hp_settings settings;
	struct hp_segment segment;
	struct hp_text_cell cell;

	(void)patient;
	hp_settings_read(&settings, environ, NULL, NULL);
	struct hp_segment_wish wish = { .size = settings.segment_size };
	int error = hp_segment_create(&segment, &wish);
	if (error) {
		finding->found =
			hp_xprintf("%s: %s", segment.failed ? segment.failed : "no shared memory",
				   strerror(-error));
		return SEGMENT_NONE;
	}
	uint64_t size = segment.size;
	bool is_memfd = !segment.header->careful;
	hp_segment_release(&segment);
	finding->found = hp_xprintf("%s of shared memory, allocated as it is used%s",
				    hp_format_bytes(&cell, size),
				    is_memfd ? "" : ", requested page by page");
	return size < settings.segment_size ? SEGMENT_SMALL : SEGMENT_FINE;
}

enum { LIMIT_NONE, LIMIT_SMALL, LIMIT_TOO_SMALL };

/* `share`: the segment takes 1/share of it. */
static size_t judge_limit(uint64_t limit, uint64_t share, const char *name,
			  struct hp_finding *finding)
{
	struct hp_text_cell cell;

	if (limit >> 60) {	/* cgroup v1's value for no limit */
		finding->found = hp_xprintf("%s: no limit", name);
		return LIMIT_NONE;
	}
	finding->found = hp_xprintf("%s: %s", name, hp_format_bytes(&cell, limit));
	if (limit / share < HP_SIZE_MIN)
		return LIMIT_TOO_SMALL;
	return limit / share < HP_SIZE_DEFAULT ? LIMIT_SMALL : LIMIT_NONE;
}

static uint64_t resource_limit(int resource)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

static size_t look_address_space(struct hp_patient *patient, struct hp_finding *finding)
{
	(void)patient;
	return judge_limit(resource_limit(RLIMIT_AS), 16, "RLIMIT_AS (ulimit -v)", finding);
}

static size_t look_file_size(struct hp_patient *patient, struct hp_finding *finding)
{
	(void)patient;
	return judge_limit(resource_limit(RLIMIT_FSIZE), 1, "RLIMIT_FSIZE (ulimit -f)", finding);
}

static size_t look_cgroup(struct hp_patient *patient, struct hp_finding *finding)
{
	(void)patient;
	return judge_limit(hp_segment_cgroup_limit(), 4, "memory limit of the cgroup", finding);
}

enum { OVERCOMMIT_FREE, OVERCOMMIT_STRICT, OVERCOMMIT_UNKNOWN };

static size_t look_overcommit(struct hp_patient *patient, struct hp_finding *finding)
{
	char *text = hp_first_line("/proc/sys/vm/overcommit_memory");

	(void)patient;
	if (!text) {
		finding->found = hp_xstrdup("vm.overcommit_memory cannot be read");
		return OVERCOMMIT_UNKNOWN;
	}
	finding->found = hp_xprintf("vm.overcommit_memory = %s", text);
	bool is_strict = text[0] == '2';
	free(text);
	return is_strict ? OVERCOMMIT_STRICT : OVERCOMMIT_FREE;
}

#define FULL "new functions and paths once it is full; a note counts them"

static const struct hp_check checks[] = {
	{ "segment",
	  look_segment,
	  { [SEGMENT_FINE] = { HP_LEVEL_OK, "there is room for the whole record", NULL, NULL },
	    [SEGMENT_SMALL] = { HP_LEVEL_LIMITED, "programs of some thousand functions", FULL,
				"raise the limits that follow" },
	    [SEGMENT_NONE] = { HP_LEVEL_FAILED, NULL, "every profile",
			       "raise the limits that follow" } } },
	{ "address-space",
	  look_address_space,
	  { [LIMIT_NONE] = { HP_LEVEL_OK, "the segment has its full size", NULL, NULL },
	    [LIMIT_SMALL] = { HP_LEVEL_LIMITED, "a segment of a sixteenth of it", FULL,
			      "ulimit -v $(ulimit -H -v); above that limits.conf or LimitAS=" },
	    [LIMIT_TOO_SMALL] = { HP_LEVEL_FAILED, NULL, "every profile: no room for a segment",
				  "ulimit -v $(ulimit -H -v); above that limits.conf or LimitAS=" } } },
	{ "file-size",
	  look_file_size,
	  { [LIMIT_NONE] = { HP_LEVEL_OK, "the segment has its full size", NULL, NULL },
	    [LIMIT_SMALL] = { HP_LEVEL_LIMITED, "a segment of that size", FULL,
			      "ulimit -f $(ulimit -H -f); above that limits.conf or LimitFSIZE=" },
	    [LIMIT_TOO_SMALL] = { HP_LEVEL_FAILED, NULL, "every profile: no room for a segment",
				  "ulimit -f $(ulimit -H -f); above that limits.conf or LimitFSIZE=" } } },
	{ "cgroup",
	  look_cgroup,
	  { [LIMIT_NONE] = { HP_LEVEL_OK, "the segment has its full size", NULL, NULL },
	    [LIMIT_SMALL] = { HP_LEVEL_LIMITED, "a segment of a quarter of it", FULL,
			      "give the container more: docker run --memory, systemd MemoryMax=" },
	    [LIMIT_TOO_SMALL] = { HP_LEVEL_FAILED, NULL, "every profile: no room for a segment",
				  "give the container more: docker run --memory, systemd "
				  "MemoryMax=" } } },
	{ "overcommit",
	  look_overcommit,
	  { [OVERCOMMIT_FREE] = { HP_LEVEL_OK, "memory is allocated when written", NULL, NULL },
	    [OVERCOMMIT_STRICT] = { HP_LEVEL_LIMITED, "each page is requested before it is written",
				    "new functions, if the machine runs out of memory",
				    "sysctl vm.overcommit_memory=0" },
	    [OVERCOMMIT_UNKNOWN] = { HP_LEVEL_OK, "memory is allocated when written", NULL,
				     NULL } } },
};

const struct hp_check_group hp_check_room = { "room for the record", checks, COUNT(checks) };
