/* SPDX-License-Identifier: MIT */
/*
 * setting.c - checks the values of HOTPATH_* variables and stores them.
 */
#include "segment/setting.h"

#include <string.h>

#include "segment/setting_check.h"
#include "util/near.h"

#define AT(field) offsetof(struct hp_settings, field)

/* A truncated line; kept short for the target's stack. */
struct line {
	size_t length;
	char text[200];
};

static void line_add(struct line *line, const char *text, size_t most)
{
	for (size_t i = 0; text[i] && i < most && line->length + 1 < sizeof(line->text); i++) {
		unsigned char c = (unsigned char)text[i];

		line->text[line->length++] = c < ' ' || c == 127 ? '?' : (char)c;
	}
	line->text[line->length] = 0;
}

struct reader {
	struct hp_settings *out;
	hp_complain complain;
	void *context;
};

/* One line: variable, value, the allowed values, the value used instead. */
static void refuse(const struct reader *r, const struct hp_setting *s, const char *value,
		   size_t length)
{
	struct line line = { .length = 0 };

	if (!r->complain)
		return;
	line_add(&line, s->name, SIZE_MAX);
	if (s->kind == HP_SETTING_TOKEN) {	/* a secret, or most of one */
		line_add(&line, ": the token is not allowed; ", SIZE_MAX);
	} else {
		line_add(&line, ": '", SIZE_MAX);
		line_add(&line, value, length < 40 ? length : 40);
		line_add(&line, length > 40 ? "...' is not allowed; " : "' is not allowed; ",
			 SIZE_MAX);
	}
	if (s->kind == HP_SETTING_LIBRARIES) {
		size_t size;
		const char *nearest = hp_setting_nearest(HP_LIBRARIES, value, length, &size);

		line_add(&line, "the nearest is '", SIZE_MAX);
		line_add(&line, nearest, size);
		line_add(&line, "'; ", SIZE_MAX);
	}
	line_add(&line, s->allowed, SIZE_MAX);
	if (s->kind == HP_SETTING_PERCENTILES || s->kind == HP_SETTING_PAIRS ||
	    s->kind == HP_SETTING_LIBRARIES) {
		line_add(&line, "; using the rest", SIZE_MAX);
	} else if (s->kind == HP_SETTING_TOKEN) {
		line_add(&line, "; its port stays closed", SIZE_MAX);
	} else if (s->usual) {
		line_add(&line, "; default: ", SIZE_MAX);
		line_add(&line, s->usual, SIZE_MAX);
	}
	r->complain(r->context, line.text);
}

static bool is_same_word(const char *a, size_t length, const char *word)
{
	size_t i = 0;

	for (; i < length && word[i]; i++) {
		char c = a[i] >= 'A' && a[i] <= 'Z' ? (char)(a[i] + 32) : a[i];

		if (c != word[i])
			return false;
	}
	return i == length && !word[i];
}

/* Digits up to `end`; false if there is anything else or the number is too large. */
static bool read_count(const char *text, const char *end, uint64_t *count)
{
	uint64_t n = 0;

	if (text == end)
		return false;
	for (; text < end; text++) {
		if (*text < '0' || *text > '9' || n > UINT64_MAX / 10 - 1)
			return false;
		n = n * 10 + (uint64_t)(*text - '0');
	}
	*count = n;
	return true;
}

static bool read_choice(const struct hp_setting *s, const char *value, void *place)
{
	const char *word = s->allowed;
	uint32_t number = 0;

	for (;; number++) {
		size_t length = (size_t)(strchrnul(word, '|') - word);

		if (strlen(value) == length && memcmp(value, word, length) == 0) {
			memcpy(place, &number, sizeof(number));
			return true;
		}
		if (!word[length])
			return false;
		word += length + 1;
	}
}

static bool read_bool(const char *value, void *place)
{
	static const char *const words[] = { "0", "1", "false", "true", "" };
	size_t length = strlen(value);

	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		uint32_t is_on = i & 1;

		if (!is_same_word(value, length, words[i]))
			continue;
		memcpy(place, &is_on, sizeof(is_on));
		return true;
	}
	return false;
}

static bool read_number(const struct hp_setting *s, const char *value, void *place)
{
	const char *end = value + strlen(value);
	unsigned shift = 0;
	uint64_t n;

	if (s->kind == HP_SETTING_SIZE && end > value) {
		const char *units = "KMGkmg";
		const char *unit = strchr(units, end[-1]);

		if (unit) {
			shift = 10 * (unsigned)((unit - units) % 3 + 1);
			end--;
		}
	}
	if (!read_count(value, end, &n) || n > (UINT64_MAX >> shift))
		return false;
	n <<= shift;
	if (n < s->least || n > s->most)
		return false;
	memcpy(place, &n, sizeof(n));
	return true;
}

/* 99, 99.9, .5: not strtod, whose decimal point is the locale's. */
static bool read_percentile(const char *text, size_t length, double *percentile)
{
	const char *end = text + length;
	const char *dot = memchr(text, '.', length);
	const char *whole_end = dot ? dot : end;
	uint64_t whole = 0, part = 0;
	double scale = 1;

	if (length == 0 || (dot && length == 1))
		return false;
	if (whole_end > text && !read_count(text, whole_end, &whole))
		return false;
	if (dot && dot + 1 < end && (end - dot > 10 || !read_count(dot + 1, end, &part)))
		return false;
	for (const char *p = whole_end + 1; p < end; p++)
		scale *= 10;
	*percentile = (double)whole + (double)part / scale;
	return *percentile <= 100;
}

static bool percentile_add(struct hp_percentiles *list, double percentile)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->at[i] >= percentile && list->at[i] <= percentile)
			return true;
	if (list->count == HP_PERCENTILES_MAX)
		return false;
	list->at[list->count++] = percentile;
	return true;
}

/* Warns about a bad entry and uses the others; the default if none is left. */
static bool read_percentiles(const struct reader *r, const struct hp_setting *s, const char *value,
			     struct hp_percentiles *place)
{
	struct hp_percentiles list = { .count = 0 };
	bool is_told = false;

	for (;;) {
		size_t length = (size_t)(strchrnul(value, ',') - value);
		const char *text = value;
		double percentile;

		while (length && (*text == ' ' || *text == 'p' || *text == 'P'))
			text++, length--;
		while (length && text[length - 1] == ' ')
			length--;
		if (read_percentile(text, length, &percentile) &&
		    percentile_add(&list, percentile)) {
			;
		} else if (!is_told) {
			refuse(r, s, text, length);
			is_told = true;
		}
		value = strchrnul(value, ',');
		if (!*value)
			break;
		value++;
	}
	if (list.count)
		*place = list;
	return !is_told;
}

static void refuse_section(const struct reader *r, const struct hp_setting *s, const char *word,
			   size_t length, bool has_rest)
{
	struct line line = { .length = 0 };
	size_t size = 0;
	const char *nearest = hp_section_nearest(word, length, &size);

	if (!r->complain)
		return;
	line_add(&line, s->name, SIZE_MAX);
	line_add(&line, ": no section '", SIZE_MAX);
	line_add(&line, word, length < 40 ? length : 40);
	line_add(&line, length > 40 ? "...'" : "'", SIZE_MAX);
	line_add(&line, nearest ? "; the nearest is '" : "", SIZE_MAX);
	line_add(&line, nearest ? nearest : "", size);
	line_add(&line, nearest ? "'" : "", SIZE_MAX);
	line_add(&line, "; hotpath help sections lists all; ", SIZE_MAX);
	line_add(&line, has_rest ? "using the rest" : "default: ", SIZE_MAX);
	line_add(&line, has_rest ? "" : s->usual, SIZE_MAX);
	r->complain(r->context, line.text);
}

/* False if none of the words means anything. */
static bool has_sections(const char *list)
{
	const char *word;
	size_t length;
	bool is_empty = true;

	while ((word = hp_section_next(&list, &length))) {
		bool is_out = *word == '-';

		if (hp_section_is_known(word + is_out, length - is_out))
			return true;
		is_empty = false;
	}
	return is_empty;
}

/* Warns about unknown words and uses the others; the default if none is left. */
static void read_sections(const struct reader *r, const struct hp_setting *s, const char *value,
			  void *place)
{
	bool has_rest = has_sections(value);
	const char *list = value, *word;
	size_t length;

	while ((word = hp_section_next(&list, &length))) {
		bool is_out = *word == '-';

		if (!hp_section_is_known(word + is_out, length - is_out))
			refuse_section(r, s, word + is_out, length - is_out, has_rest);
	}
	if (has_rest)
		memcpy(place, &value, sizeof(value));
}

/* k=v,k=v */
static bool are_pairs(const char *value)
{
	for (; *value; value += *value == ',') {
		size_t length = (size_t)(strchrnul(value, ',') - value);
		const char *equals = memchr(value, '=', length);

		if (!equals || equals == value)
			return false;
		value += length;
	}
	return true;
}

/* Warns about the first unknown name. */
static bool read_libraries(const struct reader *r, const struct hp_setting *s, const char *value)
{
	for (; *value; value += *value == ',') {
		size_t length = (size_t)(strchrnul(value, ',') - value);

		if (!hp_setting_is_library(value, length)) {
			refuse(r, s, value, length);
			return false;
		}
		value += length;
	}
	return true;
}

static void set_text(const struct hp_setting *s, const char *value, void *place)
{
	value = *value ? value : s->usual;
	memcpy(place, &value, sizeof(value));
}

static bool read_address(const struct hp_setting *s, const char *value, void *place)
{
	const char *address = hp_setting_address(*value ? value : s->usual);

	if (address)
		memcpy(place, &address, sizeof(address));
	return address;
}

static bool set(const struct reader *r, const struct hp_setting *s, const char *value)
{
	void *place = (char *)r->out + s->place;
	bool is_good = true;

	switch (s->kind) {
	case HP_SETTING_CHOICE:
		is_good = read_choice(s, value, place);
		break;
	case HP_SETTING_BOOL:
		is_good = read_bool(value, place);
		break;
	case HP_SETTING_COUNT:
	case HP_SETTING_SIZE:
		is_good = read_number(s, value, place);
		break;
	case HP_SETTING_PAIRS:
		/* Readers skip entries that are not pairs. */
		is_good = are_pairs(value);
		set_text(s, value, place);
		break;
	case HP_SETTING_TOKEN:
		/* A bad one is kept: without any token the port would be open to more clients. */
		is_good = hp_setting_is_token(value);
		set_text(s, value, place);
		break;
	case HP_SETTING_TEXT:
		set_text(s, value, place);
		break;
	case HP_SETTING_ADDRESS:
		is_good = read_address(s, value, place);
		break;
	case HP_SETTING_BUCKETS:
		is_good = hp_setting_are_buckets(value);
		if (is_good)
			set_text(s, value, place);
		break;
	case HP_SETTING_LIBRARIES:
		set_text(s, value, place);
		return read_libraries(r, s, value);
	case HP_SETTING_SECTIONS:
		read_sections(r, s, *value ? value : s->usual, place);
		break;
	case HP_SETTING_PERCENTILES:
		return read_percentiles(r, s, value, place);
	}
	if (!is_good)
		refuse(r, s, value, strlen(value));
	return is_good;
}

/* The same for a value that the program's defaults must not change. */
static bool give(const struct reader *r, const struct hp_setting *s, const char *value)
{
	bool is_good = set(r, s, value);

	/* Valid percentiles are used even if others are not. */
	if (is_good || s->kind == HP_SETTING_PERCENTILES)
		r->out->is_given[s - hp_setting_table] = true;
	return is_good;
}

static void set_usual(struct hp_settings *out)
{
	struct reader r = { .out = out, .complain = NULL, .context = NULL };

	memset(out, 0, sizeof(*out));
	out->limit = out->functions_limit = out->threads_limit = HP_LIMIT_UNSET;
	out->alloc_limit = out->channels_limit = out->streams_limit = HP_LIMIT_UNSET;
	out->futures_limit = out->mutexes_limit = out->rw_locks_limit = HP_LIMIT_UNSET;
	out->tui_logs = HP_LIMIT_UNSET;
	for (size_t i = 0; i < hp_setting_count; i++)
		if (hp_setting_table[i].usual)
			set(&r, &hp_setting_table[i], hp_setting_table[i].usual);
}

static const struct hp_setting *find(const char *name, size_t length)
{
	for (size_t i = 0; i < hp_setting_count; i++)
		if (strncmp(hp_setting_table[i].name, name, length) == 0 &&
		    !hp_setting_table[i].name[length])
			return &hp_setting_table[i];
	return NULL;
}

/* Variables that are not settings: used between our processes and by tests. */
static bool is_internal(const char *name, size_t length)
{
	static const char *const names[] = { "HOTPATH_SESSION", "HOTPATH_BEGIN", "HOTPATH_DEFAULTS",
					     "HOTPATH_TRUTH_PATH" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
			return true;
	return strncmp(name, "HOTPATH_TEST_", 13) == 0;
}

/* Compared without the first `family` letters of the names in the table. */
static const char *nearest_setting(const char *name, size_t length, size_t family)
{
	unsigned least = UINT32_MAX;
	const char *nearest = "";

	for (size_t i = 0; i < hp_setting_count; i++) {
		const char *there = hp_setting_table[i].name + family;
		unsigned distance = hp_near(name, length, there, strlen(there));

		if (distance < least) {
			least = distance;
			nearest = hp_setting_table[i].name;
		}
	}
	return nearest;
}

static void refuse_variable(const struct reader *r, const char *name, size_t length)
{
	const char *foreign = hp_setting_foreign(name, length);
	struct line line = { .length = 0 };

	if (!r->complain || is_internal(name, length))
		return;
	line_add(&line, name, length < 60 ? length : 60);
	line_add(&line, length > 60 ? "...: " : ": ", SIZE_MAX);
	if (foreign) {
		line_add(&line, "ignored; ", SIZE_MAX);
		line_add(&line, foreign, SIZE_MAX);
		r->complain(r->context, line.text);
		return;
	}
	line_add(&line, "unknown variable, ignored; the nearest is ", SIZE_MAX);
	line_add(&line, nearest_setting(name, length, 0), SIZE_MAX);
	line_add(&line, " (all: hotpath help)", SIZE_MAX);
	r->complain(r->context, line.text);
}

void hp_settings_read(struct hp_settings *out, char *const *environment, hp_complain complain,
		      void *context)
{
	struct reader r = { .out = out, .complain = complain, .context = context };

	set_usual(out);
	for (; environment && *environment; environment++) {
		const char *equals;
		const struct hp_setting *s;

		if (strncmp(*environment, "HOTPATH_", 8) != 0)
			continue;
		equals = strchr(*environment, '=');
		s = equals ? find(*environment, (size_t)(equals - *environment)) : NULL;
		if (s &&
		    (equals[1] || s->kind == HP_SETTING_TEXT || s->kind == HP_SETTING_SECTIONS ||
		     s->kind == HP_SETTING_TOKEN || s->kind == HP_SETTING_LIBRARIES))
			give(&r, s, equals + 1);
		else if (!s && equals)
			refuse_variable(&r, *environment, (size_t)(equals - *environment));
	}
}

bool hp_settings_set(struct hp_settings *out, const char *name, const char *value,
		     hp_complain complain, void *context)
{
	struct reader r = { .out = out, .complain = complain, .context = context };
	const struct hp_setting *s = find(name, strlen(name));

	return s && give(&r, s, value);
}

/* --- a program's defaults --- */

static bool is_name(const char *word, size_t length, const char *variable)
{
	size_t i = 0;

	for (; i < length && variable[i]; i++) {
		char c = word[i] == '-' ? '_' : word[i];

		if (c != variable[i] && (c < 'a' || c > 'z' || c - 32 != variable[i]))
			return false;
	}
	return i == length && !variable[i];
}

static const struct hp_setting *find_word(const char *word, size_t length)
{
	for (size_t i = 0; i < hp_setting_count; i++)
		if (is_name(word, length, hp_setting_table[i].name) ||
		    is_name(word, length, hp_setting_table[i].name + strlen("HOTPATH_")))
			return &hp_setting_table[i];
	return NULL;
}

static void refuse_word(const struct reader *r, const char *word)
{
	struct line line = { .length = 0 };

	if (!r->complain)
		return;
	line_add(&line, "HOTPATH_DEFAULTS: '", SIZE_MAX);
	line_add(&line, word, 40);
	line_add(&line, strlen(word) > 40 ? "...'" : "'", SIZE_MAX);
	line_add(&line,
		 " is not a setting; use NAME=VALUE, as in percentiles=50,99; the nearest is ",
		 SIZE_MAX);
	line_add(&line, nearest_setting(word, strcspn(word, "="), strlen("HOTPATH_")), SIZE_MAX);
	line_add(&line, " (all: hotpath help)", SIZE_MAX);
	r->complain(r->context, line.text);
}

/* True if a flag or the environment set it; a limit for all sections counts for each. */
static bool is_given(const struct hp_settings *settings, const struct hp_setting *s)
{
	const struct hp_setting *limit = find_word("limit", strlen("limit"));
	bool is_limit = !s->usual && strlen(s->name) > strlen("_LIMIT") &&
			strcmp(s->name + strlen(s->name) - strlen("_LIMIT"), "_LIMIT") == 0;

	return settings->is_given[s - hp_setting_table] ||
	       (is_limit && settings->is_given[limit - hp_setting_table]);
}

/* The value is not printed: it may be a token. */
static void refuse_trust(const struct reader *r, const struct hp_setting *s)
{
	struct line line = { .length = 0 };

	if (!r->complain)
		return;
	line_add(&line, "HOTPATH_DEFAULTS: a program cannot set this, ignored; use ", SIZE_MAX);
	line_add(&line, s->name, SIZE_MAX);
	line_add(&line, "=... in the environment", SIZE_MAX);
	r->complain(r->context, line.text);
}

static void default_set(const struct reader *r, unsigned trusts, const char *word)
{
	const char *equals = strchr(word, '=');
	const struct hp_setting *s = equals ? find_word(word, (size_t)(equals - word)) : NULL;

	if (!s)
		refuse_word(r, word);
	else if (is_given(r->out, s))
		return;
	else if (s->trust & trusts)
		r->out->is_defaulted[s - hp_setting_table] |=
			set(r, s, equals + 1) || s->kind == HP_SETTING_PERCENTILES;
	else if (s->trust == HP_SETTING_OF_USER)
		refuse_trust(r, s);
}

void hp_settings_default(struct hp_settings *out, unsigned trusts, const char *text,
			 char room[HP_DEFAULTS_MAX], hp_complain complain, void *context)
{
	struct reader r = { .out = out, .complain = complain, .context = context };

	size_t length = strnlen(text, HP_DEFAULTS_MAX - 1);

	/* Most have none; then `room` is not touched, since each page costs a page fault. */
	if (length == 0)
		return;
	memcpy(room, text, length);
	room[length] = 0;
	while (*(room += strspn(room, " \t\n"))) {
		char *word = room;
		bool is_last;

		room += strcspn(room, " \t\n");
		is_last = *room == 0;
		*room = 0;
		default_set(&r, trusts, word);
		room += !is_last;
	}
}
