/* SPDX-License-Identifier: MIT */
/*
 * profile.h - the pieces of a processed profile, version 49 (firefox.c).
 *
 * Each thread of such a profile has its own tables: texts, functions, frames (a
 * function at an address, with its line), stacks (a frame below a stack).
 * Columns hold places in other tables; null is INT64_MIN here.
 */
#ifndef HP_REPORT_EXPORT_PROFILE_H
#define HP_REPORT_EXPORT_PROFILE_H

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "report/base/map.h"
#include "report/section/core/report.h"
#include "segment/layout/sample.h"

#define HP_PROFILE_VERSION 49

/* In the order of meta.categories. */
enum hp_profile_category {
	HP_PROFILE_OTHER,
	HP_PROFILE_USER,
	HP_PROFILE_KERNEL,
	HP_PROFILE_WAIT,
	HP_PROFILE_LOCK,
	HP_PROFILE_CALL,
};

/* A function at a place in code. */
struct hp_profile_frame {
	const char *name;
	const char *file;	/* NULL = not known */
	int line;	/* 0 = not known */
	uint32_t object;	/* of the model; HP_NONE = none */
	uint64_t address;	/* in it */
	unsigned depth;	/* 0 = the function itself, else inlining depth */
	enum hp_profile_category category;
	uint64_t start;	/* of the symbol that contains the address; 0 = unknown */
	const char *symbol;	/* its name */
};

struct hp_profile_column {
	int64_t *list;
	size_t count;
	size_t room;
};

struct hp_profile_tables {
	char **strings;
	size_t string_count;
	size_t string_room;
	struct hp_map by_string;
	struct hp_map by_function;
	struct hp_map by_frame;
	struct hp_map by_native;
	struct hp_map by_stack;
	struct hp_profile_column function_name, function_object, function_file;
	struct hp_profile_column frame_function, frame_address, frame_depth, frame_line,
		frame_category, frame_native;
	struct hp_profile_column native_object, native_address, native_name;
	struct hp_profile_column stack_prefix, stack_frame, stack_category;
};

/* Empties them; keeps the memory for the next thread. */
void hp_profile_clear(struct hp_profile_tables *tables);
void hp_profile_release(struct hp_profile_tables *tables);

/* The place of a text. */
uint32_t hp_profile_string(struct hp_profile_tables *tables, const char *text);

/* The place + 1 of the stack with this frame on top of another stack (0 = none). */
uint32_t hp_profile_stack(struct hp_profile_tables *tables, uint32_t prefix,
			  const struct hp_profile_frame *frame);

/* Writes stackTable, frameTable, funcTable, nativeSymbols, resourceTable and stringArray. */
void hp_profile_tables_write(struct hp_profile_tables *tables, const struct hp_model *model,
			     gzFile out);

/* Write a JSON text, and a named list of numbers followed by a comma. */
void hp_profile_text(gzFile out, const char *text);
void hp_profile_column_write(gzFile out, const char *name, const struct hp_profile_column *column);
void hp_profile_column_add(struct hp_profile_column *column, int64_t value);

/* --- data of a thread --- */

struct hp_profile_thread {
	uint32_t pid;
	uint32_t tid;
	struct hp_event *events;	/* in time order */
	size_t count;
	size_t room;
};

struct hp_profile {
	gzFile out;
	struct hp_report *report;
	struct hp_profile_thread *threads;	/* the root's first one comes first */
	size_t thread_count;
	size_t thread_room;
	struct hp_profile_tables tables;	/* of the current thread */
	uint32_t *stacks;	/* of each stack of the model: its place + 1 in them */
	uint32_t *steps;	/* the same of each step of allocations */
};

/* The thread with this number, added when new. */
struct hp_profile_thread *hp_profile_thread(struct hp_profile *profile, uint32_t pid, uint32_t tid);

/* ns since the session's start as ms. */
double hp_profile_ms(const struct hp_profile *profile, uint64_t raw_ns);

/* The place + 1 of a sample's stack; 0 = unknown. */
uint32_t hp_profile_sample_stack(struct hp_profile *profile, uint32_t stack);

/* profile_markers.c: creates the thread of each marker; then writes those of one thread. */
void hp_profile_marker_threads(struct hp_profile *profile);
void hp_profile_markers_write(struct hp_profile *profile, const struct hp_profile_thread *thread);
extern const char hp_profile_schemas[];	/* of the markers, JSON */

/* profile_memory.c: allocations by call path, on one thread. */
bool hp_profile_has_memory(const struct hp_profile *profile);
void hp_profile_allocations_write(struct hp_profile *profile);

/* The list of counters: memory over time, if known. */
void hp_profile_counters_write(struct hp_profile *profile);

#endif
