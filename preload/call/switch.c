/* SPDX-License-Identifier: MIT */
/*
 * switch.c - the word through which the kernel reports a context switch.
 */
#include "preload/call/switch.h"

#include <linux/rseq.h>
#include <stddef.h>

#include "preload/guest/tid.h"

/* Of glibc 2.35 and later (sys/rseq.h). */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

#if defined(__x86_64__)
#define HP_RSEQ 1
/* The signature that glibc registers (its bits/rseq.h) precedes the abort address. */
__asm__(".pushsection .text.hp_switch, \"ax\", @progbits\n"
	"	.long 0x53053053\n"
	"hp_switch_abort:\n"
	"	ud2\n"
	"hp_switch_begin:\n"
	"	nop\n"
	"hp_switch_end:\n"
	"	ud2\n"
	".popsection\n");
#else
#define HP_RSEQ 0
#endif

#if HP_RSEQ
extern const char hp_switch_abort[] __attribute__((visibility("hidden")));
extern const char hp_switch_begin[] __attribute__((visibility("hidden")));

/* Not constant, since it holds addresses; aligned as the kernel requires. */
static struct rseq_cs section __attribute__((aligned(32)));

#endif

static uint64_t never_zero = 1;

void hp_switch_init(struct hp_local *me)
{
	me->switch_word = &never_zero;
#if HP_RSEQ
	/* Size 0 = glibc did not register (another kernel, a tunable, a tracer). */
	if (!&__rseq_offset || !&__rseq_size || __rseq_size == 0)
		return;
	section.start_ip = (uintptr_t)hp_switch_begin;
	section.post_commit_offset = 1;
	section.abort_ip = (uintptr_t)hp_switch_abort;
	me->switch_word =
		(uint64_t *)(hp_tid_pointer() + __rseq_offset + offsetof(struct rseq, rseq_cs));
	hp_switch_arm(me);
#endif
}

void hp_switch_arm(struct hp_local *me)
{
#if HP_RSEQ
	if (me->switch_word != &never_zero)
		*(volatile uint64_t *)me->switch_word = (uintptr_t)&section;
#else
	(void)me;
#endif
}

void hp_switch_release(struct hp_local *me)
{
	if (me->switch_word != &never_zero)
		*(volatile uint64_t *)me->switch_word = 0;
}
