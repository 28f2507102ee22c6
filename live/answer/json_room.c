/* SPDX-License-Identifier: MIT */
/*
 * json_room.c - see json_room.h.
 */
#include "live/answer/json_room.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PIECES_MAX 24
#define PIECE_FIRST (UINT64_C(1) << 20)	/* bytes; each later one is twice as large */
#define KEPT_MAX (UINT64_C(32) << 20)	/* bytes kept for the next answer */
#define TEXT_FIRST 4096

struct piece {
	char *at;
	size_t size;
};

struct room {
	bool is_open;
	unsigned count;	/* of pieces */
	unsigned now;	/* current piece; earlier ones are used up */
	size_t used;	/* bytes of it */
	size_t text_size;	/* size of the last printed answer */
	struct piece pieces[PIECES_MAX];
};

static _Thread_local struct room room;

/* --- hooks for cJSON --- */

static bool has_room(size_t size)
{
	return room.now < room.count && size <= room.pieces[room.now].size - room.used;
}

/* Advances to a piece of at least `size` bytes. */
static bool piece_next(size_t size)
{
	size_t wanted = PIECE_FIRST << room.count;

	do {
		room.now += room.now < room.count;
		room.used = 0;
	} while (room.now < room.count && room.pieces[room.now].size < size);
	if (room.now < room.count)
		return true;
	if (room.count == PIECES_MAX)
		return false;
	wanted = wanted < size ? size : wanted;
	room.pieces[room.count] = (struct piece){ malloc(wanted), wanted };
	if (!room.pieces[room.count].at)
		return false;
	room.now = room.count++;
	return true;
}

static void *take(size_t size)
{
	void *there;

	if (!room.is_open)
		return malloc(size);
	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (!has_room(size) && !piece_next(size))
		return NULL;
	there = room.pieces[room.now].at + room.used;
	room.used += size;
	return there;
}

static void give(void *memory)
{
	uintptr_t at = (uintptr_t)memory;

	for (unsigned i = 0; i < room.count; i++)
		if (at - (uintptr_t)room.pieces[i].at < room.pieces[i].size)
			return;
	free(memory);
}

/* --- for answers --- */

static void hooks_set(void)
{
	cJSON_InitHooks(&(cJSON_Hooks){ .malloc_fn = take, .free_fn = give });
}

void hp_json_room_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, hooks_set);
}

void hp_json_room_begin(void)
{
	room.is_open = true;
}

static void pieces_drop(unsigned from)
{
	while (room.count > from)
		free(room.pieces[--room.count].at);
}

void hp_json_room_end(void)
{
	size_t kept = 0;
	unsigned stay = 0;

	while (stay < room.count && kept + room.pieces[stay].size <= KEPT_MAX)
		kept += room.pieces[stay++].size;
	pieces_drop(stay);
	room.now = 0;
	room.used = 0;
	room.is_open = false;
}

void hp_json_room_release(void)
{
	pieces_drop(0);
	room.now = 0;
	room.used = 0;
}

char *hp_json_room_print(struct cJSON *json, size_t *size)
{
	size_t expected = room.text_size + room.text_size / 8 + TEXT_FIRST;
	char *text, *copy;

	if (!room.is_open) {
		text = cJSON_PrintUnformatted(json);
		cJSON_Delete(json);
		*size = text ? strlen(text) : 0;
		return text;
	}
	text = cJSON_PrintBuffered(json, expected < INT32_MAX ? (int)expected : INT32_MAX, false);
	if (!text)
		return NULL;
	*size = room.text_size = strlen(text);
	copy = malloc(*size + 1);
	return copy ? memcpy(copy, text, *size + 1) : NULL;
}
