/* SPDX-License-Identifier: MIT */
/*
 * alloc_exchange.c THREADS ROUNDS - threads that allocate in all ways, and free, resize and replace each other's
 * blocks, at random. Prints "FUNCTION BLOCKS BYTES FREED FREED_BYTES" of each function that allocates.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PLACES 16

enum maker { BY_MALLOC, BY_CALLOC, BY_ALIGNED, BY_MEMALIGN, BY_NULL, BY_REALLOC, BY_ARRAY, MAKERS };

/* At the start of each block. */
struct head {
	uint32_t maker;
	uint32_t size;
};

static _Atomic uint64_t blocks[MAKERS], bytes[MAKERS], freed[MAKERS], freed_bytes[MAKERS];
static _Atomic(struct head *) places[PLACES];
static long rounds;
static __thread uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33) % below;
}

static struct head *made(void *block, uint32_t maker, uint32_t size)
{
	struct head *head = block;

	if (!head)
		abort();
	*head = (struct head){ maker, size };
	blocks[maker]++;
	bytes[maker] += size;
	return head;
}

static void gone(const struct head *head)
{
	freed[head->maker]++;
	freed_bytes[head->maker] += head->size;
}

/* No tail call: the function is to be in the path. */
#define MAKER(name, maker, call) \
	__attribute__((noinline)) static struct head *name(struct head *old, uint32_t size) \
	{ \
		void *volatile block = call; \
		(void)old; \
		return made(block, maker, size); \
	}

MAKER(by_malloc, BY_MALLOC, malloc(size))
MAKER(by_calloc, BY_CALLOC, calloc(1, size))
MAKER(by_aligned, BY_ALIGNED, aligned_alloc(16, size))
MAKER(by_memalign, BY_MEMALIGN, memalign(64, size))
MAKER(by_null, BY_NULL, realloc(NULL, size))
MAKER(by_realloc, BY_REALLOC, realloc(old, size))
MAKER(by_array, BY_ARRAY, reallocarray(old, 1, size))

static struct head *(*const makers[MAKERS])(struct head *old, uint32_t size) = {
	by_malloc, by_calloc, by_aligned, by_memalign, by_null, by_realloc, by_array,
};
static const char *const names[MAKERS] = {
	"by_malloc", "by_calloc", "by_aligned", "by_memalign", "by_null", "by_realloc", "by_array",
};

/* Mostly of few sizes, so that addresses are soon used again. */
static struct head *make(void)
{
	uint32_t size = draw(16) ? 16 + draw(4) * 16 : 16 + draw(6000) * 16;

	return makers[draw(BY_REALLOC)](NULL, size);
}

static void release(struct head *head)
{
	if (!head)
		return;
	gone(head);
	free(head);
}

static void *exchange(void *seed)
{
	state = (uintptr_t)seed * 7919 + 1;
	for (long i = 0; i < rounds; i++) {
		_Atomic(struct head *) *place = &places[draw(PLACES)];
		uint32_t kind = draw(4);
		struct head *head = kind == 1 ? NULL : atomic_exchange(place, NULL);

		if (kind == 0) {
			release(head);
		} else if (kind == 1) {
			release(make());
		} else if (kind == 2) {
			release(head);
			release(atomic_exchange(place, make()));
		} else if (head) {
			gone(head);
			head = makers[BY_REALLOC + draw(2)](head, 16 + draw(200));
			release(atomic_exchange(place, head));
		}
		/* Another thread continues while this one's newest block is in a place. */
		if (draw(16) == 0)
			sched_yield();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int count = argc > 1 ? atoi(argv[1]) : 0;

	rounds = argc > 2 ? atol(argv[2]) : 0;
	for (int i = 0; i < count && i < 64; i++)
		if (pthread_create(&threads[i], NULL, exchange, (void *)(uintptr_t)(i + 1)))
			return 1;
	for (int i = 0; i < count && i < 64; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < MAKERS; i++)
		printf("%s %lu %lu %lu %lu\n", names[i], (unsigned long)blocks[i],
		       (unsigned long)bytes[i], (unsigned long)freed[i],
		       (unsigned long)freed_bytes[i]);
	return 0;
}
