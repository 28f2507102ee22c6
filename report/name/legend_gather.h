/* SPDX-License-Identifier: MIT */
/*
 * legend_gather.h - builds the legend (legend.h) of a run to be kept.
 */
#ifndef HP_REPORT_NAME_LEGEND_GATHER_H
#define HP_REPORT_NAME_LEGEND_GATHER_H

#include "report/read/model.h"

struct hp_symbols;

/* A fresh text with the names of all called functions and of everything else that was looked up. */
char *hp_legend_gather(const struct hp_model *model, struct hp_symbols *symbols);

#endif
