/* SPDX-License-Identifier: MIT */
/*
 * verbose.h - HOTPATH_VERBOSE: prints settings, build, hooks and losses on
 * stderr.
 *
 * Only the first image of a session's root prints it. It uses hp_say, so a line
 * that would block is dropped.
 */
#ifndef HP_PRELOAD_GUEST_VERBOSE_H
#define HP_PRELOAD_GUEST_VERBOSE_H

#include "segment/segment.h"
#include "segment/setting.h"

/* Called once at the library's start, before the process has a record. */
void hp_verbose_begin(const struct hp_segment *segment, const struct hp_settings *settings);

/* Called when the session ends.  Does nothing if the start printed nothing. */
void hp_verbose_end(const struct hp_segment *segment);

#endif
