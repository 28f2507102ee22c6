/* SPDX-License-Identifier: MIT */
/*
 * request.c - see request.h.
 */
#include "preload/future/request.h"

#include <string.h>

#include "preload/guest/confine.h"
#include "preload/guest/pages.h"

#define BITS_FIRST 7	/* one page */
#define BITS_MOST 16	/* 32,768 numbers in flight */

static uint64_t size_of(uint32_t bits)
{
	return sizeof(struct hp_request) << bits;
}

HP_COLD bool hp_requests_grow(struct hp_requests *requests)
{
	struct hp_requests larger = { .bits = requests->table ? requests->bits + 1 : BITS_FIRST };

	if (larger.bits > BITS_MOST || hp_is_confined())
		return false;
	larger.table = hp_pages(size_of(larger.bits));
	if (!larger.table)
		return false;
	for (uint32_t i = 0; requests->table && i < UINT32_C(1) << requests->bits; i++) {
		const struct hp_request *request = &requests->table[i];

		if (request->first)
			*hp_requests_place(&larger, request->number, request->future) = *request;
	}
	larger.used = requests->used;
	larger.most = UINT32_C(1) << (larger.bits - 1);
	if (requests->table)
		hp_pages_release(requests->table, size_of(requests->bits));
	*requests = larger;
	return true;
}

void hp_requests_clear(struct hp_requests *requests)
{
	if (requests->used)
		memset(requests->table, 0, size_of(requests->bits));
	requests->used = 0;
}
