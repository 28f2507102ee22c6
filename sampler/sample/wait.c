/* SPDX-License-Identifier: MIT */
/*
 * wait.c - see wait.h.
 */
#include "sampler/sample/wait.h"
#include "util/assert.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 256
#define ROOM_MAX (UINT32_C(1) << 20)

static struct hp_wait_thread *slot_of(const struct hp_waits *waits, uint32_t tid)
{
	uint32_t at = tid * UINT32_C(0x9E3779B1);

	for (;; at++) {
		struct hp_wait_thread *slot = &waits->threads[at & (waits->room - 1)];

		if (!slot->tid || slot->tid == tid)
			return slot;
	}
}

/* Threads that do not wait are added again when they do. */
static bool is_kept(const struct hp_wait_thread *thread)
{
	return thread->out_ns || (thread->open_count && !thread->is_ended);
}

static bool grow(struct hp_waits *waits)
{
	struct hp_waits larger = { .room = waits->room ? waits->room * 2 : ROOM_FIRST };

	if (waits->count * 2 < waits->room)
		return true;
	if (larger.room > ROOM_MAX ||
	    !(larger.threads = calloc(larger.room, sizeof(*larger.threads))))
		return false;
	for (uint32_t i = 0; i < waits->room; i++)
		if (waits->threads[i].tid && is_kept(&waits->threads[i])) {
			*slot_of(&larger, waits->threads[i].tid) = waits->threads[i];
			larger.count++;
		} else {
			free(waits->threads[i].open);
		}
	free(waits->threads);
	*waits = larger;
	return true;
}

struct hp_wait_thread *hp_wait_thread_of(struct hp_waits *waits, uint32_t tid)
{
	struct hp_wait_thread *thread;

	if (!tid || tid == HP_TID_GONE || !grow(waits))
		return NULL;
	thread = slot_of(waits, tid);
	if (!thread->tid) {
		memset(thread, 0, sizeof(*thread));
		thread->tid = tid;
		waits->count++;
	}
	return thread;
}

void hp_wait_keep(struct hp_wait_thread *thread, const struct hp_wait_open *wait)
{
	if (!thread->open)
		thread->open = calloc(HP_WAITS_OPEN, sizeof(*thread->open));
	if (!thread->open)
		return;
	if (thread->open_count == HP_WAITS_OPEN) {
		thread->open_count -= HP_WAITS_OPEN / 2;
		memmove(thread->open, thread->open + HP_WAITS_OPEN / 2,
			thread->open_count * sizeof(*thread->open));
	}
	HP_ASSERT(thread->open_count < HP_WAITS_OPEN);
	thread->open[thread->open_count++] = *wait;
}

void hp_waits_release(struct hp_waits *waits)
{
	for (uint32_t i = 0; i < waits->room; i++)
		free(waits->threads[i].open);
	free(waits->threads);
	memset(waits, 0, sizeof(*waits));
}
