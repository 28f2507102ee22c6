/* SPDX-License-Identifier: MIT */
/*
 * future.h - work that is started, waited for and finished.
 *
 * A struct hp_future is a place where such work begins; a struct hp_flight holds one call of it at
 * a time, from its start to its end, and then the next one. A flight keeps the sums of all its
 * calls, and only the thread that may currently poll the future writes it, so a poll needs no
 * atomic instruction. Starting a call takes a flight off the place's free list, ending it puts it
 * back: one compare-exchange each.
 *
 * For calls with the address of an object, a table of the process (table.c) leads to the flight;
 * coroutines keep it in their promise (struct hotpath_task). Both know its owner: a forked child,
 * or a process that has entered another segment, has none of the earlier flights.
 *
 * Nothing here waits, and all of it may run in signal handlers.  Without room for a flight the
 * call is counted at its place as lost; without room for a place, in hp_account.lost_futures.
 *
 * Folder: preload/future - futures, coroutines and other asynchronous work
 * May use: preload/loop preload/value preload/channel preload/lock preload/wait preload/heap preload/call preload/thread
 *   preload/guest
 *   segment segment/layout util include
 */
#ifndef HP_PRELOAD_FUTURE_FUTURE_H
#define HP_PRELOAD_FUTURE_FUTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/guest/above.h"
#include "preload/guest/guest.h"
#include "preload/guest/self.h"
#include "preload/guest/ticks.h"
#include "preload/heap/heap.h"
#include "segment/clock.h"
#include "segment/layout/future.h"

#define HOTPATH_DECLARATIONS
#include "include/hotpath.h"

extern const struct hp_recorder hp_future_recorder;

/* The library has started, and futures weren't requested. */
extern HP_HIDDEN bool hp_future_is_off;

/* HOTPATH_WITHOUT names it: its functions are passed through. */
extern HP_HIDDEN bool hp_uring_is_without;
extern HP_HIDDEN bool hp_aio_is_without;
extern HP_HIDDEN bool hp_uv_is_without;

/* HOTPATH_LOOP_CALLBACKS: callbacks that the program passes may be exchanged for ours. */
extern HP_HIDDEN bool hp_future_exchanges;

/* They were requested.  Starts the library. */
bool hp_future_is_wanted(void);

/* Starts the library.  False = nothing is recorded. */
bool hp_future_is_on(void);

/* The record of a place in the source, found or created; or of `address` in the code. NULL =
 * nothing is recorded, or no room. */
struct hp_future *hp_future_of_place(struct hotpath_value *place);
struct hp_future *hp_future_of_code(enum hp_future_kind kind, uintptr_t address);

/* A call begins; NULL = no room. */
struct hp_flight *hp_flight_begin(struct hp_future *future);

/* It ends: HP_FUTURE_READY or HP_FUTURE_CANCELLED.  `text`: its result; NULL = none. */
void hp_flight_end(struct hp_future *future, struct hp_flight *flight, enum hp_future_state how,
		   const char *text);

/* A free flight that nobody else knows; NULL = no room, and a call is lost.  It is free again. */
struct hp_flight *hp_flight_take(struct hp_future *future);
void hp_flight_give(struct hp_future *future, struct hp_flight *flight);

/*
 * The same as begin and end for a future whose calls are never polled in a thread (the program
 * only asks if they are ready) and have no text. The caller counts them in `calls`, takes their
 * flights, and reads the clock for several.
 */
struct hp_future_log *hp_future_log_of(struct hp_future *future);

static HP_HOT void hp_flight_start_asked(struct hp_flight *flight, uint64_t number, uint64_t now)
{
	flight->created = now;
	__atomic_store_n(&flight->number, number, __ATOMIC_RELAXED);
	atomic_store_explicit(&flight->state, HP_FUTURE_PENDING, memory_order_release);
}

void hp_flight_finish_asked(struct hp_future_log *log, struct hp_flight *flight, uint64_t now,
			    enum hp_future_state how);

/* The process has ended: its calls did not. */
void hp_flights_leave(struct hp_future *future);

/* It did not start after all, and nothing else knows it. */
void hp_flight_undo(struct hp_future *future, struct hp_flight *flight);

/* Keeps the text until the end of the call. */
void hp_flight_result(struct hp_flight *flight, const char *text);

/* --- table.c: objects --- */

/* The flight at an address. */
struct hp_object_flight {
	struct hp_future *future;
	struct hp_flight *flight;
	uint64_t size;	/* as hp_objects_more has set them; else 0 */
	uint64_t link;
};

/* False = the table is full. */
bool hp_objects_put(uint64_t key, const struct hp_object_flight *to,
		    struct hp_object_flight *before);
bool hp_objects_find(uint64_t key, struct hp_object_flight *found);

/* The size of the object, and the key of another one. Before any other thread can know the key. */
void hp_objects_more(uint64_t key, uint64_t size, uint64_t link);

bool hp_objects_take(uint64_t key, struct hp_object_flight *taken);
void hp_objects_forget(void);

/* Calls `found` with each key whose bits under `mask` are `bits`; it may take that one. */
void hp_objects_each(uint64_t bits, uint64_t mask, void (*found)(uint64_t key));

/* The same with a call's begin and end: an earlier call that did not end counts as cancelled. */
void hp_future_begin_at(struct hp_future *future, uint64_t key);

/* The program checked, and it is not done. */
void hp_future_ask_at(uint64_t key);

/* It did not start after all: undoes its start. */
void hp_future_undo_at(uint64_t key);

/* False = there is none, or another thread ended it. */
bool hp_future_end_at(uint64_t key, enum hp_future_state how, const char *text);

/* A thread is created by the code at `at`: its flight, NULL = none; a thread of which nothing else is known. */
struct hp_object_flight hp_future_thread(uintptr_t at);
void hp_future_thread_lost(uintptr_t at);

/* --- polls --- */

/* The thread's allocations so far, as far as it is recorded; it has no heap before the first allocation. */
struct hp_allocated {
	uint64_t thread;
	uint64_t bytes;
	uint64_t blocks;
};

#define HP_NO_HEAP UINT64_MAX	/* blocks */

static inline struct hp_allocated hp_flight_allocated(void)
{
	const struct hp_heap_local *me = hp_heap();
	const struct hp_heap *heap = me->heap;
	struct hp_allocated now = { (uintptr_t)&hp_heap_pointer, 0, HP_NO_HEAP };

	if (HP_LIKELY(heap)) {
		now.bytes = heap->bytes + heap->temporary_bytes + heap->pending_bytes;
		now.blocks = me->blocks - me->countdown;
	}
	return now;
}

/* A call that was not polled before: how long it was in the queue. */
void hp_flight_first(struct hp_flight *flight, uint64_t now);

static HP_HOT void hp_flight_poll(struct hp_flight *flight)
{
	uint64_t now = hp_ticks();

	struct hp_allocated allocated = hp_flight_allocated();

	flight->begun_thread = allocated.thread;
	flight->begun_bytes = allocated.bytes;
	flight->begun_blocks = allocated.blocks;
	if (HP_UNLIKELY(flight->polls == flight->polls_before))
		hp_flight_first(flight, now);
	flight->polls++;
	atomic_store_explicit(&flight->state, HP_FUTURE_RUNNING, memory_order_relaxed);
	flight->begun = now;
}

/* The thread has allocated something since the poll began. */
void hp_flight_charge(struct hp_flight *flight, const struct hp_allocated *now);

static HP_HOT void hp_flight_pause(struct hp_flight *flight)
{
	struct hp_allocated allocated;
	uint64_t now;

	if (HP_UNLIKELY(atomic_load_explicit(&flight->state, memory_order_relaxed) !=
			HP_FUTURE_RUNNING))
		return;
	flight->alloc_last = 0;
	allocated = hp_flight_allocated();
	/* A poll that another thread ends: the difference of two threads' sums is meaningless. */
	if (HP_UNLIKELY(allocated.blocks != flight->begun_blocks) &&
	    allocated.thread == flight->begun_thread)
		hp_flight_charge(flight, &allocated);
	atomic_store_explicit(&flight->state, HP_FUTURE_SUSPENDED, memory_order_relaxed);
	now = hp_ticks();
	if (HP_LIKELY(now && flight->begun)) {
		uint64_t ticks = hp_clock_between(flight->begun, now);

		flight->timed++;
		flight->poll_ticks += ticks;
		flight->poll_last = ticks;
		if (ticks > flight->poll_most)
			flight->poll_most = ticks;
	}
	flight->begun = 0;
}

/* The poll that has just ended continues, as if it had not ended. */
void hp_flight_continue(struct hp_flight *flight);

#endif
