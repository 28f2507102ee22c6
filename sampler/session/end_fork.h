/* SPDX-License-Identifier: MIT */
/*
 * end_fork.h - the report in a copy of this process.
 *
 * The start of a program takes 0.35 ms more than a fork and the loading of the same code, and the
 * user of a short program waits for it. hotpath-report.so has the code of `hotpath report`, so this
 * process needs nothing but libc.
 */
#ifndef HP_SAMPLER_SESSION_END_FORK_H
#define HP_SAMPLER_SESSION_END_FORK_H

#include <stdbool.h>
#include <sys/types.h>

struct hp_segments;

struct hp_end_copy {
	const char *object;	/* the path of hotpath-report.so */
	const char *program;	/* and of hotpath: executed instead if that cannot be loaded */
	char *const *arguments;	/* of hotpath: "hotpath", "report", ... */
	const struct hp_segments *segments;
	int input;	/* its stdin; -1 = ours */
	bool is_held;	/* it begins at a byte from there */
};

/*
 * Returns the child's pid, or -errno. The child has the descriptors, signals and mappings that an
 * executed hotpath would have. /proc/PID/exe remains ours.
 */
pid_t hp_end_fork(const struct hp_end_copy *copy);

#endif
