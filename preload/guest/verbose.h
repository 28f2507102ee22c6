/* SPDX-License-Identifier: MIT */
/*
 * verbose.h - HOTPATH_VERBOSE: what is set, built, hooked and lost, on stderr.
 *
 * The root of a session says it, and of its images the first one only.  All goes
 * through hp_say, so a line that stderr does not take at once is dropped.
 */
#ifndef HP_PRELOAD_GUEST_VERBOSE_H
#define HP_PRELOAD_GUEST_VERBOSE_H

#include "segment/segment.h"
#include "segment/setting.h"

/* Called once at the library's start, before the process has a record. */
void hp_verbose_begin(const struct hp_segment *segment, const struct hp_settings *settings);

/* Called when the session ends.  Does nothing if the start said nothing. */
void hp_verbose_end(const struct hp_segment *segment);

#endif
