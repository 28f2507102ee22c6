/* SPDX-License-Identifier: MIT */
/*
 * defaults.h - a program's own settings: HOTPATH_DEFAULTS of include/hotpath.h.
 *
 * They are a note in the executable. The session's creator reads it (the
 * library in memory, `hotpath run` in the file) and stores it in the segment
 * for the other processes and for later readers of a kept file.
 */
#ifndef HP_SEGMENT_DEFAULTS_H
#define HP_SEGMENT_DEFAULTS_H

#include "segment/segment.h"
#include "segment/setting.h"

/* Appends the settings in a PT_NOTE segment to `text`; "" = none. */
void hp_defaults_add(char text[HP_DEFAULTS_MAX], const char *notes, const char *end);

/* Stores `text` in a segment that nobody else uses yet. */
void hp_defaults_keep(const struct hp_segment *segment, const char *text);

/* The stored text; "" = none. */
void hp_defaults_read(const struct hp_segment *segment, char text[HP_DEFAULTS_MAX]);

#endif
