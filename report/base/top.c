/* SPDX-License-Identifier: MIT */
/*
 * top.c - see top.h.
 *
 * Few of many rows are shown. The best so far form a heap with the worst at its
 * root, so most rows are compared with the root only.
 */
#include "report/base/top.h"

#include <stdlib.h>

#define PART 8 /* sorting all is as fast when more than one row in this many is wanted */

struct heap {
	const void **rows;
	size_t count;
	int (*compare)(const void *left, const void *right, void *context);
	void *context;
};

static void swap(const void **a, const void **b)
{
	const void *row = *a;

	*a = *b;
	*b = row;
}

static void sink(struct heap *heap, size_t at)
{
	for (;;) {
		size_t worst = at, below = 2 * at + 1;

		for (size_t i = below; i < below + 2 && i < heap->count; i++)
			if (heap->compare(&heap->rows[i], &heap->rows[worst], heap->context) > 0)
				worst = i;
		if (worst == at)
			return;
		swap(&heap->rows[at], &heap->rows[worst]);
		at = worst;
	}
}

void hp_top_sort(const void **rows, size_t count, size_t most,
		 int (*compare)(const void *left, const void *right, void *context), void *context)
{
	struct heap heap = { rows, most, compare, context };

	if (most > count / PART) {
		if (count)
			qsort_r(rows, count, sizeof(*rows), compare, context);
		return;
	}
	for (size_t i = most / 2; i-- > 0;)
		sink(&heap, i);
	for (size_t i = most; most && i < count; i++)
		if (compare(&rows[i], &rows[0], context) < 0) {
			swap(&rows[i], &rows[0]);
			sink(&heap, 0);
		}
	if (most)
		qsort_r(rows, most, sizeof(*rows), compare, context);
}
