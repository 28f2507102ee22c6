/* SPDX-License-Identifier: MIT */
/*
 * json_room.h - arena allocation for the JSON of an answer.
 *
 * An answer has up to some hundred thousand small nodes that are all freed when
 * it is printed. Allocating and freeing each took two fifths of the time. So
 * between begin and end the thread's cJSON allocates from a few large pieces of
 * memory, which are released together.
 *
 *   hp_json_room_begin();
 *   ... cJSON as usual; its cJSON_Delete does nothing ...
 *   text = hp_json_room_print(json, &size);
 *   hp_json_room_end();	all cJSON nodes are invalid
 *
 * So no cJSON node created in between may be kept. Other threads, and this
 * one outside the two calls, use malloc.
 */
#ifndef HP_LIVE_ANSWER_JSON_ROOM_H
#define HP_LIVE_ANSWER_JSON_ROOM_H

#include <stddef.h>

struct cJSON;

/* Call once before several threads use cJSON. */
void hp_json_room_init(void);

void hp_json_room_begin(void);
void hp_json_room_end(void);

/* Prints compact text, from malloc, terminated; frees `json`. NULL = no memory. */
char *hp_json_room_print(struct cJSON *json, size_t *size);

/* Frees the memory that this thread keeps for the next answer. */
void hp_json_room_release(void);

#endif
