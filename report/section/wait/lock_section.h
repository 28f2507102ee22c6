/* SPDX-License-Identifier: MIT */
/*
 * lock_section.h - the sections of locks and waits: rows, names, columns.
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

/* Reads the locks of the report's segment; names are looked up when they are asked for. */
struct hp_lock_view *hp_lock_view(const struct hp_report *report);
const struct hp_locks *hp_lock_view_locks(const struct hp_lock_view *view);

/* Locks that were taken in orders that contradict each other. */
const struct hp_lock_cycle *hp_lock_view_cycles(const struct hp_lock_view *view, size_t *count);

/* Asks for all names: a kept run has to carry them. */
void hp_lock_view_name_all(struct hp_report *report);

/* The name of a lock: valid as long as the report. */
const char *hp_lock_name(struct hp_report *report, const struct hp_lock_row *lock);

/* "mutex", "rwlock (read)", ... */
const char *hp_lock_kind_text(uint32_t kind, uint32_t side);

/* The same, which says of a channel what it is and what is waited for. */
const char *hp_lock_row_kind(const struct hp_lock_row *lock, uint32_t side);

/* The C type of such an object. */
const char *hp_lock_type(uint32_t kind);

/* What is known of a place in code; NULL = nothing.  Valid as long as the report. */
const struct hp_symbol_spot *hp_lock_code(struct hp_report *report,
					  const struct hp_lock_place *place);

/* The function in which a thread begins. */
const struct hp_symbol_spot *hp_lock_routine(struct hp_report *report,
					     const struct hp_lock_birth *birth);

/* A fresh "function (file.c:12)" of a place in code; "?" = not known. */
char *hp_lock_place_text(struct hp_report *report, const struct hp_lock_place *place);

/* Where a lock was made or used first; NULL = a static one. */
const struct hp_symbol_spot *hp_lock_site(struct hp_report *report, const struct hp_lock_row *lock);

/* The lists of columns, with their lengths: a table of constants cannot read a variable. */
extern const struct hp_column hp_order_columns[];
extern const struct hp_column hp_waiting_columns[];
extern const struct hp_column hp_cond_columns[];
extern const struct hp_column hp_sem_columns[];
extern const struct hp_column hp_barrier_columns[];
extern const struct hp_column hp_rwlock_columns[];
extern const struct hp_column hp_file_lock_columns[];
extern const struct hp_column hp_mutex_columns[];
extern const struct hp_column hp_wait_columns[];

const char *hp_mutexes_describe(const struct hp_report *report);
void hp_mutexes_fill(struct hp_report *report, struct hp_list *list);
bool hp_mutexes_has_data(const struct hp_report *report);
const char *hp_locks_empty(struct hp_report *report);
const char *hp_lock_order_empty(struct hp_report *report);
const char *hp_waits_empty(struct hp_report *report);
const char *hp_waiting_empty(struct hp_report *report);
const char *hp_waits_describe(const struct hp_report *report);
void hp_waits_fill(struct hp_report *report, struct hp_list *list);
bool hp_waits_has_data(const struct hp_report *report);

#define HP_LOCK_SECTION(name) \
	const char *hp_##name##_describe(const struct hp_report *report); \
	void hp_##name##_fill(struct hp_report *report, struct hp_list *list); \
	bool hp_##name##_has_data(const struct hp_report *report)
HP_LOCK_SECTION(conds);
HP_LOCK_SECTION(sems);
HP_LOCK_SECTION(barriers);
HP_LOCK_SECTION(rw_locks);
HP_LOCK_SECTION(file_locks);
HP_LOCK_SECTION(waiting);
HP_LOCK_SECTION(lock_order);

/* A note for each circle of threads that wait for each other. */
void hp_deadlocks_write(struct hp_report *report, FILE *out);

/* Shows as many rows as the settings say. */
void hp_lock_list_cut(const struct hp_report *report, struct hp_list *list);

struct cJSON;

/* What tells a lock from others, and the percentiles of a side: `is_hold` or of waits. */
void hp_lock_identity_add(struct hp_report *report, const struct hp_lock_row *lock,
			  struct cJSON *entry);
void hp_lock_percentiles_add(struct hp_report *report, const struct hp_lock_sum *sum, bool is_hold,
			     const char *key, struct cJSON *entry);

/* What these lists have in JSON beside their columns. */
void hp_lock_head_add(struct hp_report *report, struct cJSON *list);
void hp_wait_entry_add(struct hp_report *report, const void *row, struct cJSON *entry);
void hp_waiting_entry_add(struct hp_report *report, const void *row, struct cJSON *entry);
void hp_mutex_entry_add(struct hp_report *report, const void *row, struct cJSON *entry);
void hp_barrier_entry_add(struct hp_report *report, const void *row, struct cJSON *entry);
void hp_kind_entry_add(struct hp_report *report, const void *row, struct cJSON *entry);
void hp_file_lock_entry_add(struct hp_report *report, const void *row, struct cJSON *entry);
void hp_rwlock_entry_add(struct hp_report *report, const void *row, struct cJSON *entry);

#endif
