/* SPDX-License-Identifier: MIT */
/*
 * short.c - see short.h.
 *
 * A name is rewritten in two passes. The first resolves Rust's qualified types
 * (`<T as Trait>::f` becomes `T::f`), since they begin with a bracket. The
 * second splits the rest at its outermost `::` and writes each part separately.
 */
#include "report/name/short.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/name.h"

#define ELLIPSIS "\342\200\246"
#define CLONE " [clone "
#define LAMBDA "\316\273"
#define ANGLE_OPEN "\342\200\271"
#define ANGLE_CLOSE "\342\200\272"
#define ARROW " \342\206\220 "
#define SCOPE_MIN 4	/* least columns of a scope that is shown */
#define PARAMETERS_MIN 10 /* of overloads, after the function's name */
#define WINDOW_MIN 8	/* columns needed to show a difference */
#define PARTS_MAX 64
#define NESTED_MAX 8	/* templates within templates; deeper ones become an ellipsis */
#define ARGUMENT_MAX 14	/* most bytes of a template argument that is shown */

struct part {
	const char *at;
	size_t size;
};

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static char *copy_of(const char *at, size_t size)
{
	return hp_xprintf("%.*s", (int)size, at);
}

/* Replaces *text with `longer`, which was made from it. */
static void become(char **text, char *longer)
{
	free(*text);
	*text = longer;
}

/* The bracket that closes the one at `open`, or the end of the text. */
static const char *bracket_end(const char *name, const char *open)
{
	int depth = 0;

	while (*open) {
		size_t size = hp_name_step(name, open, &depth);

		if (depth == 0)
			return open;
		open += size;
	}
	return open;
}

/* --- the end of a name --- */

/* Bytes of `name` without a compiler's clone suffix: foo.constprop.0 */
static size_t without_clone(const char *name, size_t size)
{
	static const char *const words[] = { ".constprop", ".part", ".isra",  ".cold",
					     ".lto_priv",  ".llvm", ".clone", ".localalias" };
	size_t end = size;

	while (end && isdigit((unsigned char)name[end - 1]))
		end--;
	if (end && end < size && name[end - 1] == '.')
		end--;
	else
		end = size;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t length = strlen(words[i]);

		if (end > length && memcmp(name + end - length, words[i], length) == 0)
			return end - length;
	}
	return size;
}

/* Drops " [clone .isra.0]". */
static size_t without_clone_note(const char *name, size_t size)
{
	static const char note[] = " [clone .";
	size_t at = size;

	if (!size || name[size - 1] != ']')
		return size;
	while (at && name[at] != '[')
		at--;
	if (!at || !starts_with(name + at - 1, note))
		return size;
	return at - 1;
}

/* Rust's legacy mangling ends in ::h and 16 hexadecimal digits. */
static size_t without_hash(const char *name, size_t size)
{
	const char *hash = name + size - 19;

	if (size < 20 || !starts_with(hash, "::h"))
		return size;
	for (int i = 3; i < 19; i++)
		if (!isxdigit((unsigned char)hash[i]))
			return size;
	return size - 19;
}

/* Allowed after the parameters. */
static size_t without_qualifier(const char *name, size_t size)
{
	static const char *const words[] = { " const", " volatile", " &", " &&", " noexcept" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t length = strlen(words[i]);

		if (size > length && memcmp(name + size - length, words[i], length) == 0)
			return size - length;
	}
	return size;
}

static size_t end_of(const char *name)
{
	size_t size = strlen(name), before;

	do {
		before = size;
		size = without_clone_note(name, size);
		size = without_clone(name, size);
		size = without_hash(name, size);
		if (strchr(name, '('))
			size = without_qualifier(name, size);
	} while (size < before);
	return size;
}

/* --- Rust's qualified types --- */

/* The first " as " or " for " outside brackets, before `end`; NULL = none. */
static const char *word_between(const char *name, const char *at, const char *end, const char *word)
{
	int depth = 0;

	while (at < end) {
		if (depth == 0 && starts_with(at, word))
			return at;
		at += hp_name_step(name, at, &depth);
	}
	return NULL;
}

/* The type of `<T as Trait>`, `<impl Trait for T>` and `<T>`, which begin and end with a bracket. */
static struct part type_of(const char *name, const char *open, const char *close)
{
	const char *as = word_between(name, open + 1, close, " as ");
	const char *of = word_between(name, open + 1, close, " for ");

	if (starts_with(open + 1, "impl "))
		return of ? (struct part){ of + 5, (size_t)(close - of - 5) }
			  : (struct part){ open + 6, (size_t)(close - open - 6) };
	return (struct part){ open + 1, (size_t)((as ? as : close) - open - 1) };
}

/* The first part that begins with a bracket; NULL = none. */
static const char *qualified_at(const char *name)
{
	int depth = 0;

	for (const char *c = name; *c;) {
		if (*c == '<' && depth == 0 && (c == name || starts_with(c - 1, ":<")))
			return c;
		c += hp_name_step(name, c, &depth);
	}
	return NULL;
}

/* "::Debug" of `<T as core::fmt::Debug>`: a scope of its own, if names without it are the same; fresh. */
static char *trait_of(const char *name, const char *open, const char *close)
{
	const char *as = word_between(name, open + 1, close, " as ");
	char *whole, *trait;

	if (!as)
		return hp_xstrdup("");
	whole = copy_of(as + 4, (size_t)(close - as - 4));
	trait = hp_xprintf("::%s", hp_name_last(whole));
	free(whole);
	return trait;
}

/* Removes one of them; false = none. The text before an impl is the place of its definition. */
static bool qualified_replace(char **name, bool keeps_trait)
{
	const char *open = qualified_at(*name);
	const char *close = open ? bracket_end(*name, open) : NULL;
	struct part type;
	char *trait;

	if (!close || !*close)
		return false;
	if (open > *name && !starts_with(open + 1, "impl ") &&
	    !word_between(*name, open + 1, close, " as ")) {
		/* f::<T> has its arguments here. */
		become(name, hp_xprintf("%.*s%s", (int)(open - 2 - *name), *name, open));
		return true;
	}
	type = type_of(*name, open, close);
	if (!type.size)
		return false;
	trait = keeps_trait ? trait_of(*name, open, close) : hp_xstrdup("");
	become(name, hp_xprintf("%.*s%s%s", (int)type.size, type.at, trait, close + 1));
	free(trait);
	return true;
}

/* --- parts --- */

/* Bytes of a qualifier followed by ::, after the parameters of an enclosing function. */
static size_t qualifier_size(const char *name, const char *space)
{
	static const char *const words[] = { " const", " volatile", " &&", " &" };
	const char *at = space;

	if (space == name || space[-1] != ')')
		return 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (starts_with(at, words[i]))
			at += strlen(words[i]);
	return starts_with(at, "::") ? (size_t)(at - space) : 0;
}

/* Splits at the outermost ::, after a function's return type. Returns the number of parts. */
static size_t split(const char *name, size_t end, bool is_type, struct part *parts)
{
	size_t count = 1, i = 0;
	bool is_conversion = is_type;	/* operator unsigned long */
	int depth = 0;

	parts[0] = (struct part){ name, end };
	while (i < end) {
		size_t size = hp_name_step(name, name + i, &depth);

		is_conversion |= size > 2 && name[i] == 'o' && name[i + size - 1] == ' ';
		if (size == 1 && depth == 0 && name[i] == ' ' && !is_conversion) {
			size_t skipped = qualifier_size(name, name + i);

			if (!skipped) {
				count = 1;
				parts[0] = (struct part){ name + i + 1, end - i - 1 };
			} else {
				size = skipped;
			}
		} else if (size == 1 && depth == 0 && starts_with(name + i, "::") &&
			   count < PARTS_MAX) {
			parts[count - 1].size = (size_t)(name + i - parts[count - 1].at);
			parts[count++] = (struct part){ name + i + 2, end - i - 2 };
			size = 2;
		}
		i += size;
	}
	return count;
}

static bool is_part(const struct part *part, const char *text)
{
	return part->size == strlen(text) && memcmp(part->at, text, part->size) == 0;
}

static bool says_nothing(const struct part *part)
{
	return !part->size || is_part(part, "(anonymous namespace)") ||
	       is_part(part, "{anonymous}") || is_part(part, "__cxx11") || is_part(part, "__1") ||
	       is_part(part, "_V2");
}

/* The number after `sign`, as "#2"; numbers that count from 0 are increased by one. */
static char *lambda_number(const char *sign, int more)
{
	return hp_xprintf(LAMBDA "#%lu", strtoul(sign + 1, NULL, 10) + (unsigned long)more);
}

/* The name of a lambda: its line if known, else its number; NULL = not a lambda. */
static char *lambda_name(const struct part *part)
{
	const char *sign = memrchr(part->at, '#', part->size);

	if (starts_with(part->at, "{lambda:"))
		return hp_xprintf(LAMBDA "%.*s", (int)part->size - 8, part->at + 7);
	if (starts_with(part->at, "{lambda("))
		return sign ? lambda_number(sign, 0) : hp_xstrdup(LAMBDA);
	if (starts_with(part->at, "{closure#"))
		return sign ? lambda_number(sign, 1) : hp_xstrdup(LAMBDA);
	if (starts_with(part->at, "{{closure}}") || starts_with(part->at, "{closure"))
		return hp_xstrdup(LAMBDA);
	if (starts_with(part->at, "$_"))
		return lambda_number(part->at + 1, 1);
	if (starts_with(part->at, "'lambda"))
		return hp_xprintf(LAMBDA);
	return NULL;
}

static char *render(const char *name, size_t size, size_t depth, enum hp_name_detail detail,
		    int nested);

/* The next argument of a list, trimmed; false = none. */
static bool argument_next(const char *list, const char **at, const char *end, struct part *argument)
{
	int depth = 0;
	const char *c;

	while (*at < end && (**at == ' ' || **at == ','))
		++*at;
	if (*at >= end)
		return false;
	for (c = *at; c < end && !(depth == 0 && *c == ',');)
		c += hp_name_step(list, c, &depth);
	if (c > end)
		c = end;
	*argument = (struct part){ *at, (size_t)(c - *at) };
	while (argument->size && argument->at[argument->size - 1] == ' ')
		argument->size--;
	*at = c;
	return true;
}

static bool is_default(const struct part *argument)
{
	static const char *const starts[] = { "std::allocator<",      "std::char_traits<",
					      "std::less<",	      "std::hash<",
					      "std::default_delete<", "std::equal_to<" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (argument->size > strlen(starts[i]) && starts_with(argument->at, starts[i]))
			return true;
	return false;
}

/* The last part of an argument that is a short plain name; NULL = anything else. */
static char *one_word(const struct part *argument)
{
	struct part parts[PARTS_MAX];
	size_t count;

	for (size_t i = 0; i < argument->size; i++)
		if (!strchr("_:", argument->at[i]) && !isalnum((unsigned char)argument->at[i]))
			return NULL;
	count = split(argument->at, argument->size, true, parts);
	if (!parts[count - 1].size || parts[count - 1].size > ARGUMENT_MAX)
		return NULL;
	return copy_of(parts[count - 1].at, parts[count - 1].size);
}

static char *arguments_all(const char *list, const char *at, const char *end, int nested)
{
	struct part argument;
	char *all = hp_xstrdup("");

	while (argument_next(list, &at, end, &argument)) {
		char *text;

		if (*all && is_default(&argument))
			continue;
		text = render(argument.at, argument.size, 0, HP_NAME_ARGUMENTS, nested + 1);
		become(&all, hp_xprintf("%s%s%s", all, *all ? ", " : "", text));
		free(text);
	}
	return all;
}

/* The text shown for the arguments between `at` and `end`. */
static char *arguments_text(const char *list, const char *at, const char *end,
			    enum hp_name_detail detail, int nested)
{
	struct part first;
	char *text = NULL;

	if (detail >= HP_NAME_ARGUMENTS && nested < NESTED_MAX)
		return arguments_all(list, at, end, nested);
	if (argument_next(list, &at, end, &first))
		text = one_word(&first);
	return text ? text : hp_xstrdup(ELLIPSIS);
}

/* Bytes of a part's name, up to its brackets. */
static size_t base_size(const struct part *part)
{
	size_t i = 0;
	int depth = 0;

	while (i < part->size && !strchr("<(", part->at[i]) && !starts_with(part->at + i, "[abi:"))
		i += hp_name_step(part->at, part->at + i, &depth);
	if (!i || i > part->size)	/* (A, B): a type without a name */
		return part->size;
	return i;
}

static char *part_text(const struct part *part, enum hp_name_detail detail, int nested)
{
	const char *end = part->at + part->size;
	size_t base = base_size(part);
	const char *open = part->at + base;
	char *text = copy_of(part->at, base - (base && part->at[base - 1] == ' '));

	while (open < end && starts_with(open, "[abi:"))
		open = bracket_end(part->at, open) + 1;
	if (open < end && *open == '<') {
		const char *close = bracket_end(part->at, open);
		char *arguments = arguments_text(part->at, open + 1, close < end ? close : end,
						 detail, nested);

		become(&text, hp_xprintf("%s" ANGLE_OPEN "%s" ANGLE_CLOSE, text, arguments));
		free(arguments);
		open = close + 1;
	}
	while (open < end && starts_with(open, "[abi:"))
		open = bracket_end(part->at, open) + 1;
	if (detail == HP_NAME_SIGNATURE && open < end && *open == '(')
		become(&text, hp_xprintf("%s%.*s", text, (int)(end - open), open));
	return text;
}

/* Writes the parts; with `depth` only the last ones.  A lambda belongs to the part before it. */
static char *render(const char *name, size_t size, size_t depth, enum hp_name_detail detail,
		    int nested)
{
	struct part parts[PARTS_MAX];
	size_t count = split(name, size, nested > 0, parts), shown = 0;
	char *texts[PARTS_MAX], *whole = hp_xstrdup("");
	bool was_lambda = false;

	for (size_t i = 0; i < count; i++) {
		char *lambda = lambda_name(&parts[i]);
		bool is_call = was_lambda && starts_with(parts[i].at, "operator()");

		was_lambda = lambda;
		if (lambda && shown) {
			become(&texts[shown - 1], hp_xprintf("%s::%s", texts[shown - 1], lambda));
			free(lambda);
		} else if (lambda) {
			texts[shown++] = lambda;
		} else if (!is_call && !says_nothing(&parts[i])) {
			texts[shown++] = part_text(&parts[i], detail, nested);
		}
	}
	for (size_t i = 0; i < shown; i++) {
		if (!depth || i + depth >= shown)
			become(&whole, hp_xprintf("%s%s%s", whole, *whole ? "::" : "", texts[i]));
		free(texts[i]);
	}
	return whole;
}

/* A name with scopes, or with a compiler's suffix. */
static bool is_taken_apart(const char *name)
{
	const char *open = strchr(name, '(');

	return strstr(name, "::") || (open > name && open[-1] != ' ') || strstr(name, "[abi:") ||
	       strstr(name, " [clone ") || without_clone(name, strlen(name)) < strlen(name);
}

/* Where details begin that tell rows of one name apart: "wait(long) (0x12) (#2)". */
static size_t details_at(const char *name)
{
	const char *at = name, *start = NULL;
	int depth = 0;

	while (*at) {
		if (depth == 0 && starts_with(at, " (")) {
			start = start ? start : at;
			at = bracket_end(name, at + 1);
			at += *at != 0;
			continue;
		}
		start = NULL;
		at += hp_name_step(name, at, &depth);
	}
	return (size_t)((start ? start : at) - name);
}

/* The suffix of a name: a stub, a part of a coroutine, or details. */
static size_t tail_at(const char *name)
{
	static const char *const tails[] = { "@plt", " [clone .actor]", " [clone .destroy]" };
	size_t size = strlen(name);

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++)
		if (size > strlen(tails[i]) &&
		    strcmp(name + size - strlen(tails[i]), tails[i]) == 0)
			return size - strlen(tails[i]);
	return details_at(name);
}

/*
 * std::thread's function that calls a lambda, usually with the lambda inlined, is shown as the
 * lambda:
 * `std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#1}>>>::_M_run()`.
 */
static void thread_replace(char **name)
{
	static const char start[] = "std::thread::_", tuple[] = "std::tuple<";
	const char *open = strstr(*name, tuple), *at, *close;
	struct part argument;
	char *first;

	if (!starts_with(*name, start) || !open)
		return;
	close = bracket_end(*name, open + strlen(tuple) - 1);
	at = open + strlen(tuple);
	if (!argument_next(*name, &at, close, &argument))
		return;
	first = copy_of(argument.at, argument.size);
	if (strstr(first, "{lambda"))
		become(name, hp_xprintf("%s::operator()", first));
	free(first);
}

char *hp_name_display(const char *name, size_t depth, enum hp_name_detail detail)
{
	size_t tail = tail_at(name);
	char *known, *text;

	if (detail == HP_NAME_WHOLE || !is_taken_apart(name) || name[0] == '[')
		return hp_xstrdup(name);
	text = copy_of(name, tail);
	known = hp_name_known(text);
	free(text);
	for (int i = 0; i < PARTS_MAX && qualified_replace(&known, detail >= HP_NAME_ARGUMENTS);
	     i++)
		;
	thread_replace(&known);
	text = render(known, end_of(known), detail == HP_NAME_SHORT ? depth : 0, detail, 0);
	free(known);
	if (!*text)
		become(&text, copy_of(name, tail));
	if (name[tail])
		become(&text, hp_xprintf("%s%s", text, name + tail));
	return text;
}

char *hp_name_display_path(const char *path, size_t depth)
{
	char *whole = hp_xstrdup("");

	while (*path) {
		const char *next = strstr(path, ARROW);
		size_t size = next ? (size_t)(next - path) : strlen(path);
		const char *behind;
		char *name, *text;
		int depth_of = 0;

		/* The source location begins at the first blank outside brackets. */
		for (behind = path; behind < path + size && !(*behind == ' ' && depth_of == 0);)
			behind += hp_name_step(path, behind, &depth_of);
		/* A clone's suffix belongs to the name: "f(int) [clone .isra.0] (file.c:12)". */
		if (strncmp(behind, CLONE, sizeof(CLONE) - 1) == 0)
			behind += strcspn(behind, "]") + 1;
		if (behind > path + size)
			behind = path + size;
		name = copy_of(path, (size_t)(behind - path));
		text = hp_name_display(name, depth, HP_NAME_SHORT);
		become(&whole, hp_xprintf("%s%s%.*s%s", whole, text, (int)(path + size - behind),
					  behind, next ? ARROW : ""));
		free(name);
		free(text);
		path += size + (next ? sizeof(ARROW) - 1 : 0);
	}
	return whole;
}

/* --- names that look the same --- */

struct entry {
	const char *name;
	size_t place;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	return order ? order : (left->place > right->place) - (left->place < right->place);
}

/* The end of the entries from `i` on that have its name. */
static size_t run_end(const struct entry *sorted, size_t count, size_t i)
{
	size_t end = i + 1;

	while (end < count && strcmp(sorted[end].name, sorted[i].name) == 0)
		end++;
	return end;
}

/* Do these entries, which are displayed alike, have different names? */
static bool is_ambiguous(const struct entry *run, size_t count, const char *const *names)
{
	for (size_t k = 1; k < count; k++)
		if (strcmp(names[run[k].place], names[run[0].place]) != 0)
			return true;
	return false;
}

/* Marks the names that are displayed like another one. */
static size_t ambiguous_find(const char *const *names, char *const *display, size_t count,
			     bool *is_same)
{
	struct entry *sorted = hp_xcalloc(count, sizeof(*sorted));
	size_t used = 0, found = 0;

	for (size_t i = 0; i < count; i++) {
		is_same[i] = false;
		if (names[i])
			sorted[used++] = (struct entry){ display[i], i };
	}
	qsort(sorted, used, sizeof(*sorted), compare_entries);
	for (size_t i = 0, end; i < used; i = end) {
		end = run_end(sorted, used, i);
		if (!is_ambiguous(sorted + i, end - i, names))
			continue;
		for (size_t k = i; k < end; k++)
			is_same[sorted[k].place] = true;
		found += end - i;
	}
	free(sorted);
	return found;
}

/*
 * most[i]: the most that texts[i] has in common, at its start, with another one of those that are
 * displayed like others. In alphabetical order that is a neighbour.
 */
static size_t *common_most(char *const *texts, const bool *is_same, size_t count,
			   size_t (*common)(const char *, const char *))
{
	struct entry *sorted = hp_xcalloc(count + 1, sizeof(*sorted));
	size_t *most = hp_xcalloc(count + 1, sizeof(*most));
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		if (is_same[i])
			sorted[used++] = (struct entry){ texts[i], i };
	qsort(sorted, used, sizeof(*sorted), compare_entries);
	for (size_t i = 0, end; i < used; i = end) {
		const char *text = sorted[i].name;
		size_t before = i ? common(text, sorted[i - 1].name) : 0;

		end = run_end(sorted, used, i);
		size_t behind = end < used ? common(text, sorted[end].name) : 0;
		for (size_t k = i; k < end; k++)
			most[sorted[k].place] = before > behind ? before : behind;
	}
	free(sorted);
	return most;
}

void hp_names_display(const char *const *names, size_t count, size_t depth, char **display)
{
	bool *is_same = hp_xcalloc(count + 1, sizeof(*is_same));

	for (size_t i = 0; i < count; i++)
		if (names[i])
			display[i] = hp_name_display(names[i], depth, HP_NAME_SHORT);
	for (int detail = HP_NAME_SCOPED;
	     detail <= HP_NAME_WHOLE && ambiguous_find(names, display, count, is_same); detail++)
		for (size_t i = 0; i < count; i++)
			if (is_same[i])
				become(&display[i],
				       hp_name_display(names[i], 0, (enum hp_name_detail)detail));
	free(is_same);
}

/* Bytes that two texts have in common at their start, in whole characters. */
static size_t common_start(const char *a, const char *b)
{
	size_t i = 0;

	while (a[i] && a[i] == b[i])
		i++;
	while (i && ((unsigned char)a[i] & 0xc0) == 0x80)
		i--;
	return i;
}

/* A part of `text` that fits and begins shortly before byte `at`. */
static char *window(const char *text, size_t at, size_t width)
{
	size_t skipped, lead = width / 3;
	char *head = copy_of(text, at), *cut;

	skipped = hp_text_width(head);
	free(head);
	skipped = skipped > lead ? skipped - lead : 0;
	text += hp_text_start(text, skipped);
	if (skipped)
		width--;
	if (hp_text_width(text) <= width)
		return hp_xprintf("%s%s", skipped ? ELLIPSIS : "", text);
	cut = copy_of(text, hp_text_start(text, width > 1 ? width - 1 : 0));
	head = hp_xprintf("%s%s" ELLIPSIS, skipped ? ELLIPSIS : "", cut);
	free(cut);
	return head;
}

/* The start of the scopes and the whole last part; NULL = no room, or no scope. */
static char *scope_and_last(const char *text, size_t width)
{
	const char *last = hp_name_last(text);
	size_t taken = hp_text_width(last) + hp_text_width(ELLIPSIS "::");

	if (last == text || taken + SCOPE_MIN > width)
		return NULL;
	return hp_xprintf("%.*s" ELLIPSIS "::%s", (int)hp_text_start(text, width - taken), text,
			  last);
}

/* "add(…napi_module const&)": overloads keep their function's name; NULL = no room, or they differ
 * elsewhere. */
static char *overload(const char *text, size_t at, size_t width)
{
	const char *last = hp_name_last(text);
	const char *open = strchr(last + (starts_with(last, "operator()") ? 10 : 0), '(');
	char *name, *rest, *whole = NULL;

	if (!open || (size_t)(open - text) >= at)
		return NULL;
	name = copy_of(last, (size_t)(open + 1 - last));
	if (hp_text_width(name) + PARAMETERS_MIN <= width) {
		rest = window(open + 1, at - (size_t)(open + 1 - text),
			      width - hp_text_width(name));
		whole = hp_xprintf("%s%s", name, rest);
		free(rest);
	}
	free(name);
	return whole;
}

/* What is from `at` on, where it differs from others. */
static char *difference(const char *text, size_t at, size_t width)
{
	char *named = overload(text, at, width);

	return named ? named : window(text, at, width);
}

void hp_names_fit(char **texts, size_t count, size_t width)
{
	const char *const *names = (const char *const *)texts;
	bool *is_same = hp_xcalloc(count + 1, sizeof(*is_same));
	char **fitted = hp_xcalloc(count + 1, sizeof(*fitted));

	for (size_t i = 0; i < count; i++)
		fitted[i] = hp_name_fit(texts[i], width);
	if (ambiguous_find(names, fitted, count, is_same))
		for (size_t i = 0; i < count; i++) {
			char *text = is_same[i] ? scope_and_last(texts[i], width) : NULL;

			if (text)
				become(&fitted[i], text);
		}
	if (width > WINDOW_MIN && ambiguous_find(names, fitted, count, is_same)) {
		/* Where each first differs from all others. */
		size_t *most = common_most(texts, is_same, count, common_start);

		for (size_t i = 0; i < count; i++)
			if (is_same[i])
				become(&fitted[i], difference(texts[i], most[i], width));
		free(most);
	}
	for (size_t i = 0; i < count; i++)
		become(&texts[i], fitted[i]);
	free(is_same);
	free(fitted);
}

/* --- call paths --- */

/* Start of the next name of a path; NULL = this is the last. */
static const char *path_next(const char *path)
{
	const char *arrow = strstr(path, ARROW);

	return arrow ? arrow + sizeof(ARROW) - 1 : NULL;
}

/* Names that two paths have in common at their start. */
static size_t common_names(const char *a, const char *b)
{
	size_t count = 0;

	while (a && b) {
		const char *next_a = path_next(a), *next_b = path_next(b);
		size_t size = next_a ? (size_t)(next_a - a) : strlen(a);

		if (size != (next_b ? (size_t)(next_b - b) : strlen(b)) || memcmp(a, b, size) != 0)
			break;
		a = next_a;
		b = next_b;
		count++;
	}
	return count;
}

static char *cut_behind(const char *text, size_t width)
{
	if (hp_text_width(text) <= width)
		return hp_xstrdup(text);
	return hp_xprintf("%.*s" ELLIPSIS, (int)hp_text_start(text, width ? width - 1 : 0), text);
}

/* The first name, and the part after the names shared with other paths. */
static char *path_without(const char *path, size_t skipped, size_t width)
{
	const char *rest = path, *second = path_next(path);
	char *first, *whole, *fitted;

	while (rest && skipped--)
		rest = path_next(rest);
	if (!rest || !second || rest <= second)
		return cut_behind(path, width);
	fitted = copy_of(path, (size_t)(second - path) - (sizeof(ARROW) - 1));
	first = cut_behind(fitted, width / 2);
	whole = hp_xprintf("%s" ARROW ELLIPSIS ARROW "%s", first, rest);
	free(fitted);
	free(first);
	fitted = cut_behind(whole, width);
	free(whole);
	return fitted;
}

void hp_paths_fit(char **paths, size_t count, size_t width)
{
	bool *is_same = hp_xcalloc(count + 1, sizeof(*is_same));
	char **fitted = hp_xcalloc(count + 1, sizeof(*fitted));

	for (size_t i = 0; i < count; i++)
		fitted[i] = cut_behind(paths[i], width);
	ambiguous_find((const char *const *)paths, fitted, count, is_same);
	size_t *most = common_most(paths, is_same, count, common_names);

	for (size_t i = 0; i < count; i++)
		if (is_same[i])
			become(&fitted[i], path_without(paths[i], most[i], width));
	for (size_t i = 0; i < count; i++)
		become(&paths[i], fitted[i]);
	free(most);
	free(is_same);
	free(fitted);
}
