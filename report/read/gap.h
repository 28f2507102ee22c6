/* SPDX-License-Identifier: MIT */
/*
 * gap.h - time of untimed slow calls: how much of the excess time of gaps
 * belongs to a function.
 */
#ifndef HP_REPORT_READ_GAP_H
#define HP_REPORT_READ_GAP_H

#include "report/read/tree.h"

/* Adds it to the sums of the tree's nodes, with its uncertainty. */
void hp_gaps_settle(const struct hp_tree *tree, struct hp_model *model);

#endif
