/* SPDX-License-Identifier: MIT */
/*
 * name.c - takes demangled names apart.
 *
 * A demangled name is [return type] scope::scope::name[<...>][(parameters)]
 * [qualifiers].  Brackets nest; the text after `operator` is not a bracket, and
 * "(anonymous namespace)" is not a list of parameters.
 */
#include "report/name/name.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"

#define ELLIPSIS "\342\200\246"
#define PARTS_MAX 64

static const char anonymous[] = "(anonymous namespace)";

/* Longer operators before their prefixes: a template's bracket may follow. */
static const char *const operators[] = {
	"<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "==", "!=", "&&",
	"||",  "++",  "--",  "+=",  "-=", "*=", "/=", "%=", "^=", "&=", "|=", "->", "<",
	">",   "=",   "-",   "+",   "*",  "/",	"%",  "^",  "&",  "|",	"~",  "!",  ",",
};

static bool is_of_word(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9');
}

/* If `text` begins with `operator`: bytes up to the end of the operator's sign. */
static size_t operator_size(const char *name, const char *text)
{
	static const char word[] = "operator";
	size_t size = sizeof(word) - 1;
	size_t signs = 0;

	if (strncmp(text, word, size) != 0 || (text > name && is_of_word(text[-1])))
		return 0;
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]) && !signs; i++)
		if (strncmp(text + size, operators[i], strlen(operators[i])) == 0)
			signs = strlen(operators[i]);
	if (signs && strncmp(text + size + signs, " <", 2) == 0)
		signs++;	/* "operator< <int>(...)" */
	if (signs)
		return size + signs;
	return text[size] == ' ' ? size + 1 : 0;
}

size_t hp_name_step(const char *name, const char *text, int *depth)
{
	size_t size;

	/* Called for each character of each name. */
	switch (*text) {
	case 'o':
		size = operator_size(name, text);
		return size ? size : 1;
	case '-':
		return text[1] == '>' ? 2 : 1;
	case '(':
		if (strncmp(text, anonymous, sizeof(anonymous) - 1) == 0)
			return sizeof(anonymous) - 1;
		++*depth;
		return 1;
	case '<':
	case '{':
	case '[':
		++*depth;
		return 1;
	case '>':
	case ')':
	case '}':
	case ']':
		*depth -= *depth > 0;
		return 1;
	}
	return 1;
}

/* Characters that are a step of their own and mean nothing: most of a name. */
static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z' && c != 'o') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Where the parameters start; the end without them. */
static size_t parameters_at(const char *name)
{
	int depth = 0;

	for (const char *c = name; *c;) {
		if (is_plain(*c)) {
			c++;
			continue;
		}
		if (*c == '(' && depth == 0 && c > name && c[-1] != ' ' &&
		    strncmp(c, anonymous, sizeof(anonymous) - 1) != 0)
			return (size_t)(c - name);
		c += hp_name_step(name, c, &depth);
	}
	return strlen(name);
}

/* A lambda means nothing without its enclosing function, nor its operator without the lambda. */
static bool is_within_lambda(const char *name, size_t colons)
{
	return name[colons + 2] == '{' || (colons && name[colons - 1] == '}');
}

/* Where the last `parts` parts start, between the return type and `end`. */
static size_t parts_at(const char *name, size_t end, size_t parts)
{
	size_t starts[PARTS_MAX] = { 0 };
	size_t count = 1;
	int depth = 0;

	for (size_t i = 0; i < end;) {
		size_t size;

		if (is_plain(name[i])) {
			i++;
			continue;
		}
		size = hp_name_step(name, name + i, &depth);
		if (depth == 0 && size == 1 && name[i] == ' ') {
			starts[0] = i + 1;
			count = 1;
		} else if (depth == 0 && size == 1 && name[i] == ':' && name[i + 1] == ':') {
			size = 2;
			if (is_within_lambda(name, i)) {
				i += size;
				continue;
			}
			if (count == PARTS_MAX)
				memmove(starts, starts + 1, --count * sizeof(starts[0]));
			starts[count++] = i + 2;
		}
		i += size;
	}
	return starts[parts && parts < count ? count - parts : 0];
}

const char *hp_name_scope(const char *name)
{
	return name + parts_at(name, parameters_at(name), 0);
}

char *hp_name_known(const char *name)
{
	static const struct {
		const char *inner, *outer;
	} names[] = {
		{ "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
		  "std::string" },
		{ "std::__cxx11::", "std::" },
		{ "> >", ">>" },
	};
	char *copy = hp_xmalloc(strlen(name) + 1);
	char *to = copy;

	while (*name) {
		/* Nearly every byte is another one. */
		size_t i = *name == 's' || *name == '>' ? 0 : 3;

		while (i < 3 && strncmp(name, names[i].inner, strlen(names[i].inner)) != 0)
			i++;
		if (i == 3) {
			*to++ = *name++;
			continue;
		}
		to = stpcpy(to, names[i].outer) - (i == 2);
		name += strlen(names[i].inner) - (i == 2);
	}
	*to = 0;
	return copy;
}

char *hp_name_short(const char *name, size_t depth)
{
	char *known, *last;

	if (!strchr(name, ':') && !strchr(name, '('))
		return hp_xstrdup(name);
	known = hp_name_known(name);
	last = hp_xstrdup(known + parts_at(known, parameters_at(known), depth));
	free(known);
	return last;
}

/* Replacement for a pair of brackets and its content. */
enum gone { GONE_INSIDE, GONE_WHOLE };

/* Copies `name`, with the outermost brackets `open` emptied or left out. */
static char *hollow(const char *name, char open, enum gone gone)
{
	char *copy = hp_xmalloc(3 * strlen(name) + 1);
	char *to = copy;
	int depth = 0;
	int hidden_at = 0;	/* depth inside the skipped part */

	for (const char *c = name; *c;) {
		size_t length = hp_name_step(name, c, &depth);
		bool ends = hidden_at && depth < hidden_at;
		/* "thread (function)" is no call. */
		bool is_aside = *c == '(' && c > name && c[-1] == ' ';
		bool starts =
			!hidden_at && length == 1 && *c == open && !is_aside && !strchr(">)", c[1]);

		if (starts)
			hidden_at = depth;
		if ((!hidden_at || starts || ends) && !(gone == GONE_WHOLE && (starts || ends))) {
			memcpy(to, c, length);
			to += length;
		}
		if (starts && gone == GONE_INSIDE)
			to = stpcpy(to, ELLIPSIS);
		if (ends)
			hidden_at = 0;
		c += length;
	}
	*to = 0;
	return copy;
}

/*
 * Start and end with an ellipsis between.  The start of a function's name tells more,
 * the end of a path, of a place in a file and of an offset.
 */
static char *cut(const char *name, size_t width)
{
	size_t left_width = width <= 8 ? 0 : (width - 1) * (strpbrk(name, "/:+") ? 1 : 2) / 3;
	size_t right_width = width ? width - 1 - left_width : 0;
	size_t all_width = hp_text_width(name);
	size_t left = hp_text_start(name, left_width);
	size_t right = hp_text_start(name, all_width - right_width);
	char *copy = hp_xmalloc(left + strlen(ELLIPSIS) + strlen(name + right) + 1);

	memcpy(copy, name, left);
	strcpy(copy + left, width ? ELLIPSIS : "");
	strcat(copy, width ? name + right : "");
	return copy;
}

char *hp_name_bare(const char *name)
{
	char *copy = hp_xstrdup(name);

	copy[parameters_at(copy)] = 0;
	return copy;
}

char *hp_name_plain(const char *name)
{
	char *copy = hp_name_bare(name), *plain = hollow(copy, '<', GONE_WHOLE);

	free(copy);
	return plain;
}

/* Template arguments that show nothing are dropped first: short.h writes them so. */
static char *without_ellipses(const char *name)
{
	static const char arguments[] = "\342\200\271" ELLIPSIS "\342\200\272";
	char *copy = hp_xmalloc(strlen(name) + 1), *to = copy;

	while (*name) {
		if (strncmp(name, arguments, sizeof(arguments) - 1) == 0)
			name += sizeof(arguments) - 1;
		else
			*to++ = *name++;
	}
	*to = 0;
	return copy;
}

/* The name without its outermost scope, at the :: after it; NULL = it has none. */
static const char *scope_end(const char *name)
{
	int depth = 0;

	for (const char *c = name; *c;) {
		if (strncmp(c, "\342\200\271", 3) == 0)	/* the brackets of short.h */
			depth++;
		else if (strncmp(c, "\342\200\272", 3) == 0)
			depth--;
		else if (depth == 0 && c[0] == ':' && c[1] == ':' && c[2])
			return c + 2;
		c += hp_name_step(name, c, &depth);
	}
	return NULL;
}

const char *hp_name_last(const char *name)
{
	const char *rest = name, *next = scope_end(name);

	while (next && strncmp(next, "\316\273", 2) != 0) {
		rest = next;
		next = scope_end(rest);
	}
	return rest;
}

/*
 * Scopes that do not fit are replaced by an ellipsis; the last part is kept,
 * and lambdas keep their function.
 */
static char *without_scopes(const char *name, size_t width)
{
	const char *rest = name, *next = scope_end(name);

	while (next && hp_text_width(rest) + (rest > name) > width &&
	       strncmp(next, "\316\273", 2) != 0) {
		rest = next;
		next = scope_end(rest);
	}
	/* If the last part must be cut as well, one ellipsis is enough. */
	return rest > name && hp_text_width(rest) < width ? hp_xprintf(ELLIPSIS "%s", rest)
							  : hp_xstrdup(rest);
}

/* "log (dir/file.c:12)" -> "log (file.c:12)": a fresh copy. */
static char *without_folder(const char *name)
{
	const char *place = strstr(name, " (");
	const char *slash = place ? strrchr(place, '/') : NULL;

	return slash ? hp_xprintf("%.*s%s", (int)(place + 2 - name), name, slash + 1)
		     : hp_xstrdup(name);
}

char *hp_name_fit(const char *name, size_t width)
{
	static const struct {
		char open;
		enum gone gone;
	} steps[] = {
		{ '<', GONE_INSIDE }, { '(', GONE_INSIDE }, { '<', GONE_WHOLE }, { '(', GONE_WHOLE }
	};
	char *fitted = hp_text_width(name) > width ? without_folder(name) : hp_xstrdup(name);
	char *next;

	for (size_t i = 0; i < 4 && hp_text_width(fitted) > width; i++) {
		next = hollow(fitted, steps[i].open, steps[i].gone);
		free(fitted);
		fitted = next;
	}
	if (hp_text_width(fitted) > width) {
		next = without_ellipses(fitted);
		free(fitted);
		fitted = next;
	}
	next = without_scopes(fitted, width);
	free(fitted);
	fitted = next;
	if (hp_text_width(fitted) <= width)
		return fitted;
	next = cut(fitted, width);
	free(fitted);
	return next;
}

const char *hp_name_file(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
