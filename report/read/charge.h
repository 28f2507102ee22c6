/* SPDX-License-Identifier: MIT */
/*
 * charge.h - allocations by instrumented functions, summed over all threads;
 * parallel to the model's functions.
 */
#ifndef HP_REPORT_READ_CHARGE_H
#define HP_REPORT_READ_CHARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/read/model.h"
#include "segment/layout/call.h"

struct hp_charge_ring {
	uint64_t offset;	/* of logs_limit hp_spent */
	uint32_t next;	/* where the next one goes: the oldest */
};

struct hp_charge_sum {
	uint64_t sums[HP_CHARGE_KINDS];	/* over ended calls, nested ones too; ALONE ones are in the others */
	uint64_t running_bytes;	/* of open calls, without callees */
	uint64_t running_count;
	uint64_t whole_bytes;	/* callees included, outermost calls; with open calls */
	uint64_t whole_count;
	uint64_t most_bytes;	/* of a call */
	uint64_t most_count;
	bool has_most;
	struct hp_histogram *spreads;	/* HP_CHARGE_KINDS of them; NULL = it was never charged */
	uint64_t least[HP_CHARGE_KINDS];	/* of the histogram; 0 = empty */
	uint64_t most[HP_CHARGE_KINDS];
	struct hp_charge_ring *rings;
	size_t ring_count;
	size_t ring_room;
};

struct hp_charges {
	struct hp_charge_sum *functions;	/* parallel to the model's functions */
	size_t count;
	bool is_any;	/* some function was charged */
	bool has_most;	/* some process recorded the net */
};

/* Blocks and bytes of all calls, without callees. */
uint64_t hp_charge_bytes(const struct hp_charge_sum *sum);
uint64_t hp_charge_count(const struct hp_charge_sum *sum);

/* Number of calls that have some. */
uint64_t hp_charge_calls(const struct hp_charge_sum *sum, enum hp_charge_kind kind);

/* Reads them from the model's segment.  Never fails. */
void hp_charges_init(struct hp_charges *charges, struct hp_model *model);
void hp_charges_release(struct hp_charges *charges);

/*
 * The value that `percent` of the function's calls with a non-zero value do not
 * exceed, within 0.8 %; 0 and 100 are exact. < 0 = all calls have 0.
 */
double hp_charge_percentile(const struct hp_charge_sum *sum, enum hp_charge_kind kind,
			    double percent);

/* Up to `most` of the function's last calls, newest first; returns the number. */
size_t hp_charge_last(struct hp_model *model, const struct hp_charge_sum *sum,
		      struct hp_spent *calls, size_t most);

#endif
