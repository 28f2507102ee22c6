/* SPDX-License-Identifier: MIT */
/*
 * lock_path.h - call paths of threads that waited, and of those that held the lock.
 *
 * Each thread has its own steps for one path; here equal paths are one.  Our
 * own functions, in which a walk begins, are left out.
 */
#ifndef HP_REPORT_SECTION_WAIT_LOCK_PATH_H
#define HP_REPORT_SECTION_WAIT_LOCK_PATH_H

#include <stddef.h>
#include <stdint.h>

#include "report/base/map.h"
#include "report/read/lock_place.h"

struct hp_report;
struct cJSON;

struct hp_lock_path {
	struct hp_lock_place *places;	/* return addresses, the innermost first */
	size_t count;
};

struct hp_lock_paths {
	struct hp_lock_path *all;
	size_t count;
	size_t room;
	struct hp_map same;	/* hash -> place in `all` + 1 */
	struct hp_map steps;	/* id of a step -> place in `all` + 1 */
};

/* Of the object with the record at `offset`. */
typedef uint32_t (*hp_lock_find_object)(void *context, uint64_t offset);

/* The place in paths->all of the path that ends at a step, HP_NONE = none. */
uint32_t hp_lock_path_read(struct hp_lock_paths *paths, struct hp_model *model, uint32_t step,
			   hp_lock_find_object find, void *context);
void hp_lock_paths_release(struct hp_lock_paths *paths);

/* --- lock_path_text.c --- */

/*
 * A fresh "function (file.c:12) ← caller ← …", at most 160 columns; `path` may be HP_NONE.  It
 * begins at the caller of a lock's wrapper, such as std::mutex::lock.
 */
char *hp_lock_path_text(struct hp_report *report, const struct hp_lock_place *at, uint32_t path);

/*
 * Where a lock was taken, "function (file.c:12)", fresh.  If that is in a wrapper whose caller
 * was not recorded, it is the function that released it, from the path `release`.
 */
char *hp_lock_holder_text(struct hp_report *report, const struct hp_lock_place *holder,
			  uint32_t release);

/* The complete path, as an array. */
void hp_lock_path_add(struct hp_report *report, uint32_t path, const char *key,
		      struct cJSON *entry);

/* Requests all names of a path. */
void hp_lock_path_name(struct hp_report *report, uint32_t path);

#endif
