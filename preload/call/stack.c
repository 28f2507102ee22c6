/* SPDX-License-Identifier: MIT */
/*
 * stack.c - the shadow stacks of a thread.
 *
 * Where a machine stack ends is known for threads that glibc made (their
 * descriptor lies at the top, the default size below it) and for the main
 * thread.  Others are learned: a stack pointer on no known stack starts a new
 * one, which then grows with the calls on it, as far as the next known one.
 */
#include "preload/call/stack.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "preload/call/row.h"
#include "preload/call/tally.h"
#include "preload/call/clock.h"
#include "preload/guest/confine.h"
#include "preload/guest/pages.h"
#include "preload/guest/self.h"
#include "preload/guest/tid.h"

extern void *__libc_stack_end __attribute__((weak));

#define HP_STACK_MAX (UINT64_C(256) << 20)	/* of an unlimited one */
#define HP_STACK_STEP 65536	/* a learnt stack grows by calls at most this far apart */
#define HP_STACK_FIRST 8192	/* a learnt stack reaches this far below the first call */
#define HP_STACK_ABOVE 1024	/* and this far above it */
#define HP_PART_FIRST 128	/* frames */
#define HP_PART_GUEST 32
#define HP_PART_MAX 65536

static struct hp_frame *row_frame(struct hp_part *part, struct hp_row *row, uintptr_t cfa)
{
	part->frames[0] = (struct hp_frame){ .row = (uintptr_t)row, .cfa = cfa | 1 };
	return part->frames + 1;
}

/* No frame is ever without a row: a handler may find one that is claimed but not filled. */
static void part_fill(const struct hp_local *me, struct hp_part *part, uint32_t capacity)
{
	part->capacity = capacity;
	for (uint32_t i = 0; i < capacity; i++) {
		part->frames[i].row = (uintptr_t)me->root;
		part->frames[i].tally = 0;
	}
}

/* The smallest sufficient part that an earlier process left in the block. */
static struct hp_part *part_left(const struct hp_local *me, uint32_t capacity)
{
	uint64_t at = atomic_load_explicit(&me->block->parts, memory_order_relaxed);
	struct hp_part *least = NULL;
	struct hp_part *part;

	for (; at && me->is_adopted; at = part->next) {
		part = (struct hp_part *)(me->base + at);
		if (part->user != me->user && part->capacity >= capacity &&
		    (!least || part->capacity < least->capacity))
			least = part;
	}
	return least;
}

static struct hp_part *part_adopted(const struct hp_local *me, uint32_t capacity)
{
	struct hp_part *part = part_left(me, capacity);

	if (!part)
		return NULL;
	part_fill(me, part, part->capacity);
	part->user = me->user;
	part->below = 0;
	part->above = 0;
	part->resume = 0;
	return part;
}

/* The segment holds the frames, so that a report sees them after a kill; else our own pages. */
static struct hp_part *part_new(struct hp_local *me, uint32_t capacity)
{
	uint64_t size = sizeof(struct hp_part) + capacity * sizeof(struct hp_frame);
	struct hp_part *part = part_adopted(me, capacity);

	if (part)
		return part;
	part = hp_row_take(me, size);
	if (part) {
		part_fill(me, part, capacity);
		part->user = me->user;
		part->next = atomic_load_explicit(&me->block->parts, memory_order_relaxed);
		atomic_store_explicit(&me->block->parts, (uint64_t)((char *)part - me->base),
				      memory_order_release);
		return part;
	}
	part = hp_pages(size);
	if (part)
		part_fill(me, part, capacity);
	return part;
}

static void current(struct hp_local *me, struct hp_part *part, struct hp_frame *top)
{
	me->stack->part = part;
	me->top = top;
	me->open_limit = part->frames + part->capacity;
}

bool hp_stack_grow(struct hp_local *me)
{
	struct hp_part *below = me->stack->part;
	struct hp_part *above = (struct hp_part *)(uintptr_t)below->above;
	struct hp_frame *last = me->top - 1;
	uint32_t capacity = below->capacity < HP_PART_MAX ? below->capacity * 2 : HP_PART_MAX;

	if (!above) {
		above = part_new(me, capacity);
		if (!above)
			return false;
		above->below = (uintptr_t)below;
		below->above = (uintptr_t)above;
	}
	above->resume = (uintptr_t)me->top;
	current(me, above, row_frame(above, (struct hp_row *)(uintptr_t)last->row, last->cfa));
	return true;
}

bool hp_stack_shrink(struct hp_local *me)
{
	struct hp_part *part = me->stack->part;
	struct hp_part *below = (struct hp_part *)(uintptr_t)part->below;
	struct hp_frame *resume = (struct hp_frame *)(uintptr_t)part->resume;

	if (!below)
		return false;
	resume[-1].child += part->frames[0].child;
	part->frames[0].child = 0;
	if (part->frames[0].weight & HP_WEIGHT_TALLY)
		hp_tally_pass(me, &part->frames[0], resume - 1);
	current(me, below, resume);
	return true;
}

bool hp_stack_has(const struct hp_local *me, uintptr_t fn)
{
	const struct hp_part *part = me->stack->part;
	const struct hp_frame *top = me->top;

	for (;;) {
		for (const struct hp_frame *f = top - 1; f > part->frames; f--)
			if (((const struct hp_row *)(uintptr_t)f->row)->fn == fn)
				return true;
		if (!part->below)
			return false;
		top = (const struct hp_frame *)(uintptr_t)part->resume;
		part = (const struct hp_part *)(uintptr_t)part->below;
	}
}

/* The machine stack that holds `cfa`, if something other than calls announced it. */
static void bounds(uintptr_t cfa, uintptr_t *low, uintptr_t *high)
{
	static struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	uintptr_t end = (uintptr_t)pthread_self();
	uintptr_t size;

	if (&__libc_stack_end && hp_tid_is_main())
		end = (uintptr_t)__libc_stack_end + 65536;
	if (!hp_is_confined())
		getrlimit(RLIMIT_STACK, &limit);
	size = limit.rlim_cur < HP_STACK_MAX ? limit.rlim_cur : HP_STACK_MAX;
	if (cfa <= end && end - cfa < size) {
		*low = end - size;
		*high = end;
		return;
	}
	*low = cfa - HP_STACK_FIRST;
	*high = cfa + HP_STACK_ABOVE;
}

static void stack_place(struct hp_stack *stack, uintptr_t cfa, uintptr_t low, uintptr_t high)
{
	stack->low = low;
	stack->high = high;
	stack->first = cfa;
	stack->left = 0;
	stack->lowest->frames[0].cfa = high | 1;
}

static struct hp_stack *stack_new(struct hp_local *me, uint32_t capacity)
{
	struct hp_stack *stack = me->free_guests;

	if (stack) {
		me->free_guests = stack->next;
		return stack;
	}
	stack = hp_local_memory(me, sizeof(*stack));
	if (!stack)
		return NULL;
	stack->part = part_new(me, capacity);
	if (!stack->part)
		return NULL;
	stack->lowest = stack->part;
	stack->top = row_frame(stack->part, me->root, 0);
	stack->limit = stack->part->frames + stack->part->capacity;
	return stack;
}

bool hp_stack_init(struct hp_local *me, uintptr_t cfa)
{
	struct hp_stack *stack = stack_new(me, HP_PART_FIRST);

	if (!stack)
		return false;
	me->home = stack;
	me->stacks = stack;
	hp_stack_move(me, cfa);
	return true;
}

void hp_stack_move(struct hp_local *me, uintptr_t cfa)
{
	struct hp_stack *stack = me->home;
	uintptr_t low, high;

	bounds(cfa, &low, &high);
	stack_place(stack, cfa, low, high);
	me->stack = stack;
	me->low = low;
	me->top = stack->lowest->frames + 1;
	me->open_limit = stack->lowest->frames + stack->lowest->capacity;
}

static void switch_to(struct hp_local *me, struct hp_stack *stack)
{
	uint64_t now = hp_clock(me) - (me->overhead >> HP_FINE_BITS);

	me->stack->left = now;
	me->stack->top = me->top;
	me->stack->limit = me->open_limit;
	stack->from = me->stack;
	/* Time on other stacks is excluded from own times of calls on this one. */
	if (stack->left && now > stack->left)
		stack->top[-1].child += (now - stack->left) << HP_FINE_BITS;
	me->stack = stack;
	me->top = stack->top;
	me->open_limit = stack->limit;
	me->low = stack->low;
	atomic_signal_fence(memory_order_seq_cst);
	stack->top = NULL;
}

static bool part_holds(const struct hp_part *part, const struct hp_frame *top)
{
	return top > part->frames && top <= part->frames + part->capacity;
}

/* Between its stores, `top` still belongs to the previous part or stack. */
void hp_stack_recover(struct hp_local *me)
{
	struct hp_part *part = me->stack->part;
	const struct hp_part *above = (const struct hp_part *)(uintptr_t)part->above;

	if (me->stack->top && part_holds(part, me->stack->top))
		me->top = me->stack->top;
	else if (above && part_holds(above, me->top))
		me->top = part->frames + part->capacity;
	else if (!part_holds(part, me->top))
		me->top = part->frames + 1;
	me->stack->top = NULL;
	me->open_limit = part->frames + part->capacity;
	me->low = me->stack->low;
}

static struct hp_stack *stack_at(struct hp_local *me, uintptr_t cfa)
{
	for (struct hp_stack *s = me->stacks; s; s = s->next)
		if (cfa >= s->low && cfa <= s->high)
			return s;
	return NULL;
}

/* Limits [*low, *high] to exclude the known stacks around `cfa`. */
static void clip(const struct hp_local *me, uintptr_t cfa, uintptr_t *low, uintptr_t *high)
{
	for (const struct hp_stack *s = me->stacks; s; s = s->next) {
		if (s->high < cfa && s->high >= *low)
			*low = s->high + 1;
		if (s->low > cfa && s->low <= *high)
			*high = s->low - 1;
	}
}

/* swapcontext reported that `cfa` is on another stack than the calls of `s`. */
static bool hint_parts(const struct hp_local *me, const struct hp_stack *s, uintptr_t cfa)
{
	bool has_cfa = cfa > me->hint_low && cfa <= me->hint_high;
	bool has_stack = s->first > me->hint_low && s->first <= me->hint_high;

	return has_cfa != has_stack;
}

/* True if `cfa` can belong to the current stack, a little beyond its known range. */
static bool stack_reaches(struct hp_local *me, uintptr_t cfa)
{
	struct hp_stack *s = me->stack;
	uintptr_t low = cfa - HP_STACK_FIRST, high = cfa + HP_STACK_ABOVE;

	if (hint_parts(me, s, cfa))
		return false;
	clip(me, cfa, &low, &high);
	if (cfa < s->low && me->top[-1].cfa - cfa < HP_STACK_STEP) {
		s->low = low;
		me->low = low;
		return true;
	}
	if (cfa > s->high && cfa - s->high < HP_STACK_FIRST) {
		s->high = high;
		s->lowest->frames[0].cfa = high | 1;
		return true;
	}
	return false;
}

void hp_stack_hint(struct hp_local *me, uintptr_t low, uintptr_t size)
{
	struct hp_stack *home = me->home;

	me->hint_low = size ? low : 0;
	me->hint_high = size ? low + size : 0;
	/* The supposed lower part of the thread's own stack may be another stack. */
	if (me->hint_high > home->low && me->hint_high <= home->first) {
		home->low = me->hint_high;
		if (me->stack == home)
			me->low = home->low;
	}
}

static struct hp_stack *guest_new(struct hp_local *me, uintptr_t cfa)
{
	uintptr_t low = cfa - HP_STACK_FIRST, high = cfa + HP_STACK_ABOVE;
	struct hp_stack *stack = stack_new(me, HP_PART_GUEST);

	if (!stack)
		return NULL;
	clip(me, cfa, &low, &high);
	if (cfa > me->hint_low && cfa <= me->hint_high) {
		low = me->hint_low;
		high = me->hint_high;
	}
	stack_place(stack, cfa, low, high);
	stack->next = me->stacks;
	me->stacks = stack;
	me->block->stacks++;
	return stack;
}

bool hp_stack_select(struct hp_local *me, uintptr_t cfa)
{
	struct hp_stack *stack;

	if (cfa >= me->low && cfa <= me->stack->high)
		return false;
	stack = stack_at(me, cfa);
	if (!stack && stack_reaches(me, cfa))
		return false;
	if (!stack)
		stack = guest_new(me, cfa);
	if (!stack || stack == me->stack)
		return false;
	switch_to(me, stack);
	return true;
}

bool hp_stack_select_known(struct hp_local *me, uintptr_t cfa)
{
	struct hp_stack *stack = stack_at(me, cfa);

	if (stack && stack != me->stack)
		switch_to(me, stack);
	return stack;
}

void hp_stack_tag(struct hp_local *me)
{
	struct hp_part *part = me->stack->part;

	if (me->top == part->frames + 1)
		part = (struct hp_part *)(uintptr_t)part->below;
	for (; part; part = (struct hp_part *)(uintptr_t)part->below)
		if (part->below || me->stack != me->home)
			part->frames[1].cfa |= HP_GUEST_TAG;
}

void hp_stack_untag(struct hp_local *me)
{
	for (struct hp_part *p = me->stack->part; p; p = (struct hp_part *)(uintptr_t)p->below)
		p->frames[1].cfa &= ~HP_GUEST_TAG;
}

/* The stack before the guest may have been a guest itself, and no longer exist. */
static struct hp_stack *stack_back(struct hp_local *me, struct hp_stack *guest)
{
	for (struct hp_stack *s = me->stacks; s; s = s->next)
		if (s == guest->from && s != guest)
			return s;
	return me->home;
}

void hp_stack_return(struct hp_local *me)
{
	struct hp_stack *guest = me->stack;
	struct hp_stack **link = &me->stacks;

	while (me->top == guest->part->frames + 1 && hp_stack_shrink(me))
		;
	if (guest == me->home || me->top != guest->lowest->frames + 1) {
		hp_stack_tag(me);
		return;
	}
	switch_to(me, stack_back(me, guest));
	while (*link && *link != guest)
		link = &(*link)->next;
	if (*link)
		*link = guest->next;
	guest->next = me->free_guests;
	me->free_guests = guest;
}
