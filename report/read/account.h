/* SPDX-License-Identifier: MIT */
/*
 * account.h - resources used by the images of each program, as recorded by
 * their processes.
 *
 * An image is the program between two execs.  Most have ended and are already
 * summed up by name (hp_run); the last one of each process record is separate.
 */
#ifndef HP_REPORT_READ_ACCOUNT_H
#define HP_REPORT_READ_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "segment/layout/process.h"

struct hp_model;

struct hp_model_run {
	char name[20];	/* of the program; "" = not recorded, it follows by exec */
	uint32_t pid;	/* 0 = several, which have ended */
	uint32_t count;
	uint32_t failed;	/* of them: exit code other than 0, or killed */
	uint32_t unknown;	/* of them: exit status unknown */
	uint64_t start_ns;	/* CPU time of our start in them */
	uint64_t switches;	/* of contexts, if they recorded their end */
	uint32_t unmeasured;	/* of them: did not record their end, such as killed ones */
	uint32_t running;	/* of them */
	int32_t status;	/* of the last one that failed, as from wait() */
	bool is_root;
	uint64_t dropped;	/* of them: dropped rights, and continued in another segment */
	uint64_t again;	/* images that did before, of which this is the rest: not in `count` */
	bool lacks_peak;	/* peak_rss_kb is without some of them */
	bool lacks_cpu;	/* cpu_ns and faults, too */
	uint64_t base_cpu_ns;	/* pid only: CPU of its process before */
	uint64_t wall_ns;	/* the sum of their lifetimes */
	uint64_t cpu_ns;
	uint64_t peak_rss_kb;
	uint64_t minor_faults;
	uint64_t major_faults;
};

/* Adds the images of a process record to model->runs. */
void hp_account_read(struct hp_model *model, const struct hp_process *record, uint64_t end_ticks);

/* Ticks from the exec or fork that began the image to the start of its record; 0 = not known. */
uint64_t hp_account_lead(struct hp_model *model, const struct hp_process *record);

#endif
