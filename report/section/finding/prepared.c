/* SPDX-License-Identifier: MIT */
/*
 * prepared.c - see prepared.h.
 */
#include "report/section/finding/prepared.h"

#include <stddef.h>
#include <string.h>

static const struct hp_prepared_word words[] = {
	{ "regcomp", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "__regcomp", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "regfree", HP_PREPARED_PATTERN, HP_PREPARED_FREES },
	{ "__regfree", HP_PREPARED_PATTERN, HP_PREPARED_FREES },
	/* The C library builds the states of an automaton when they are first needed. */
	{ "regexec", HP_PREPARED_PATTERN, HP_PREPARED_USES },
	{ "__regexec", HP_PREPARED_PATTERN, HP_PREPARED_USES },
	{ "pcre_compile*", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "pcre_study", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "pcre2_compile_8", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "pcre2_compile_16", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "pcre2_compile_32", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "pcre2_jit_compile_*", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "pcre2_code_free_*", HP_PREPARED_PATTERN, HP_PREPARED_FREES },
	{ "onig_new", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "onig_free", HP_PREPARED_PATTERN, HP_PREPARED_FREES },
	{ "g_regex_new", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "g_regex_match_simple", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "re2::RE2::RE2", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "re2::RE2::Init", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "re2::RE2::~RE2", HP_PREPARED_PATTERN, HP_PREPARED_FREES },
	{ "std::basic_regex*", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "std::__cxx11::basic_regex*", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "std::__detail::_Compiler*", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "std::__detail::_Scanner*", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "regex::Regex::new", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "regex::regex::string::Regex::new", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "regex::regex::bytes::Regex::new", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "regex::builders::*", HP_PREPARED_PATTERN, HP_PREPARED_MAKES },
	{ "sqlite3_prepare", HP_PREPARED_STATEMENT, HP_PREPARED_MAKES },
	{ "sqlite3_prepare_v2", HP_PREPARED_STATEMENT, HP_PREPARED_MAKES },
	{ "sqlite3_prepare_v3", HP_PREPARED_STATEMENT, HP_PREPARED_MAKES },
	{ "sqlite3_prepare16*", HP_PREPARED_STATEMENT, HP_PREPARED_MAKES },
	{ "sqlite3LockAndPrepare", HP_PREPARED_STATEMENT, HP_PREPARED_MAKES },
	/* The first step of a statement opens its tables and makes their cursors. */
	{ "sqlite3_step", HP_PREPARED_STATEMENT, HP_PREPARED_USES },
	{ "sqlite3_finalize", HP_PREPARED_STATEMENT, HP_PREPARED_FREES },
};

bool hp_prepared_may_be(const char *name)
{
	/* One of these is in each of the words. */
	static const char *const parts[] = { "reg",	"pcre",	       "onig",	    "re2",
					     "sqlite3", "::_Compiler", "::_Scanner" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

const struct hp_prepared_word *hp_prepared_of(const char *name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t length = strlen(words[i].text);

		if (words[i].text[length - 1] == '*' ? !strncmp(name, words[i].text, length - 1)
						     : !strcmp(name, words[i].text))
			return &words[i];
	}
	return NULL;
}

static const char *const texts[HP_PREPARED_KINDS][2] = {
	[HP_PREPARED_PATTERN] = { "compiles a regular expression",
				  "if it is the same each time, compile it once" },
	[HP_PREPARED_STATEMENT] = { "prepares an SQL statement",
				    "if only its values differ, prepare it once and bind them" },
};

const char *hp_prepared_text(enum hp_prepared kind)
{
	return texts[kind][0];
}

const char *hp_prepared_advice(enum hp_prepared kind)
{
	return texts[kind][1];
}
