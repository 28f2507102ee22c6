/* SPDX-License-Identifier: MIT */
/*
 * peak.h - a process's live bytes, now and at the peak.
 */
#ifndef HP_PRELOAD_HEAP_PEAK_H
#define HP_PRELOAD_HEAP_PEAK_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/guest/self.h"
#include "preload/heap/heap.h"

/* The thread holds more than at any time, or much more or less than others know: a new peak? */
void hp_peak_look(struct hp_heap_local *me);

/* The heap has its thread; the process may have others. */
void hp_peak_join(struct hp_heap_local *me);

/* The live bytes of all heaps of the process. */
int64_t hp_peak_live(void);

/* Only this thread ever had a heap in this process. */
static inline bool hp_peak_is_alone(const struct hp_heap_local *me)
{
	return atomic_load_explicit(&hp_self->heaps, memory_order_relaxed) == me && !me->next;
}

/* Counts an ended thread's pending block, in this process, like any other. */
void hp_peak_settle(struct hp_heap *heap, const struct hp_process *process);

/*
 * The process drops privileges, and leaves everything that it holds: that is neither held at the
 * end nor lost, but counted separately. `me` is the calling thread's.
 */
void hp_peak_drop(struct hp_heap_local *me);

/* The process record was an ended process's: its heaps' live bytes are folded. */
void hp_peak_fold(struct hp_process *process);

#endif
