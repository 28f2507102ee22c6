/* SPDX-License-Identifier: MIT */
/*
 * answer.h - the main facts of a run: the figures of the default report.
 *
 * The tables of the sections show everything. These are the essentials for a
 * reader with ten seconds: where the threads' time went, which functions of the program used
 * the CPU and why, causes of waits, and the owners of the memory. Minor facts are
 * omitted here, not in the views.
 *
 * Folder: report/section/answer - the default report: the main facts of a run
 * May use: report/section/thread report/section/channel
 *   report/section/channel/row report/section/wait report/section/memory
 *   report/section/cpu report/section/timing report/section/core report/name
 *   report/read report/base segment segment/layout util
 */
#ifndef HP_REPORT_SECTION_ANSWER_ANSWER_H
#define HP_REPORT_SECTION_ANSWER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/section/core/report.h"

#define HP_ANSWER_CPU 6	/* rows at most */
#define HP_ANSWER_CALLEES 4
#define HP_ANSWER_WAITS 4
#define HP_ANSWER_MEMORY 3
#define HP_ANSWER_PARTS 16	/* of the threads' time */

/* The name of one part. */
extern const char hp_answer_ready[];

/* A part of the threads' time. */
struct hp_answer_part {
	const char *what;
	double ns;
};

/* Lifetimes of threads, except those that only waited for others to end, or for work that never
 * arrived. */
struct hp_answer_time {
	struct hp_answer_part parts[HP_ANSWER_PARTS];	/* most first */
	size_t count;
	double life_ns;
	size_t threads;	/* whose time it is */
	size_t idle;	/* others, that had nothing to do */
	size_t unknown;	/* others, whose lifetimes are not known */
};

/* A function's callees outside the program's code. */
struct hp_answer_callee {
	char *name;
	bool is_kernel;
	uint64_t ns;
};

struct hp_answer_cpu {
	uint32_t function;	/* place in hp_cpu.functions; HP_NONE = no code of the program */
	uint32_t launch; /* of HP_NONE: all code of this object, a program that only started it; else HP_NONE */
	bool is_start;	/* of HP_NONE: a program that is starting or ending */
	char *name;
	uint64_t ns;	/* including callees outside the program's code */
	uint64_t samples;
	const char *file;	/* of the line with most samples; NULL = not known */
	int line;
	struct hp_answer_callee callees[HP_ANSWER_CALLEES];	/* most first */
	size_t callee_count;
	uint64_t calls;	/* exact; 0 = not known */
};

/* The program's own functions by the time that the hooks measured, if there are no samples. */
struct hp_answer_timed {
	char *name;
	double ns;	/* without instrumented callees */
	uint64_t calls;
};

struct hp_answer_wait {
	char *who;	/* the function; NULL = not known */
	char *what;	/* "lock queue_lock, held by push (queue.c:12)", "disk" */
	double ns;	/* of all threads */
	double most_ns;	/* the longest; 0 = not known */
	uint64_t count;
	bool is_idle;	/* each wait took about the whole run */
	bool is_estimated;	/* from waits that were recorded in bursts */
	bool is_nowhere;	/* without a stack: neither function nor cause is known */
};

enum hp_answer_held { HP_ANSWER_PEAK, HP_ANSWER_LEFT, HP_ANSWER_BLOCKS };

struct hp_answer_memory {
	enum hp_answer_held kind;
	bool is_kept;	/* HP_ANSWER_PEAK: and it was not freed */
	char *path;	/* the allocating function */
	uint64_t bytes;
	uint64_t blocks;	/* HP_ANSWER_PEAK: not known */
	uint64_t all;	/* the part that contains it: bytes at the peak, bytes left, blocks */
};

/* Before the first process became the program that it ended as, another one prepared it. */
struct hp_answer_launch {
	double ns; /* until then; 0 = it took no time to speak of, or there was none */
	const char *by; /* file name of the program that took nearly all of it; NULL = not known */
	const char *program; /* and of the last one */
	bool *is_object; /* by place in model.objects: a program that ran only before */
};

struct hp_answer {
	double wall_ns;
	uint64_t cores;	/* 0 = not known */
	struct hp_answer_launch launch;
	struct hp_answer_time time;

	struct hp_answer_cpu cpu[HP_ANSWER_CPU];
	size_t cpu_count;
	size_t cpu_more;	/* functions that are not among them */
	uint64_t cpu_ns;	/* of all samples except the profiler's */
	uint64_t samples;
	double effective;	/* their effective number, see hp_sampling_effective */
	struct hp_answer_timed timed[HP_ANSWER_CPU];	/* if there are too few samples */
	size_t timed_count;
	double timed_ns;	/* of all functions */

	struct hp_answer_wait waits[HP_ANSWER_WAITS];
	size_t wait_count;

	bool has_heap;	/* allocations were recorded */
	uint64_t heap_peak;	/* bytes */
	uint64_t heap_left;
	uint64_t heap_bytes;
	uint64_t heap_blocks;
	struct hp_answer_memory memory[HP_ANSWER_MEMORY];
	size_t memory_count;
};

#define HP_ANSWER_SAMPLES 20	/* fewer say nothing about single functions */

/* Made on first request; lives as long as the report. */
const struct hp_answer *hp_answer_of(struct hp_report *report);

/*
 * A fresh short text of a function's name: one place decides how names are shortened in
 * the default report and in findings.
 */
char *hp_answer_name(const struct hp_report *report, const char *name);

/* The same for a function of hp_cpu, by its place. */
char *hp_answer_function(struct hp_report *report, uint32_t function);

struct hp_lock_row;

/* The same of a lock, to follow its kind: one without a name is "of [file]". */
char *hp_answer_lock(struct hp_report *report, const struct hp_lock_row *lock);
/* The same with its kind, "condition queue.c:12". */
char *hp_answer_lock_kind(struct hp_report *report, const struct hp_lock_row *lock, uint32_t side);

/* The same of a call path, "f file.c:12 ← g"; without names that say nothing. */
char *hp_answer_path(const struct hp_report *report, const char *path);

/* The same of its first `most` functions. */
char *hp_answer_path_of(const struct hp_report *report, const char *path, size_t most);

/* Code of a program that only prepared the requested one. */
bool hp_answer_is_launch(const struct hp_answer *answer, uint32_t object);

/* --- parts of hp_answer_of, each in its own file --- */

void hp_answer_launch_make(struct hp_report *report, struct hp_answer *answer);
void hp_answer_time_make(struct hp_report *report, struct hp_answer *answer);
void hp_answer_cpu_make(struct hp_report *report, struct hp_answer *answer);
void hp_answer_waits_make(struct hp_report *report, struct hp_answer *answer);
void hp_answer_memory_make(struct hp_report *report, struct hp_answer *answer);

#endif
