/* SPDX-License-Identifier: MIT */
/*
 * defaults.h - the settings that a program brings along: HOTPATH_DEFAULTS of
 * include/hotpath.h.
 *
 * A note in the executable.  Who makes the session reads it (the library in
 * memory, `hotpath run` in the file) and keeps it in the segment, where all who
 * share that, and later readers of a kept file, find it.
 */
#ifndef HP_SEGMENT_DEFAULTS_H
#define HP_SEGMENT_DEFAULTS_H

#include "segment/segment.h"
#include "segment/setting.h"

/* Adds what the notes in a PT_NOTE segment say to `text`; "" = nothing. */
void hp_defaults_add(char text[HP_DEFAULTS_MOST], const char *notes, const char *end);

/* Keeps `text` in a segment that nobody else uses yet. */
void hp_defaults_keep(const struct hp_segment *segment, const char *text);

/* What was kept; "" = nothing. */
void hp_defaults_read(const struct hp_segment *segment, char text[HP_DEFAULTS_MOST]);

#endif
