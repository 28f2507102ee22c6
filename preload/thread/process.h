/* SPDX-License-Identifier: MIT */
/*
 * process.h - this process in the session: its record, its threads.
 *
 * Folder: preload/thread - what all recorders need from the process and its
 *   threads: its record in the session, its part of the segment, the loaded
 *   objects.
 * May use: preload/guest segment segment/layout util
 */
#ifndef HP_PRELOAD_THREAD_PROCESS_H
#define HP_PRELOAD_THREAD_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/guest/self.h"
#include "segment/layout/process.h"

/* hp_self itself.  False = no memory, or a kernel without MADV_WIPEONFORK (before 4.14). */
bool hp_self_init(void);

/* Makes the record of this process if it has none yet.  False = no room. */
bool hp_self_open(void);

/*
 * CLOCK_BOOTTIME, ns; 0 = unknown. A child that fork() returns to opens its record with a reading
 * of its parent from before: its start lies between that and now, which as a rule is one tick of
 * the kernel's start times.
 */
uint64_t hp_self_boot_ns(void);
bool hp_self_open_forked(uint64_t before_ns);

/* Records how the process ends: enum hp_ending. */
void hp_self_end(uint32_t ending, int code);

/* The process ends with this thread: if it was the last, frees the records for another process. */
void hp_self_leave(void);

/*
 * The process has dropped privileges (level.h): ends its record and leaves the
 * segment. `is_told`: the call has just returned; otherwise it could write the
 * segment with fewer privileges meanwhile.
 */
void hp_self_drop(bool is_told);

/* After hp_self_end with HP_ENDING_EXEC: the exec failed and the process continues. */
void hp_self_go_on(void);

/* Offset of a new hp_text, 0 = full. */
uint64_t hp_text_new(const char *bytes, size_t length);

#endif
