/* SPDX-License-Identifier: MIT */
/*
 * gap.h - time of slow calls that were not timed: how much of what gaps took more than usual
 * belongs to a function.
 */
#ifndef HP_REPORT_READ_GAP_H
#define HP_REPORT_READ_GAP_H

#include "report/read/tree.h"

/* Adds it to the sums of the tree's nodes, with how far it may be off. */
void hp_gaps_settle(const struct hp_tree *tree, struct hp_model *model);

#endif
