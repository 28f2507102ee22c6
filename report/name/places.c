/* SPDX-License-Identifier: MIT */
/*
 * places.c - see places.h.
 */
#include "report/name/places.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/field.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/read/model.h"

void hp_places_read(struct hp_places *places, enum hp_places_of of, char *const *fields)
{
	static const char letters[][5] = { [HP_PLACES_CPU] = "kls", [HP_PLACES_ALLOC] = "KLSM" };
	const char *letter =
		fields[0][0] && !fields[0][1] ? strchr(letters[of], fields[0][0]) : NULL;

	if (!letter)
		return;
	if (letter == letters[of]) {
		places->names = hp_xgrow(places->names, places->name_count, &places->name_room,
					 sizeof(*places->names));
		places->names[places->name_count++] = fields[1];
	} else if (letter == letters[of] + 1) {
		places->files = hp_xgrow(places->files, places->file_count, &places->file_room,
					 sizeof(*places->files));
		places->files[places->file_count++] = fields[1];
	} else if (letter == letters[of] + 3) {
		places->symbols = hp_xgrow(places->symbols, places->symbol_count,
					   &places->symbol_room, sizeof(*places->symbols));
		places->symbols[places->symbol_count++] = fields[1];
	} else {
		places->list =
			hp_xgrow(places->list, places->count, &places->room, sizeof(*places->list));
		places->list[places->count++] = (struct hp_noted_place){
			.object = (uint32_t)hp_field_number(fields[1]),
			.address = hp_field_address(fields[2]),
			.start = hp_field_address(fields[3]),
			.frames = fields[4],
		};
	}
}

static const char *text_at(const char *const *texts, size_t count, uint64_t number)
{
	return number < count ? texts[number] : NULL;
}

const char *hp_places_symbol(const struct hp_places *places, const struct hp_noted_place *place)
{
	const char *number = place->frames + 1;

	if (place->frames[0] != '~' || *number < '0' || *number > '9')
		return NULL;
	return text_at(places->symbols, places->symbol_count, strtoull(number, NULL, 10));
}

int hp_places_frame(const struct hp_places *places, char **at, const char **name, const char **file,
		    int *line)
{
	char *end;

	if (**at < '0' || **at > '9')
		return 0;
	*name = text_at(places->names, places->name_count, strtoull(*at, &end, 10));
	*file = NULL;
	if (*end++ != '.' || !*name)
		return 0;
	if (*end == '-')
		end++;
	else
		*file = text_at(places->files, places->file_count, strtoull(end, &end, 10));
	if (*end++ != '.')
		return 0;
	*line = (int)(strtoul(end, &end, 10) & INT32_MAX);
	*at = end + (*end == ',');
	return 1;
}

static int compare_places(const void *left, const void *right)
{
	const struct hp_noted_place *a = left, *b = right;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

void hp_places_bind(struct hp_places *places, const uint32_t *objects, size_t count)
{
	for (size_t i = 0; i < places->count; i++) {
		uint32_t object = places->list[i].object;

		places->list[i].object = object < count ? objects[object] : HP_NONE;
	}
	if (places->count)
		qsort(places->list, places->count, sizeof(*places->list), compare_places);
}

const struct hp_noted_place *hp_places_find(const struct hp_places *places, uint32_t object,
					    uint64_t address)
{
	struct hp_noted_place key = { .object = object, .address = address };

	return places->count
		       ? bsearch(&key, places->list, places->count, sizeof(key), compare_places)
		       : NULL;
}

void hp_places_release(struct hp_places *places)
{
	free(places->names);
	free(places->symbols);
	free(places->files);
	free(places->list);
}
