/* SPDX-License-Identifier: MIT */
/*
 * json_room.h - where the JSON of an answer lives while it is made.
 *
 * An answer has up to some hundred thousand small pieces that go all at once when it
 * is printed.  Allocating and freeing each was two fifths of an answer's time.  So
 * between begin and end what the thread's cJSON asks for is cut from a few large
 * pieces of memory, and nothing of it is freed one by one.
 *
 *   hp_json_room_begin();
 *   ... cJSON as ever; its cJSON_Delete does nothing ...
 *   text = hp_json_room_print(json, &size);
 *   hp_json_room_end();	what cJSON gave is gone, whatever still points to it
 *
 * So between the two nothing may be made with cJSON that is kept for longer.
 * Other threads, and this one outside of the two, have malloc.
 */
#ifndef HP_LIVE_ANSWER_JSON_ROOM_H
#define HP_LIVE_ANSWER_JSON_ROOM_H

#include <stddef.h>

struct cJSON;

/* Once, before anything is made with cJSON by several threads. */
void hp_json_room_init(void);

void hp_json_room_begin(void);
void hp_json_room_end(void);

/* As text without blanks, of malloc, terminated; frees `json`.  NULL = there is no memory. */
char *hp_json_room_print(struct cJSON *json, size_t *size);

/* Lets go of what this thread's room keeps for the next answer. */
void hp_json_room_release(void);

#endif
