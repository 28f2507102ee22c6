/* SPDX-License-Identifier: MIT */
/*
 * rights.h - which rights (util/rights.h) this process has, and whether another one has the same.
 *
 * The kernel is asked each time.  System calls only; async-signal-safe.
 */
#ifndef HP_SEGMENT_RIGHTS_H
#define HP_SEGMENT_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "util/rights.h"

/* Of the calling thread, without its user namespace.  False if the kernel does not say. */
bool hp_rights_own(struct hp_rights *rights);

/* The inode of a namespace's link such as "/proc/self/ns/user", relative to `folder`; 0 = not known. */
uint64_t hp_rights_namespace(int folder, const char *link);

/*
 * Has the process the same rights as this one, so that each might trace the other?  `folder` is
 * its /proc/PID, and something in it that only tracers may open has been opened.  Returns their user
 * namespace, which means that the process was alive all the time; 0 = no, or it cannot be told.
 */
uint64_t hp_rights_shared(int folder, uint32_t pid);

#endif
