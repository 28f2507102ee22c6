/* SPDX-License-Identifier: MIT */
/*
 * hook_value.c - HOTPATH_DBG, HOTPATH_VAL and HOTPATH_GAUGE_* of include/hotpath.h.
 *
 * A text is read only if the kernel says that it is readable: a pointer to characters need not
 * point to a text, and the program never meant to read it here.
 */
#include <errno.h>
#include <string.h>

#include "preload/call/block.h"
#include "preload/guest/readable.h"
#include "preload/value/value.h"

/* --- gauges --- */

static HP_COLD void log_plain(struct hp_shown *value, const struct hotpath_value *place,
			      uint64_t number, uint64_t bits, uint32_t type)
{
	hp_value_log(value, number,
		     &(const struct hp_value_change){ .place = place, .bits = bits, .type = type });
}

static uint64_t bits_of(double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

static double number_of(uint64_t bits)
{
	double number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

/* Rare: most changes are not logged. */
static HP_COLD void bound_move(uint64_t *bound, double number, bool is_least)
{
	uint64_t was = __atomic_load_n(bound, __ATOMIC_RELAXED);

	while (is_least ? number < number_of(was) : number > number_of(was))
		if (__atomic_compare_exchange_n(bound, &was, bits_of(number), 1, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return;
}

#define COUNT_ONE (UINT64_C(1) << HP_VALUE_TYPE_BITS)
#define COUNT_MASK (~(COUNT_ONE - 1))

/* Work that most changes do not need: new bounds, an entry of the log. */
static HP_COLD void gauge_rest(struct hp_shown *value, const struct hotpath_value *place,
			       uint64_t count, double now)
{
	if (now < number_of(__atomic_load_n(&value->least, __ATOMIC_RELAXED)))
		bound_move(&value->least, now, true);
	if (now > number_of(__atomic_load_n(&value->most, __ATOMIC_RELAXED)))
		bound_move(&value->most, now, false);
	if (hp_value_is_due(value, count >> HP_VALUE_TYPE_BITS))
		log_plain(value, place, count >> HP_VALUE_TYPE_BITS, bits_of(now), HP_VALUE_DOUBLE);
}

static HP_HOT void gauge_change(struct hp_shown *value, struct hotpath_value *place, int change,
				double number)
{
	uint64_t was[2], count;
	double now;

	was[0] = __atomic_load_n(&value->bits, __ATOMIC_RELAXED);
	was[1] = __atomic_load_n(&value->count, __ATOMIC_RELAXED);
	do {
		now = change == HOTPATH_CHANGE_ADD ? number_of(was[0]) + number : number;
		count = ((was[1] & COUNT_MASK) + COUNT_ONE) | HP_VALUE_DOUBLE;
	} while (HP_UNLIKELY(!hp_value_swap(value, was, bits_of(now), count)));
	if (HP_UNLIKELY(now < number_of(__atomic_load_n(&value->least, __ATOMIC_RELAXED)) ||
			now > number_of(__atomic_load_n(&value->most, __ATOMIC_RELAXED)) ||
			hp_value_is_due(value, count >> HP_VALUE_TYPE_BITS)))
		gauge_rest(value, place, count, now);
}

static HP_COLD void gauge_meet(struct hotpath_value *place, int change, double number)
{
	struct hp_shown *value = hp_value_meet(place, HP_VALUE_GAUGE);

	if (value)
		gauge_change(value, place, change, number);
}

HP_EXPORT void hotpath_gauge_change(struct hotpath_value *place, int change, double number)
{
	if (HP_LIKELY(hp_value_is_met(place)))
		gauge_change(place->key, place, change, number);
	else
		gauge_meet(place, change, number);
}

/* --- expressions and values --- */

static uint64_t whole(const void *value, unsigned long size, bool is_signed)
{
	uint64_t bits = 0;

	/* Little endian, like all supported platforms. */
	memcpy(&bits, value, size < sizeof(bits) ? size : sizeof(bits));
	if (is_signed && size < sizeof(bits)) {
		unsigned shift = 64 - 8 * (unsigned)size;

		bits = (uint64_t)((int64_t)(bits << shift) >> shift);
	}
	return bits;
}

static void text_read(struct hp_value_change *changed, const char *text, size_t most)
{
	size_t page = HP_PAGE - ((uintptr_t)text & (HP_PAGE - 1)), length, room = most;

	if (room > HP_VALUE_BYTES + 1)
		room = HP_VALUE_BYTES + 1;
	if (!room || !text || !hp_readable_few((uintptr_t)text, 1)) {
		changed->type = room ? HP_VALUE_UNREADABLE : HP_VALUE_TEXT;
		changed->bits = room ? (uintptr_t)text : 0;
		return;
	}
	length = strnlen(text, room < page ? room : page);
	if (length == page && page < room && hp_readable_few((uintptr_t)text + page, 1))
		length += strnlen(text + page, room - page);
	changed->type = HP_VALUE_TEXT;
	changed->bytes = text;
	changed->size =
		(uint32_t)(length > HP_VALUE_BYTES ? hp_block_text(text, HP_VALUE_BYTES) : length);
	changed->bits = changed->size | (changed->size < length ? HP_VALUE_CUT : 0);
}

static void wide_read(struct hp_value_change *changed, uint32_t type, const void *value,
		      uint32_t size)
{
	changed->type = type;
	changed->bytes = value;
	changed->size = size;
	changed->bits = size;
}

/* `pair`: room for two doubles. */
static void number_read(struct hp_value_change *changed, const void *value, unsigned long size,
			unsigned type, double pair[2])
{
	float narrow[2];
	double wide;

	if (type == HOTPATH_TYPE_COMPLEX && size == sizeof(double[2])) {
		wide_read(changed, HP_VALUE_COMPLEX, value, sizeof(double[2]));
	} else if (type == HOTPATH_TYPE_COMPLEX && size == sizeof(narrow)) {
		memcpy(narrow, value, sizeof(narrow));
		pair[0] = (double)narrow[0];
		pair[1] = (double)narrow[1];
		wide_read(changed, HP_VALUE_COMPLEX, pair, sizeof(double[2]));
	} else if (type == HOTPATH_TYPE_FLOAT && size == sizeof(double)) {
		changed->type = HP_VALUE_DOUBLE;
		changed->bits = whole(value, size, false);
	} else if (type == HOTPATH_TYPE_FLOAT && size == sizeof(float)) {
		memcpy(narrow, value, sizeof(float));
		wide = (double)narrow[0];
		changed->type = HP_VALUE_FLOAT;
		changed->bits = bits_of(wide);
	} else if (type == HOTPATH_TYPE_FLOAT && size == sizeof(long double)) {
		wide_read(changed, HP_VALUE_LONG, value, sizeof(long double));
	}
}

static void changed_read(struct hp_value_change *changed, unsigned type, const void *value,
			 unsigned long size, double pair[2])
{
	const char *text;

	changed->type = HP_VALUE_OTHER;
	changed->bits = size;
	if (type == HOTPATH_TYPE_CHARS) {
		text_read(changed, value, size);
	} else if (type == HOTPATH_TYPE_TEXT && size == sizeof(text)) {
		memcpy(&text, value, sizeof(text));
		text_read(changed, text, SIZE_MAX);
	} else if (type == HOTPATH_TYPE_FLOAT || type == HOTPATH_TYPE_COMPLEX) {
		number_read(changed, value, size, type, pair);
	} else if (type >= HOTPATH_TYPE_BOOL && type <= HOTPATH_TYPE_POINTER && size && size <= 8) {
		changed->type = type == HOTPATH_TYPE_POINTER ? HP_VALUE_POINTER : type;
		changed->bits = whole(value, size, type == HOTPATH_TYPE_INT);
	} else if ((type == HOTPATH_TYPE_INT || type == HOTPATH_TYPE_UINT) && size == 16) {
		wide_read(changed, type == HOTPATH_TYPE_INT ? HP_VALUE_WIDE : HP_VALUE_UWIDE, value,
			  16);
	}
}

static inline struct hp_shown *shown_of(struct hotpath_value *place, int what)
{
	return hp_value_of(place, what & HOTPATH_VALUE_VAL ? HP_VALUE_VAL : HP_VALUE_DBG);
}

/* Returns the number of the change. */
static HP_HOT uint64_t change(struct hp_shown *value, uint64_t bits, uint32_t type)
{
	uint64_t was[2], count;

	was[0] = __atomic_load_n(&value->bits, __ATOMIC_RELAXED);
	was[1] = __atomic_load_n(&value->count, __ATOMIC_RELAXED);
	do
		count = ((was[1] & COUNT_MASK) + COUNT_ONE) | type;
	while (HP_UNLIKELY(!hp_value_swap(value, was, bits, count)));
	return count >> HP_VALUE_TYPE_BITS;
}

static HP_COLD void show_any(struct hotpath_value *place, int what, const void *pointer,
			     unsigned long size)
{
	struct hp_shown *value = shown_of(place, what);
	struct hp_value_change changed = { .place = place };
	uint64_t number;
	double pair[2];

	if (!value)
		return;
	changed_read(&changed, (unsigned)what & 0xff, pointer, size, pair);
	number = change(value, changed.bits, changed.type);
	if (changed.bytes)
		hp_value_keep(value, number, &changed);
	if (hp_value_is_due(value, number))
		hp_value_log(value, number, &changed);
}

HP_EXPORT void hotpath_value_show(struct hotpath_value *place, int what, const void *pointer,
				  unsigned long size)
{
	uint32_t type = (uint32_t)what & 0xff;
	struct hp_shown *value;
	uint64_t bits, number;

	/* The usual types of values. */
	if (HP_LIKELY(size == 4 && (type == HOTPATH_TYPE_INT || type == HOTPATH_TYPE_UINT))) {
		int32_t narrow;

		memcpy(&narrow, pointer, 4);
		bits = type == HOTPATH_TYPE_INT ? (uint64_t)(int64_t)narrow
						: (uint64_t)(uint32_t)narrow;
	} else if (HP_LIKELY(size == 8 &&
			     (type == HOTPATH_TYPE_INT || type == HOTPATH_TYPE_UINT ||
			      type == HOTPATH_TYPE_FLOAT || type == HOTPATH_TYPE_POINTER))) {
		memcpy(&bits, pointer, 8);
	} else {
		show_any(place, what, pointer, size);
		return;
	}
	if (HP_UNLIKELY(!hp_value_is_met(place))) {
		show_any(place, what, pointer, size);
		return;
	}
	value = place->key;
	number = change(value, bits, type);
	if (HP_UNLIKELY(hp_value_is_due(value, number)))
		log_plain(value, place, number, bits, type);
}
