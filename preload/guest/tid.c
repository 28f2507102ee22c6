/* SPDX-License-Identifier: MIT */
/*
 * tid.c - see tid.h.
 */
#include "preload/guest/tid.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/kernel_call.h"
#include "preload/guest/self.h"

#define HP_TID_WITHIN 1024	/* glibc keeps the thread id at 720 on x86-64 */

static ptrdiff_t tid_at;	/* in the struct behind pthread_self(); 0 = unknown */

/* The process's first thread, when it had this pid.  It has asked; others ask each time. */
static _Atomic uintptr_t main_self;
static _Atomic uint32_t main_pid;

static uint32_t recorded_pid(void)
{
	return hp_self ? hp_self->pid : 0;
}

static uintptr_t self(void)
{
	return (uintptr_t)pthread_self();
}

static uint32_t ask(void)
{
	return (uint32_t)hp_kernel_call(SYS_gettid, 0, 0, 0);
}

static uint32_t tid_there(ptrdiff_t at)
{
	uint32_t tid;

	memcpy(&tid, (const char *)pthread_self() + at, sizeof(tid));
	return tid;
}

/* A forked child has no record at first, and then another pid. */
static bool is_known_main(void)
{
	return atomic_load_explicit(&main_self, memory_order_relaxed) == self() &&
	       atomic_load_explicit(&main_pid, memory_order_relaxed) == recorded_pid();
}

static uint32_t ask_and_keep(void)
{
	uint32_t tid = ask();

	/* A vfork child is no first thread of the recorded process. */
	if (tid == recorded_pid()) {
		atomic_store_explicit(&main_pid, tid, memory_order_relaxed);
		atomic_store_explicit(&main_self, self(), memory_order_relaxed);
	}
	return tid;
}

uint32_t hp_tid(void)
{
	if (is_known_main())
		return recorded_pid();
	if (hp_is_confined())
		return tid_at ? tid_there(tid_at) : 0;
	return ask_and_keep();
}

bool hp_tid_is_main(void)
{
	if (!hp_is_confined() && !recorded_pid())
		return getpid() == gettid();
	return hp_self && recorded_pid() == hp_tid();
}

/* The C library keeps the thread's id up to date, also after fork. */
static ptrdiff_t find_tid(uint32_t tid)
{
	for (ptrdiff_t at = sizeof(tid); at < HP_TID_WITHIN; at += (ptrdiff_t)sizeof(tid))
		if (tid_there(at) == tid)
			return at;
	return 0;
}

void hp_tid_prepare(void)
{
	tid_at = find_tid(ask());
}

/*
 * Something else may have the value of one thread's id, such as half of an address, but not of the
 * next one's: two threads must have theirs at the same place.
 */
uint32_t hp_tid_born(void)
{
	static _Atomic ptrdiff_t proven;
	static _Atomic ptrdiff_t seen;	/* in one thread */
	ptrdiff_t at = atomic_load_explicit(&proven, memory_order_relaxed);
	uint32_t tid;

	/* A first thread that was forked by another one, and has ended, leaves its memory to us. */
	if (atomic_load_explicit(&main_self, memory_order_relaxed) == self())
		atomic_store_explicit(&main_self, 0, memory_order_relaxed);
	if (at)
		return tid_there(at);
	if (hp_is_confined())
		return hp_tid();
	tid = ask();
	at = atomic_load_explicit(&seen, memory_order_relaxed);
	if (at && tid_there(at) == tid)
		atomic_store_explicit(&proven, at, memory_order_relaxed);
	else
		atomic_store_explicit(&seen, find_tid(tid), memory_order_relaxed);
	return tid;
}
