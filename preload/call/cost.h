/* SPDX-License-Identifier: MIT */
/*
 * cost.h - the hook cost that a thread subtracts.
 */
#ifndef HP_PRELOAD_CALL_COST_H
#define HP_PRELOAD_CALL_COST_H

#include "preload/call/local.h"

/* The costs that were measured (calibrate.h, marginal.h). */
void hp_cost_take(struct hp_local *me);

/* Now and then: the hooks' cost is checked again and taken from the header. */
void hp_cost_renew(struct hp_local *me);

#endif
