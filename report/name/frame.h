/* SPDX-License-Identifier: MIT */
/*
 * frame.h - names of the steps of call paths: functions, lines, inlined
 * functions.
 *
 * A place is (object, return address).  Its function comes from the sorted
 * symbols and is cheap.  Lines and inlined functions come from the debug
 * information and are only looked up where they are shown.
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
	char *name;	/* name of the called function */
	uint32_t function;	/* number of that function, from 0 */
	bool is_wrapper;	/* of an allocator: folded into its caller */
	bool is_library;	/* of the C++ library: a row is named after its caller */
	bool has_lines;	/* was tried */
	bool has_own;	/* has lines, and one is in a function that is neither of the above */
	bool is_pending;	/* its name may arrive later, */
	bool has_pending_lines;	/* or its lines may */
	struct hp_frame_line *frames;	/* innermost first; the last is the function */
	size_t count;
};

struct hp_frames;

/*
 * `wrappers`: further names of wrappers, comma-separated, `*` at the end
 * matches anything; may be NULL.
 */
struct hp_frames *hp_frames_new(const struct hp_model *model, struct hp_symbols *symbols,
				const char *wrappers);
void hp_frames_free(struct hp_frames *frames);

/*
 * For a later refresh of the same model: resolves missing names again. True if
 * a place got another function or became a wrapper.
 */
bool hp_frames_look(struct hp_frames *frames, struct hp_symbols *symbols);

/* Counts the returned places whose names may arrive later. */
uint64_t hp_frames_pending(const struct hp_frames *frames);

/* Valid until the next call. */
struct hp_frame_place *hp_frames_at(struct hp_frames *frames, uint32_t object, uint64_t address);

/* Its number, for callers that query few places often. The place itself, as above. */
uint32_t hp_frames_number(struct hp_frames *frames, uint32_t object, uint64_t address);
struct hp_frame_place *hp_frames_place(struct hp_frames *frames, uint32_t number);

/* The same with its lines: at least one frame, whose name is never NULL. */
const struct hp_frame_place *hp_frames_lines(struct hp_frames *frames, uint32_t object,
					     uint64_t address);

/*
 * The symbol of a place that nobody asked about yet and that has no lines, as in the file, and its
 * start: for a kept run, whose report makes a readable name of it if it is shown. NULL = hp_frames_at
 * and hp_frames_lines have more, or there is none. Without `wants_lines` they are not looked for.
 */
const char *hp_frames_symbol(const struct hp_frames *frames, uint32_t object, uint64_t address,
			     bool wants_lines, uint64_t *start);

/* Start of the symbol at a place; UINT64_MAX = none. */
uint64_t hp_frames_start(const struct hp_frames *frames, const struct hp_frame_place *place);

/* Functions numbered so far. */
size_t hp_frames_functions(const struct hp_frames *frames);
const char *hp_frames_function(const struct hp_frames *frames, uint32_t function);

/* True if a function of this name belongs to an allocator. */
bool hp_frames_is_wrapper(const struct hp_frames *frames, const char *name);

#endif
