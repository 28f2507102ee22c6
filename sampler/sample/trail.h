/* SPDX-License-Identifier: MIT */
/*
 * trail.h - the last walk of a thread, so that the next one only covers the difference.
 *
 * Two samples of a thread usually share their outer frames. A frame is kept with
 * the stack words that determined its caller. A walk that reaches a frame with
 * the same pc and stack pointer, whose words and those of all outer frames are
 * unchanged, would continue as before: the known rest of its path is reused. The
 * frame pointer must be the same only if a later step uses it: code without
 * frame pointers keeps anything in that register.
 *
 * Frames are stored outermost first, so two walks share the start of the
 * list, and new frames follow it.
 */
#ifndef HP_SAMPLER_SAMPLE_TRAIL_H
#define HP_SAMPLER_SAMPLE_TRAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/sample/tree.h"

#define HP_TRAIL_MAX 256	/* frames; a deeper stack is not kept */
#define HP_TRAIL_WORDS 3	/* of a frame; a frame that needs more is not kept, nor are its callers */

/* A word of the stack that determined a step. */
struct hp_trail_word {
	uint64_t address;
	uint64_t value;
};

struct hp_trail_frame {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	struct hp_place place;
	struct hp_tree_path path;	/* from the outermost frame up to here */
	uint8_t word_count;	/* HP_TRAIL_WORDS + 1 = it needed more */
	uint8_t fp_word;	/* 1 + place of the caller's frame pointer among the words; 0 = it was unchanged */
	bool is_exact;	/* pc is an instruction's, not a return address */
	bool uses_fp;	/* the step itself needs the frame pointer */
	bool needs_fp;	/* or an outer one does */
	struct hp_trail_word words[HP_TRAIL_WORDS];
};

struct hp_trail {
	uint32_t pid;
	uint32_t tid;
	uint64_t mapped;	/* hp_space.mapped when it was made */
	uint32_t count;	/* 0 = none */
	struct hp_trail_frame frames[HP_TRAIL_MAX];
};

/* A copy of the stack. */
struct hp_stack_copy {
	const uint8_t *bytes;
	uint64_t begin;	/* its address in the process */
	uint64_t end;
};

/* How many frames, outermost first, would be walked as before. */
uint32_t hp_trail_valid(const struct hp_trail *trail, const struct hp_stack_copy *copy);

/* True if a walk at `at` (pc, sp, fp, is_exact) is in that frame. */
static inline bool hp_trail_is_at(const struct hp_trail_frame *frame,
				  const struct hp_trail_frame *at)
{
	return frame->pc == at->pc && frame->sp == at->sp && frame->is_exact == at->is_exact &&
	       (!frame->needs_fp || frame->fp == at->fp);
}

/* Starts recording a frame. */
static inline void hp_trail_note(struct hp_trail_frame *frame, uint64_t address, uint64_t value)
{
	if (frame->word_count < HP_TRAIL_WORDS)
		frame->words[frame->word_count] = (struct hp_trail_word){ address, value };
	frame->word_count += frame->word_count <= HP_TRAIL_WORDS;
}

/*
 * Keeps the first `kept` frames and appends `count` new ones, which are passed
 * innermost first.
 */
void hp_trail_extend(struct hp_trail *trail, uint32_t kept, const struct hp_trail_frame *fresh,
		     uint32_t count);

/* The trails of some threads, by tid; an equal key replaces one. */
struct hp_trails {
	struct hp_trail **list;
};

#define HP_TRAILS 64

bool hp_trails_init(struct hp_trails *trails);
void hp_trails_release(struct hp_trails *trails);

/* NULL = none for this thread. */
static inline const struct hp_trail *hp_trails_known(const struct hp_trails *trails, uint32_t pid,
						     uint32_t tid)
{
	const struct hp_trail *trail = trails->list[tid % HP_TRAILS];

	return trail && trail->pid == pid && trail->tid == tid ? trail : NULL;
}

/*
 * The thread's, emptied if it belongs to another thread or other mappings;
 * NULL = out of memory.
 */
struct hp_trail *hp_trails_of(struct hp_trails *trails, uint32_t pid, uint32_t tid,
			      uint64_t mapped);

#endif
