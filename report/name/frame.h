/* SPDX-License-Identifier: MIT */
/*
 * frame.h - names of the steps of call paths: functions, lines, what was inlined.
 *
 * A place is (object, return address).  Its function comes from the sorted
 * symbols and is cheap; lines and inlined functions come from the debug
 * information and are asked for only where they are shown.
 */
#ifndef HP_REPORT_NAME_FRAME_H
#define HP_REPORT_NAME_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/name/symbol.h"

struct hp_frame_place {
	uint32_t object;
	uint64_t address;
	char *name;	/* of the function that is called */
	uint32_t function;	/* number of that function, from 0 */
	bool is_wrapper;	/* of an allocator: folded into its caller */
	bool is_library;	/* of C++'s library: a row is called by its caller */
	bool has_lines;	/* was tried */
	bool is_pending;	/* its name may still be found, */
	bool has_pending_lines;	/* or its lines */
	struct hp_frame_line *frames;	/* innermost first; the last is the function */
	size_t count;
};

struct hp_frames;

/* `wrappers`: further names of wrappers, separated by commas, `*` at the end stands for any; may be NULL. */
struct hp_frames *hp_frames_new(const struct hp_model *model, struct hp_symbols *symbols,
				const char *wrappers);
void hp_frames_free(struct hp_frames *frames);

/*
 * At a later look of the same model, with its symbols: names that were missing are
 * asked for again.  True if a place has become another function, or a wrapper.
 */
bool hp_frames_look(struct hp_frames *frames, struct hp_symbols *symbols);

/* Grows with each place given out whose names may still be found. */
uint64_t hp_frames_pending(const struct hp_frames *frames);

/* Valid until the next call. */
struct hp_frame_place *hp_frames_at(struct hp_frames *frames, uint32_t object, uint64_t address);

/* Its number: who asks for many of few places keeps it.  The place itself, as above. */
uint32_t hp_frames_number(struct hp_frames *frames, uint32_t object, uint64_t address);
struct hp_frame_place *hp_frames_place(struct hp_frames *frames, uint32_t number);

/* The same with its lines: at least one frame, whose name is never NULL. */
const struct hp_frame_place *hp_frames_lines(struct hp_frames *frames, uint32_t object,
					     uint64_t address);

/* Where the symbol of a place starts; UINT64_MAX = it is in none. */
uint64_t hp_frames_start(const struct hp_frames *frames, const struct hp_frame_place *place);

/* Functions numbered so far. */
size_t hp_frames_functions(const struct hp_frames *frames);
const char *hp_frames_function(const struct hp_frames *frames, uint32_t function);

/* True if a function of this name belongs to an allocator. */
bool hp_frames_is_wrapper(const struct hp_frames *frames, const char *name);

#endif
