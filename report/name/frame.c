/* SPDX-License-Identifier: MIT */
/*
 * frame.c - see frame.h.
 */
#include "report/name/frame.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/elf/demangle.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/name/wrapper.h"
#include "util/hash.h"

struct function {
	uint32_t object;
	uint64_t start;
	char *name;
};

/* What a symbol's text says, found once: a function has many places. */
struct spelled {
	char *name;
	bool is_wrapper;
	bool is_library;
};

struct hp_frames {
	const struct hp_model *model;
	struct hp_symbols *symbols;
	const char *wrappers;
	struct hp_map at;	/* object and address -> place */
	struct hp_map same;	/* object and start -> function */
	struct hp_frame_place *places;
	size_t count;
	size_t room;
	struct function *functions;
	size_t function_count;
	size_t function_room;
	struct hp_map readable;	/* symbol's text -> place in `spelled` */
	struct spelled *spelled;
	size_t spelled_count;
	size_t spelled_room;
	uint32_t *pending;	/* places whose names may still be found */
	size_t pending_count;
	size_t pending_room;
	uint64_t given_pending;
};

/* Functions that only pass blocks on and do not answer "who allocates?". */
static const char *const known_wrappers[] = {
	"malloc",
	"calloc",
	"realloc",
	"reallocarray",
	"posix_memalign",
	"aligned_alloc",
	"memalign",
	"valloc",
	"pvalloc",
	"operator new",
	"operator new[]",
	"strdup",
	"strndup",
	"__strdup",
	"__strndup",
	"xmalloc",
	"xcalloc",
	"xrealloc",
	"xreallocarray",
	"xmemdup",
	"xstrdup",
	"xstrndup",
	"xzalloc",
	"xnmalloc",
	"xpalloc",
	"x2realloc",
	"x2nrealloc",
	"ximalloc",
	"xinmalloc",
	"g_malloc*",
	"g_realloc*",
	"g_try_malloc*",
	"g_slice_alloc*",
	"g_strdup",
	"g_strndup",
	"g_memdup*",
	"PyMem_Malloc",
	"PyMem_Calloc",
	"PyMem_Realloc",
	"PyMem_RawMalloc",
	"PyMem_RawCalloc",
	"PyMem_RawRealloc",
	"PyObject_Malloc",
	"PyObject_Calloc",
	"PyObject_Realloc",
	"_PyMem_*",
	"_PyObject_Malloc*",
	"std::allocator*",
	"std::__new_allocator*",
	"std::__allocate_guarded*",
	"std::_Vector_base*::_M_allocate*",
	"__gnu_cxx::new_allocator*",
	"__gnu_cxx::__alloc_traits*",
	"std::pmr::*resource*",
};

#define KNOWN (sizeof(known_wrappers) / sizeof(known_wrappers[0]))

bool hp_frames_is_wrapper(const struct hp_frames *frames, const char *name)
{
	const char *list = frames->wrappers ? frames->wrappers : "";

	for (size_t i = 0; i < KNOWN; i++)
		if (known_wrappers[i][0] == name[0] &&
		    hp_wrapper_matches(known_wrappers[i], strlen(known_wrappers[i]), name))
			return true;
	while (*list) {
		size_t length = strcspn(list, ",");

		if (length && hp_wrapper_matches(list, length, name))
			return true;
		list += length + (list[length] == ',');
	}
	return false;
}

struct hp_frames *hp_frames_new(const struct hp_model *model, struct hp_symbols *symbols,
				const char *wrappers)
{
	struct hp_frames *frames = hp_xcalloc(1, sizeof(*frames));

	frames->model = model;
	frames->symbols = symbols;
	frames->wrappers = wrappers;
	return frames;
}

static void lines_free(struct hp_frame_place *place)
{
	for (size_t i = 0; i < place->count; i++) {
		free(place->frames[i].name);
		free(place->frames[i].file);
	}
	free(place->frames);
	place->frames = NULL;
	place->count = 0;
	place->has_lines = place->has_own = false;
}

static void spelled_free(struct hp_frames *frames)
{
	for (size_t i = 0; i < frames->spelled_count; i++)
		free(frames->spelled[i].name);
	frames->spelled_count = 0;
	hp_map_clear(&frames->readable);
}

void hp_frames_free(struct hp_frames *frames)
{
	if (!frames)
		return;
	for (size_t i = 0; i < frames->count; i++) {
		lines_free(&frames->places[i]);
		free(frames->places[i].name);
	}
	free(frames->pending);
	for (size_t i = 0; i < frames->function_count; i++)
		free(frames->functions[i].name);
	spelled_free(frames);
	free(frames->spelled);
	free(frames->places);
	free(frames->functions);
	hp_map_release(&frames->readable);
	hp_map_release(&frames->at);
	hp_map_release(&frames->same);
	free(frames);
}

/* The name of an object's file, without its folder; "" = no such object. */
static const char *file_of(const struct hp_frames *frames, uint32_t object)
{
	return object < frames->model->object_count
		       ? hp_name_file(frames->model->objects[object].path)
		       : "";
}

/* For a kept run: the names found at its end. */
static const struct hp_noted_place *kept_at(const struct hp_frames *frames, uint32_t object,
					    uint64_t address)
{
	const struct hp_places *places = hp_symbols_places(frames->symbols, HP_PLACES_ALLOC);

	return places ? hp_places_find(places, object, address) : NULL;
}

/* The functions at a kept place, fresh, the innermost first; returns how many. */
static size_t kept_lines(const struct hp_frames *frames, const struct hp_noted_place *kept,
			 struct hp_frame_line *lines, size_t most)
{
	const struct hp_places *places = hp_symbols_places(frames->symbols, HP_PLACES_ALLOC);
	const char *name, *file;
	char *at = kept->frames;
	size_t count = 0;
	int line;

	while (count < most && hp_places_frame(places, &at, &name, &file, &line))
		lines[count++] = (struct hp_frame_line){
			.name = hp_text_clean(name),
			.file = file ? hp_text_clean(file) : NULL,
			.line = line,
		};
	return count;
}

static const char *kept_symbol(const struct hp_frames *frames, const struct hp_noted_place *kept)
{
	return hp_places_symbol(hp_symbols_places(frames->symbols, HP_PLACES_ALLOC), kept);
}

/* The last of them: the function that is called. */
static char *kept_name(const struct hp_frames *frames, const struct hp_noted_place *kept)
{
	struct hp_frame_line lines[HP_FRAMES_MAX];
	size_t count = kept_lines(frames, kept, lines, HP_FRAMES_MAX);
	char *name = count ? lines[count - 1].name : NULL;

	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count)
			free(lines[i].name);
		free(lines[i].file);
	}
	return name;
}

/* The symbol's text stays where it is until the next refresh, so its address is the key. */
static const struct spelled *spelled_of(struct hp_frames *frames, const char *symbol)
{
	bool is_new;
	uint32_t *number = hp_map_at(&frames->readable, (uint64_t)(uintptr_t)symbol, &is_new);
	struct spelled *spelled;

	if (!is_new)
		return &frames->spelled[*number];
	*number = (uint32_t)frames->spelled_count;
	frames->spelled = hp_xgrow(frames->spelled, frames->spelled_count, &frames->spelled_room,
				   sizeof(*frames->spelled));
	spelled = &frames->spelled[frames->spelled_count++];
	*spelled = (struct spelled){ .name = hp_name_readable(symbol) };
	spelled->is_wrapper = hp_frames_is_wrapper(frames, spelled->name);
	spelled->is_library = hp_wrapper_is_library(spelled->name);
	return spelled;
}

/* The object in brackets, else the address. */
static char *object_name(const struct hp_frames *frames, uint32_t object, uint64_t address)
{
	const char *file = object < frames->model->object_count
				   ? hp_model_object_name(frames->model, object)
				   : "";
	char *clean, *name;

	if (object == HP_NONE)
		return hp_xprintf("0x%llx", (unsigned long long)address);
	/* Brackets distinguish a file from a function of the same name. */
	clean = hp_text_clean(*file ? file : "?");
	name = clean[0] == '[' ? hp_xstrdup(clean) : hp_xprintf("[%s]", clean);
	free(clean);
	return name;
}

/* The number of the function that starts there; added when new. */
static uint32_t function_of(struct hp_frames *frames, uint32_t object, uint64_t start,
			    const char *name)
{
	uint64_t hash = hp_hash_add(hp_hash_add(7, object), start) | 1;
	uint32_t *number;
	bool is_new;

	for (;; hash += 2) {
		number = hp_map_at(&frames->same, hash, &is_new);
		if (is_new)
			break;
		if (frames->functions[*number].object == object &&
		    frames->functions[*number].start == start)
			return *number;
	}
	*number = (uint32_t)frames->function_count;
	frames->functions = hp_xgrow(frames->functions, frames->function_count,
				     &frames->function_room, sizeof(*frames->functions));
	frames->functions[frames->function_count] =
		(struct function){ object, start, hp_xstrdup(name) };
	return (uint32_t)frames->function_count++;
}

/* Names that were not available when requested. */
static uint64_t missing(const struct hp_frames *frames)
{
	return hp_symbols_missing(frames->symbols);
}

static void pending_add(struct hp_frames *frames, const struct hp_frame_place *place)
{
	frames->pending = hp_xgrow(frames->pending, frames->pending_count, &frames->pending_room,
				   sizeof(*frames->pending));
	frames->pending[frames->pending_count++] = (uint32_t)(place - frames->places);
}

static void name_set(struct hp_frames *frames, struct hp_frame_place *place, char *name)
{
	place->name = name;
	place->is_wrapper = hp_frames_is_wrapper(frames, name);
	place->is_library = hp_wrapper_is_library(name);
}

/* The name of the symbol that contains the address, else of the object; sets the symbol's start. */
static void name_find(struct hp_frames *frames, struct hp_frame_place *place, uint64_t address,
		      uint64_t *start)
{
	const struct hp_noted_place *kept = kept_at(frames, place->object, address);
	const char *symbol = kept ? kept_symbol(frames, kept) : NULL;
	char *name = kept && !symbol ? kept_name(frames, kept) : NULL;

	if (name || symbol)
		*start = kept->start;
	else
		symbol = hp_symbols_near(frames->symbols, place->object, address, start);
	if (symbol) {
		const struct spelled *spelled = spelled_of(frames, symbol);

		place->name = hp_xstrdup(spelled->name);
		place->is_wrapper = spelled->is_wrapper;
		place->is_library = spelled->is_library;
	} else if (name) {
		name_set(frames, place, name);
	} else {
		*start = place->object == HP_NONE ? address : UINT64_MAX;
		name_set(frames, place, object_name(frames, place->object, address));
	}
}

static void place_name(struct hp_frames *frames, struct hp_frame_place *place)
{
	uint64_t before = missing(frames), start;

	free(place->name);
	/* A return address may be the first one of the next function. */
	name_find(frames, place, place->address ? place->address - 1 : 0, &start);
	place->function = function_of(frames, place->object, start, place->name);
	place->is_wrapper |= strcmp(file_of(frames, place->object), "libhotpath.so") == 0;
	place->is_pending = missing(frames) != before;
	if (place->is_pending)
		pending_add(frames, place);
}

static uint64_t place_hash(uint32_t object, uint64_t address)
{
	return hp_hash_add(hp_hash_add(3, object), address) | 1;
}

static struct hp_frame_place *place_at(struct hp_frames *frames, uint32_t object, uint64_t address)
{
	uint64_t hash = place_hash(object, address);
	struct hp_frame_place *place;
	uint32_t *number;
	bool is_new;

	for (;; hash += 2) {
		number = hp_map_at(&frames->at, hash, &is_new);
		if (is_new)
			break;
		place = &frames->places[*number];
		if (place->object == object && place->address == address)
			return place;
	}
	*number = (uint32_t)frames->count;
	frames->places =
		hp_xgrow(frames->places, frames->count, &frames->room, sizeof(*frames->places));
	place = &frames->places[frames->count++];
	*place = (struct hp_frame_place){ .object = object, .address = address };
	place_name(frames, place);
	return place;
}

struct hp_frame_place *hp_frames_at(struct hp_frames *frames, uint32_t object, uint64_t address)
{
	struct hp_frame_place *place = place_at(frames, object, address);

	frames->given_pending += place->is_pending;
	return place;
}

uint32_t hp_frames_number(struct hp_frames *frames, uint32_t object, uint64_t address)
{
	return (uint32_t)(place_at(frames, object, address) - frames->places);
}

struct hp_frame_place *hp_frames_place(struct hp_frames *frames, uint32_t number)
{
	frames->given_pending += frames->places[number].is_pending;
	return &frames->places[number];
}

bool hp_frames_look(struct hp_frames *frames, struct hp_symbols *symbols)
{
	size_t count = frames->pending_count;
	uint32_t *pending = frames->pending;
	bool has_changed = false;

	frames->symbols = symbols;
	spelled_free(frames);
	frames->pending = NULL;
	frames->pending_count = frames->pending_room = 0;
	for (size_t i = 0; i < count; i++) {
		struct hp_frame_place *place = &frames->places[pending[i]];
		uint32_t function = place->function;
		bool was_wrapper = place->is_wrapper;

		if (place->has_pending_lines)
			lines_free(place);
		place->has_pending_lines = false;
		if (!place->is_pending)
			continue;
		place_name(frames, place);
		has_changed |= place->function != function || place->is_wrapper != was_wrapper;
	}
	free(pending);
	return has_changed;
}

uint64_t hp_frames_pending(const struct hp_frames *frames)
{
	return frames->given_pending;
}

/*
 * Lines of the C library are of no interest, and reading its debug information,
 * where installed, takes longer than the whole report.
 */
static bool is_libc(const struct hp_frames *frames, uint32_t object)
{
	const char *path = file_of(frames, object);

	return strncmp(path, "libc.so.", 8) == 0 || strncmp(path, "ld-linux", 8) == 0;
}

static bool has_own(const struct hp_frames *frames, const struct hp_frame_place *place)
{
	for (size_t i = 0; i < place->count; i++)
		if (!hp_wrapper_is_library(place->frames[i].name) &&
		    !hp_frames_is_wrapper(frames, place->frames[i].name))
			return true;
	return false;
}

static void place_lines(struct hp_frames *frames, struct hp_frame_place *place)
{
	uint64_t before = missing(frames), address = place->address ? place->address - 1 : 0;
	const struct hp_noted_place *kept = kept_at(frames, place->object, address);
	struct hp_frame_line lines[HP_FRAMES_MAX] = { { .name = NULL } };
	size_t count = 0;

	if (kept)
		count = kept_lines(frames, kept, lines, HP_FRAMES_MAX);
	else if (!is_libc(frames, place->object))
		count = hp_symbols_lines(frames->symbols, place->object, address, lines,
					 HP_FRAMES_MAX);
	place->has_lines = true;
	place->count = count ? count : 1;
	place->frames = hp_xcalloc(place->count, sizeof(*place->frames));
	memcpy(place->frames, lines, place->count * sizeof(*lines));
	for (size_t i = 0; i < place->count; i++)
		if (!place->frames[i].name)
			place->frames[i].name =
				hp_xstrdup(i + 1 == place->count ? place->name : "?");
	place->has_own = has_own(frames, place);
	place->has_pending_lines = place->is_pending || missing(frames) != before;
	if (place->has_pending_lines && !place->is_pending)
		pending_add(frames, place);
}

const struct hp_frame_place *hp_frames_lines(struct hp_frames *frames, uint32_t object,
					     uint64_t address)
{
	struct hp_frame_place *place = place_at(frames, object, address);

	if (!place->has_lines)
		place_lines(frames, place);
	frames->given_pending += place->is_pending || place->has_pending_lines;
	return place;
}

static bool is_known(const struct hp_frames *frames, uint32_t object, uint64_t address)
{
	for (uint64_t hash = place_hash(object, address);; hash += 2) {
		const uint32_t *number = hp_map_find(&frames->at, hash);

		if (!number)
			return false;
		if (frames->places[*number].object == object &&
		    frames->places[*number].address == address)
			return true;
	}
}

static bool has_lines(const struct hp_frames *frames, uint32_t object, uint64_t address)
{
	struct hp_frame_line lines[HP_FRAMES_MAX];
	size_t count = is_libc(frames, object) ? 0
					       : hp_symbols_lines(frames->symbols, object, address,
								  lines, HP_FRAMES_MAX);

	for (size_t i = 0; i < count; i++) {
		free(lines[i].name);
		free(lines[i].file);
	}
	return count != 0;
}

const char *hp_frames_symbol(const struct hp_frames *frames, uint32_t object, uint64_t address,
			     bool wants_lines, uint64_t *start)
{
	const char *symbol;

	if (!address || hp_symbols_places(frames->symbols, HP_PLACES_ALLOC) ||
	    is_known(frames, object, address))
		return NULL;
	symbol = hp_symbols_near(frames->symbols, object, address - 1, start);
	return symbol && wants_lines && has_lines(frames, object, address - 1) ? NULL : symbol;
}

uint64_t hp_frames_start(const struct hp_frames *frames, const struct hp_frame_place *place)
{
	return place->object == HP_NONE ? UINT64_MAX : frames->functions[place->function].start;
}

size_t hp_frames_functions(const struct hp_frames *frames)
{
	return frames->function_count;
}

const char *hp_frames_function(const struct hp_frames *frames, uint32_t function)
{
	return frames->functions[function].name;
}
