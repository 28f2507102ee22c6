/* SPDX-License-Identifier: MIT */
/*
 * flame.h - differential flame graphs: the call paths of both sides in one tree, each
 * with its weight in a run of A and in a run of B.
 */
#ifndef HP_REPORT_COMPARE_FLAME_H
#define HP_REPORT_COMPARE_FLAME_H

#include <stdbool.h>
#include <stdio.h>

#include "report/view/flame.h"

struct hp_compare_flame;

struct hp_compare_flame_side {
	struct hp_compare_flame *flame;
	size_t runs;	/* that were added */
};

struct hp_compare_flame {
	struct hp_flame both;
	struct hp_compare_flame_side sides[2];	/* A, B */
};

void hp_compare_flame_init(struct hp_compare_flame *flame);
void hp_compare_flame_release(struct hp_compare_flame *flame);

/* Adds a run to a struct hp_compare_flame_side: a hp_compare_seen. */
void hp_compare_flame_add(void *side, struct hp_report *report);

/* When all runs are added: values become those of one run.  False without anything to show. */
bool hp_compare_flame_settle(struct hp_compare_flame *flame);

#endif
