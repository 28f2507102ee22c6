/* SPDX-License-Identifier: MIT */
/*
 * lock_section.h - the sections of locks and waits: rows, names, columns.
 *
 * Folder: report/section/wait - locks and waits: by lock, by place, orders
 *   that contradict each other, ongoing waits, time off the CPU
 * May use: report/section/channel/row report/section/cpu report/section/core
 *   report/name report/read report/base segment segment/layout util
 */
#ifndef HP_REPORT_SECTION_WAIT_LOCK_SECTION_H
#define HP_REPORT_SECTION_WAIT_LOCK_SECTION_H

#include <stdio.h>

#include "report/section/wait/lock.h"
#include "report/section/wait/lock_cycle.h"
#include "report/section/core/section.h"

/* A row of a section of locks: one side of a lock. */
struct hp_lock_line {
	const struct hp_lock_row *lock;
	const struct hp_lock_sum *sum;
	uint32_t side;
	uint32_t id;	/* from 1 */
};

/* A row of the section of waits: sum over threads. */
struct hp_lock_waiting {
	struct hp_lock_contest sum;
	double share;	/* of the time of all waits, percent */
};

struct hp_lock_view;

/* Reads the locks of the report's segment; names are looked up when they are requested. */
struct hp_lock_view *hp_lock_view(const struct hp_report *report);
const struct hp_locks *hp_lock_view_locks(const struct hp_lock_view *view);

/* Locks that were taken in orders that contradict each other. */
const struct hp_lock_cycle *hp_lock_view_cycles(const struct hp_lock_view *view, size_t *count);

/* Requests all names: a kept run must contain them. */
void hp_lock_view_name_all(struct hp_report *report);

/* The name of a lock: valid as long as the report. */
const char *hp_lock_name(struct hp_report *report, const struct hp_lock_row *lock);

/*
 * A thread has taken it, or tried to. Of two threads that use a lock for the first time at the same
 * moment, each makes a row, and one row stays unused.
 */
bool hp_lock_is_used(const struct hp_locks *locks, const struct hp_lock_row *lock);

/* "mutex", "rwlock (read)", ... */
const char *hp_lock_kind_text(uint32_t kind, uint32_t side);

/* The same, with a channel's kind and the object of the wait. */
const char *hp_lock_row_kind(const struct hp_lock_row *lock, uint32_t side);

/* The C type of such an object. */
const char *hp_lock_type(uint32_t kind);

/* Kinds that behave alike: they share a section, and what their waiting threads do. */
enum hp_lock_family {
	HP_LOCK_FAMILY_NONE = 0,	/* a lock without a section */
	HP_LOCK_FAMILY_MUTEX,
	HP_LOCK_FAMILY_RWLOCK,
	HP_LOCK_FAMILY_COND,
	HP_LOCK_FAMILY_SEM,
	HP_LOCK_FAMILY_BARRIER,
	HP_LOCK_FAMILY_FILE,
	HP_LOCK_FAMILY_THREAD,
	HP_LOCK_FAMILY_CHANNEL
};

enum hp_lock_family hp_lock_family(uint32_t kind);

/* Facts about a place in code; NULL = none. Valid as long as the report. */
const struct hp_symbol_spot *hp_lock_code(struct hp_report *report,
					  const struct hp_lock_place *place);

/* The function in which a thread begins. */
const struct hp_symbol_spot *hp_lock_routine(struct hp_report *report,
					     const struct hp_lock_birth *birth);

/* A fresh "function (file.c:12)" of a place in code; "?" = not known. */
char *hp_lock_place_text(struct hp_report *report, const struct hp_lock_place *place);

/* Where a lock was created or first used; NULL = a static one. */
const struct hp_symbol_spot *hp_lock_site(struct hp_report *report, const struct hp_lock_row *lock);

#define HP_LOCKS_LIMIT 15	/* rows, unless a variable says otherwise */
#define HP_NO_LOCKS "none was used"

/* The hold that a wait is for; NULL = the holder is not known. */
const struct hp_lock_hold *hp_lock_wait_hold(const struct hp_report *report,
					     const struct hp_lock_wait *wait);

/* The thread that holds the object of the wait, or last used it; 0 = not known. */
uint32_t hp_lock_wait_for(const struct hp_report *report, const struct hp_lock_wait *wait);

/* Threads in the circle of waits that includes `first`; 0 = none. */
size_t hp_lock_wait_cycle(const struct hp_report *report, const struct hp_lock_wait *first);

/* A note for each circle of threads that wait for each other. */
void hp_deadlocks_write(struct hp_report *report, FILE *out);

struct cJSON;

/* Identifies a lock, and the percentiles of a side: of holds with `is_hold`, or of waits. */
void hp_lock_add_identity(struct hp_report *report, const struct hp_lock_row *lock,
			  struct cJSON *entry);
void hp_lock_add_percentiles(struct hp_report *report, const struct hp_lock_sum *sum, bool is_hold,
			     const char *key, struct cJSON *entry);

/* Members of these lists in JSON besides their columns; and rows of locks with one side. */
#define HP_LOCK_KEYS "current_elapsed_ns:i percentiles:[n]"
#define HP_LOCK_ROW_KEYS \
	"has_custom_label:b location:@location iter:i wait_percentiles:o acquire_percentiles:o"
void hp_lock_add_head(struct hp_report *report, struct cJSON *list);

#endif
