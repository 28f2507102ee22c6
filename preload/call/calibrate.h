/* SPDX-License-Identifier: MIT */
/*
 * calibrate.h - the cost of our own hooks, measured at the start of a session.
 */
#ifndef HP_PRELOAD_CALL_CALIBRATE_H
#define HP_PRELOAD_CALL_CALIBRATE_H

#include "segment/layout/header.h"

/*
 * It sets the cost_ fields of the header.  Only the session's first
 * hook measures them, so a program without instrumented functions does not pay.
 */
void hp_calibrate_first(struct hp_header *header);

/*
 * Now and then, from a slow path with the gate shut: measures again, at most
 * four times in a process, and keeps the lower cost.  The first time, the
 * helper process is just starting.
 */
void hp_calibrate_again(struct hp_header *header);

#endif
