/* SPDX-License-Identifier: MIT */
/*
 * trail.h - the last walk of a thread, so that the next one goes only as far as they differ.
 *
 * Two samples of a thread mostly share their outer frames.  A frame is kept with
 * the words of the stack that decided how its caller was found.  A walk that
 * comes to a frame with the same pc and stack pointer, and to one whose words
 * and those of all frames further out still hold the same, would continue as
 * before: the known rest of its path is taken over.  The
 * frame pointer must be the same only where a later step uses it: code without
 * frame pointers keeps anything in that register.
 *
 * Frames are kept from the outermost in, so two walks share a start of the
 * list, and the new frames follow it.
 */
#ifndef HP_SAMPLER_SAMPLE_TRAIL_H
#define HP_SAMPLER_SAMPLE_TRAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/sample/tree.h"

#define HP_TRAIL_MAX 256	/* frames; a deeper stack is not kept */
#define HP_TRAIL_WORDS 3	/* of a frame; a frame that needs more isn't kept, nor are its callers */

/* A word of the stack that decided a step. */
struct hp_trail_word {
	uint64_t address;
	uint64_t value;
};

struct hp_trail_frame {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	struct hp_place place;
	struct hp_tree_path path;	/* from outside up to here */
	uint8_t word_count;	/* HP_TRAIL_WORDS + 1 = it needed more */
	uint8_t fp_word;	/* 1 + place among the words of the caller's frame pointer; 0 = it was left alone */
	bool is_exact;	/* pc is of an instruction, not a return address */
	bool uses_fp;	/* the step itself needs the frame pointer */
	bool needs_fp;	/* or one further out does */
	struct hp_trail_word words[HP_TRAIL_WORDS];
};

struct hp_trail {
	uint32_t pid;
	uint32_t tid;
	uint64_t mapped;	/* hp_space.mapped when it was made */
	uint32_t count;	/* 0 = none exists */
	struct hp_trail_frame frames[HP_TRAIL_MAX];
};

/* A copy of the stack. */
struct hp_stack_copy {
	const uint8_t *bytes;
	uint64_t begin;	/* its address in the process */
	uint64_t end;
};

/* How many frames, from the outermost in, would be walked as before. */
uint32_t hp_trail_valid(const struct hp_trail *trail, const struct hp_stack_copy *copy);

/* True if a walk that stands at `at` (pc, sp, fp, is_exact) stands in that frame. */
static inline bool hp_trail_is_at(const struct hp_trail_frame *frame,
				  const struct hp_trail_frame *at)
{
	return frame->pc == at->pc && frame->sp == at->sp && frame->is_exact == at->is_exact &&
	       (!frame->needs_fp || frame->fp == at->fp);
}

/* Begins to note a frame. */
static inline void hp_trail_note(struct hp_trail_frame *frame, uint64_t address, uint64_t value)
{
	if (frame->word_count < HP_TRAIL_WORDS)
		frame->words[frame->word_count] = (struct hp_trail_word){ address, value };
	frame->word_count += frame->word_count <= HP_TRAIL_WORDS;
}

/*
 * Keeps the first `kept` frames and puts `count` new ones after them, which are
 * given the innermost first.
 */
void hp_trail_extend(struct hp_trail *trail, uint32_t kept, const struct hp_trail_frame *fresh,
		     uint32_t count);

/* The trails of threads: one for each of some, by tid; an equal key replaces it. */
struct hp_trails {
	struct hp_trail **list;
};

#define HP_TRAILS 64

bool hp_trails_init(struct hp_trails *trails);
void hp_trails_release(struct hp_trails *trails);

/* NULL = none exists of this thread. */
static inline const struct hp_trail *hp_trails_known(const struct hp_trails *trails, uint32_t pid,
						     uint32_t tid)
{
	const struct hp_trail *trail = trails->list[tid % HP_TRAILS];

	return trail && trail->pid == pid && trail->tid == tid ? trail : NULL;
}

/*
 * The thread's, with nothing in it if it is another thread's or is of other
 * mappings; NULL = out of memory.
 */
struct hp_trail *hp_trails_of(struct hp_trails *trails, uint32_t pid, uint32_t tid,
			      uint64_t mapped);

#endif
