/* SPDX-License-Identifier: MIT */
/*
 * hooks_stack.c - many stacks and deep ones: coroutines by swapcontext and by
 * hand, close to each other, nested, abandoned, in memory used again, moved
 * from thread to thread; recursion of every depth; and the times of all these.
 */
#include "hooks.h"

#include <pthread.h>
#include <ucontext.h>

static volatile long passes;

COUNTER(leaf);
SEEN static void leaf(void)
{
	CALLED(leaf);
	passes++;
}

COUNTER(coroutine_step);
static void coroutine_yield(void);
SEEN static void coroutine_step(long depth)
{
	CALLED(coroutine_step);
	leaf();
	if (depth)
		coroutine_step(depth - 1);
	coroutine_yield();
	leaf();
}

/* ---- swapcontext ---- */

#define SMALL 16384
static ucontext_t main_context;
static struct coroutine {
	ucontext_t context;
	ucontext_t *back;
	int has_ended;
} * running;
static long steps_each;

UNSEEN static void coroutine_yield(void)
{
	struct coroutine *me = running;

	swapcontext(&me->context, me->back);
}

UNSEEN static void coroutine_body(void)
{
	for (long i = 0; i < steps_each; i++)
		coroutine_step(i % 5);
	running->has_ended = 1;
	setcontext(running->back);
}

UNSEEN static void resume(struct coroutine *c, ucontext_t *back)
{
	struct coroutine *before = running;

	c->back = back;
	running = c;
	swapcontext(back, &c->context);
	running = before;
}

UNSEEN static void coroutine_make(struct coroutine *c, char *stack, size_t size)
{
	memset(c, 0, sizeof(*c));
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = stack;
	c->context.uc_stack.ss_size = size;
	makecontext(&c->context, coroutine_body, 0);
}

COUNTER(scheduler);
SEEN static void scheduler(struct coroutine *all, long count)
{
	long live = count;

	CALLED(scheduler);
	while (live) {
		live = 0;
		for (long i = 0; i < count; i++) {
			if (!all[i].has_ended)
				resume(&all[i], &main_context);
			live += !all[i].has_ended;
		}
	}
}

/* `count` coroutines on stacks side by side. */
static void adjacent(long count)
{
	struct coroutine *all = calloc((size_t)count, sizeof(*all));
	char *stacks = malloc((size_t)count * SMALL);

	steps_each = 20;
	for (long i = 0; i < count; i++)
		coroutine_make(&all[i], stacks + i * SMALL, SMALL);
	scheduler(all, count);
}

/* Abandoned in the middle, their memory reused by the next. */
static void abandoned(long count)
{
	struct coroutine *all = calloc(8, sizeof(*all));
	char *stacks = malloc(8 * SMALL);

	steps_each = 20;
	for (long i = 0; i < count; i++) {
		struct coroutine *c = &all[i & 7];

		coroutine_make(c, stacks + (i & 7) * SMALL, SMALL);
		for (long k = 0; k < i % 11; k++)
			resume(c, &main_context);
	}
	leaf();
}

static struct coroutine *inner_one;

COUNTER(outer_step);
SEEN static void outer_step(void)
{
	ucontext_t here;

	CALLED(outer_step);
	if (!inner_one->has_ended)
		resume(inner_one, &here);
	leaf();
}

UNSEEN static void outer_body(void)
{
	struct coroutine *me = running;

	for (int i = 0; i < 50; i++) {
		outer_step();
		running = me;
		coroutine_yield();
	}
	me->has_ended = 1;
	setcontext(me->back);
}

/* A coroutine that drives another one. */
static void nested(long count)
{
	struct coroutine outer;
	char *stacks = malloc(2 * SMALL);

	steps_each = 10;
	inner_one = calloc(1, sizeof(*inner_one));
	for (long i = 0; i < count; i++) {
		coroutine_make(inner_one, stacks, SMALL);
		coroutine_make(&outer, stacks + SMALL, SMALL);
		makecontext(&outer.context, outer_body, 0);
		while (!outer.has_ended)
			resume(&outer, &main_context);
	}
}

/* ---- by hand ---- */

#ifdef __x86_64__
void switch_stack(void **save, void *to);
__asm__(".text\n.type switch_stack, @function\nswitch_stack:\n"
	"\tpush %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n"
	"\tmov %rsp, (%rdi)\n\tmov %rsi, %rsp\n"
	"\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\tret\n"
	".size switch_stack, .-switch_stack\n");

static void *hand_home, *hand_away;

COUNTER(hand_step);
SEEN static void hand_step(long depth)
{
	CALLED(hand_step);
	leaf();
	if (depth)
		hand_step(depth - 1);
	switch_stack(&hand_away, hand_home);
	leaf();
}

UNSEEN static void hand_body(void)
{
	for (long i = 0;; i++)
		hand_step(i % 4);
}

COUNTER(hand_drive);
SEEN static void hand_drive(long count)
{
	CALLED(hand_drive);
	for (long i = 0; i < count; i++) {
		switch_stack(&hand_home, hand_away);
		leaf();
	}
}

static void by_hand(long count)
{
	char *stack = aligned_alloc(16, SMALL);
	void **top = (void **)(void *)(stack + SMALL) - 10;	/* aligned as after a call */

	memset(top, 0, 10 * sizeof(*top));
	top[6] = (void *)hand_body;
	hand_away = top;
	hand_drive(count);
}

/* The stack moves to another thread at each step. */
static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_next = PTHREAD_COND_INITIALIZER;
static long turn, turns;

COUNTER(mover);
SEEN static void *mover(void *mine)
{
	CALLED(mover);
	pthread_mutex_lock(&turn_lock);
	while (turn < turns) {
		while (turn < turns && turn % 2 != (long)mine)
			pthread_cond_wait(&turn_next, &turn_lock);
		if (turn < turns)
			hand_drive(1);
		turn++;
		pthread_cond_broadcast(&turn_next);
	}
	pthread_mutex_unlock(&turn_lock);
	return NULL;
}

static void migrating(long count)
{
	char *stack = aligned_alloc(16, SMALL);
	void **top = (void **)(void *)(stack + SMALL) - 10;	/* aligned as after a call */
	pthread_t other;

	memset(top, 0, 10 * sizeof(*top));
	top[6] = (void *)hand_body;
	hand_away = top;
	turns = count;
	DIE_IF(pthread_create(&other, NULL, mover, (void *)1));
	mover((void *)0);
	pthread_join(other, NULL);
}
#endif

/* ---- recursion ---- */

COUNTER(down);
SEEN static long down(long depth)
{
	long below;

	CALLED(down);
	if (depth == 0)
		return 0;
	below = down(depth - 1);
	passes++;
	return below + 1;
}

static void recursion(long count)
{
	for (int i = 0; i < 3; i++)
		down(count);
}

COUNTER(ping);
COUNTER(pong);
static void pong(long depth);
SEEN static void ping(long depth)
{
	CALLED(ping);
	spin_ns(20000);
	if (depth)
		pong(depth - 1);
	passes++;
}

SEEN static void pong(long depth)
{
	CALLED(pong);
	spin_ns(60000);
	if (depth)
		ping(depth - 1);
	passes++;
}

/*
 * Known own times: 20 us per ping, 60 us per pong, and more on a busy CPU; the
 * total is that of the outermost. The hooks account for a little less.
 */
static void mutual(long count)
{
	uint64_t pings = (uint64_t)(count + 2) / 2 * 20000;
	uint64_t pongs = (uint64_t)(count + 1) / 2 * 60000;
	uint64_t began = now_ns(), took;

	ping(count);
	took = now_ns() - began;
	printf("inclusive ping %lu %lu\n", (pings + pongs) * 98 / 100, took);
	printf("inclusive pong %lu %lu\n", (pings + pongs - 20000) * 98 / 100, took);
	printf("self ping %lu %lu\n", pings * 98 / 100, took - pongs * 98 / 100);
	printf("self pong %lu %lu\n", pongs * 98 / 100, took - pings * 98 / 100);
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "adjacent", adjacent },   { "abandoned", abandoned }, { "nested", nested },
#ifdef __x86_64__
		{ "by_hand", by_hand },	    { "migrating", migrating },
#endif
		{ "recursion", recursion }, { "mutual", mutual },	{ NULL, NULL },
	};

	return scene_run(scenes, argc, argv);
}
