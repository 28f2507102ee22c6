/* SPDX-License-Identifier: MIT */
/*
 * settle.h - reconciles the times of rows.
 */
#ifndef HP_REPORT_READ_SETTLE_H
#define HP_REPORT_READ_SETTLE_H

#include "report/read/tree.h"

/* All rows have been counted: times of nodes and functions, with their intervals. */
void hp_settle(const struct hp_tree *tree, struct hp_model *model);

#endif
