/* SPDX-License-Identifier: MIT */
/*
 * end.h - the root's end: its status, and the report stage.
 *
 * `hotpath report --fd 3` is a child of the sampler, so a fault in it costs no
 * data: the segment still exists, and the user is notified. It sends its progress
 * (enum hp_tells), and removes old runs after the report is done. If it takes too
 * long, since the program's files can delay it, it is killed, and a second one makes
 * the report without them.
 * hp_header.report_word goes NONE -> STARTED -> DONE or FAILED; root and runner
 * wait on it.
 */
#ifndef HP_SAMPLER_SESSION_END_H
#define HP_SAMPLER_SESSION_END_H

#include <stdbool.h>
#include <sys/types.h>

#include "segment/segment.h"
#include "segment/session.h"

struct hp_end {
	const struct hp_segment *segment;
	const struct hp_segments *segments;	/* all of the session; the first is that one */
	pid_t runner;	/* `hotpath run`, our parent; 0 = none */
	volatile pid_t report;	/* 0 = none runs; read by a signal handler */
	uint64_t young_until_ns;	/* so far a copy of us is made sooner than a program is started */
	bool is_quiet;	/* this report replaces a file; nobody waits for it */
	pid_t ready;	/* a report that waits to begin; 0 = none */
	int begin;	/* our end of its socket */
	bool is_held;	/* it waits until we have nothing to do before it loads its code */
	_Atomic int shared_cpu;	/* the processor that it shares with us; -1 = none */
	pid_t dying;	/* one that was killed; 0 = none */
	uint64_t ready_until_ns;	/* or when the killed one is looked for; 0 = neither */
	int heard;	/* our end of the running report's socket; -1 = none */
	uint64_t until_ns;	/* by then it must be done; 0 = it has time */
	bool has_printed;
	bool is_late;	/* the first one took too long */
	bool was_ready;	/* the running report was prepared */
	bool is_told;	/* it is done, with this status, */
	uint8_t status;
	pid_t behind;	/* but its process has not ended yet; 0 = it has */
};

void hp_end_init(struct hp_end *end, const struct hp_segments *segments);

/*
 * Starts the report's process before the root ends, and lets it wait: a short program's user
 * waits for the report, and half of that time is the process's start. It is bound to our
 * processor, so the program keeps its own. With one processor for both there is nothing to gain.
 */
void hp_end_prepare(struct hp_end *end);

/* Lets that process load its code: we are about to sleep. */
void hp_end_go(struct hp_end *end);

/*
 * For another thread, when the root waits for us: the kernel may let our main thread wait for that
 * process although another processor has nothing to do.
 */
void hp_end_step_aside(const struct hp_end *end);

/* The same when the root is about to end: the process starts while the runner learns how. */
void hp_end_prepare_late(struct hp_end *end);

/* A program that runs longer does not notice the difference: the prepared process ends. */
void hp_end_do(struct hp_end *end, uint64_t now_ns);

/*
 * Waits until the runner knows how the root ended, at most 1 s. Without a
 * runner, asks the kernel through the root's pidfd (-1 = none), from Linux 6.15
 * on.
 */
void hp_end_status(const struct hp_end *end, int root_pidfd, bool is_dead);

/*
 * Notifies the waiting process that the root was scanned for the last time, and
 * starts the report. Returns false if there is none (format `none`, or it
 * cannot start); then everything is already reported.
 */
bool hp_end_start(struct hp_end *end, bool is_wanted);

/* The report's progress, for all waiting processes. */
void hp_end_tell(const struct hp_end *end, enum hp_report_word word);

/* Reads what the report told; true if it is done. */
bool hp_end_hear(struct hp_end *end);

/* True if the report is done or has ended, or there is none. */
bool hp_end_is_done(struct hp_end *end);

/* True if the report takes too long. Then hp_end_retry kills it and starts the second one. */
bool hp_end_is_late(const struct hp_end *end, uint64_t now_ns);
bool hp_end_retry(struct hp_end *end);

/*
 * True if the report's process was killed before it did anything, and a program was started instead: a
 * prepared one that was about to die still accepts our message.
 */
bool hp_end_replace(struct hp_end *end);

/* The process of a report that was done earlier has ended. */
void hp_end_reap(struct hp_end *end);

/* Waits until the report is done or has ended: reports the outcome, to waiting processes and on stderr. */
void hp_end_finish(struct hp_end *end);

/* The report again, into its file, when processes outlived the root.  Waits for it. */
void hp_end_again(struct hp_end *end);

/*
 * Waits until a word of the segment differs from `value`, for a limited time, even if
 * futexes are refused.
 */
void hp_end_wait(void *word, uint32_t value, long ns);

/* The folder of our own executable, which contains the others. */
void hp_end_folder(char folder[HP_HELPER_PATH]);

/* Closes the root's stderr: x=$(program that leaves a daemon 2>&1) must return. */
void hp_end_let_go(void);

/*
 * True if no other process maps a segment, so that the session has ended; then
 * nobody can map it writable any more. A forked process that has not recorded
 * anything yet has no record, but it has the mapping.
 */
bool hp_end_is_alone(const struct hp_segments *segments);

#endif
