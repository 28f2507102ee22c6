/* SPDX-License-Identifier: MIT */
/*
 * thread.c - allocations and frees of threads, for the section of threads.
 *
 * A thread's bytes are those that it requested and those that it freed,
 * regardless of who allocated them: so a consuming thread may have a
 * negative balance.
 */
#include <stdlib.h>

#include "report/section/memory/section.h"
#include "report/base/format.h"
#include "report/base/memory.h"

const struct hp_alloc_thread *hp_alloc_thread_of(const struct hp_report *report, uint32_t pid,
						 uint32_t tid)
{
	const struct hp_alloc *alloc = hp_alloc_of(report);

	for (size_t i = 0; alloc && i < alloc->thread_count; i++)
		if (alloc->threads[i].tid == tid && alloc->threads[i].pid == pid)
			return &alloc->threads[i];
	return NULL;
}

struct sums {
	struct hp_text_cell allocated;
	struct hp_text_cell freed;
	struct hp_text_cell difference;
};

static const struct hp_alloc *sum(const struct hp_report *report, struct sums *sums)
{
	const struct hp_alloc *alloc = hp_alloc_of(report);

	if (!alloc || !alloc->all.count)
		return NULL;
	hp_format_bytes(&sums->allocated, alloc->all.bytes);
	hp_format_bytes(&sums->freed, alloc->all.freed_bytes);
	hp_format_signed_bytes(&sums->difference,
			       (double)(int64_t)(alloc->all.bytes - alloc->all.freed_bytes));
	return alloc;
}

char *hp_alloc_threads_note(const struct hp_report *report)
{
	struct sums sums;

	if (!sum(report, &sums))
		return NULL;
	return hp_xprintf("Alloc: %s, Dealloc: %s, Diff: %s", sums.allocated.text, sums.freed.text,
			  sums.difference.text);
}

void hp_alloc_threads_add(struct hp_report *report, cJSON *list)
{
	struct sums sums;

	if (!sum(report, &sums))
		return;
	cJSON_AddStringToObject(list, "total_alloc_bytes", sums.allocated.text);
	cJSON_AddStringToObject(list, "total_dealloc_bytes", sums.freed.text);
	cJSON_AddStringToObject(list, "alloc_dealloc_diff", sums.difference.text);
}
