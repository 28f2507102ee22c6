/* SPDX-License-Identifier: MIT */
/*
 * wrapper.c - see wrapper.h.
 */
#include "report/name/wrapper.h"

#include <string.h>

#include "report/name/name.h"

static const char *const waiters[] = {
	"__gthread_*",
	"__pthread_once*",
	"g_mutex_*",
	"g_rec_mutex_*",
	"g_rw_lock_*",
	"g_cond_*",
	"g_thread_*",
	"g_usleep",
	"g_poll",
	"g_async_queue_*",
	"uv_mutex_*",
	"uv_rwlock_*",
	"uv_cond_*",
	"uv_sem_wait",
	"uv_barrier_wait",
	"uv_thread_*",
	"uv_sleep",
	"ev_sleep",
	"apr_sleep",
	"PyThread_acquire_lock*",
	"PyThread_start_new_thread",
};

bool hp_wrapper_matches(const char *pattern, size_t length, const char *name)
{
	const char *star = memchr(pattern, '*', length);
	size_t head = star ? (size_t)(star - pattern) : length;

	if (head && (*name != *pattern || strncmp(name, pattern, head) != 0))
		return false;
	name += head;
	if (!star)
		return *name == 0 || *name == '(' || *name == '<' || *name == '@';
	length -= head + 1;
	for (; length && *name; name++) {
		if (star[1] != '*' && !(name = strchr(name, star[1])))
			return false;
		if (hp_wrapper_matches(star + 1, length, name))
			return true;
	}
	return length == 0;
}

static bool starts_with_any(const char *name, const char *const *starts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

/* --- Rust --- */

/* C++'s names end with parameters, Rust's have none. */
static bool has_parameters(const char *name)
{
	int depth = 0;

	for (; *name; name++) {
		if (*name == '(' && depth == 0)
			return true;
		depth += *name == '<';
		depth -= *name == '>' && name[-1] != '-';
	}
	return false;
}

/* Skips what precedes a type's path: "<", "&mut ", "[". */
static const char *skip_qualifiers(const char *name)
{
	static const char *const words[] = { "mut ", "const ", "dyn ", "impl " };

	for (;;) {
		size_t i = 0;

		while (i < 4 && strncmp(name, words[i], strlen(words[i])) != 0)
			i++;
		if (i < 4)
			name += strlen(words[i]);
		else if (*name && strchr("<&*[(", *name))
			name++;
		else
			return name;
	}
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == ':';
}

/* u8, str, or a parameter such as T: the trait determines who wrote the function. */
static bool is_anyones(const char *type)
{
	static const char *const names[] = { "u8",   "u16",  "u32",   "u64",   "u128", "i8",
					     "i16",  "i32",  "i64",   "i128",  "f32",  "f64",
					     "bool", "char", "usize", "isize", "str" };
	size_t length = 0;

	while (is_letter(type[length]))
		length++;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == length && strncmp(type, names[i], length) == 0)
			return true;
	return length == 0 || (length == 1 && type[0] >= 'A' && type[0] <= 'Z');
}

static bool is_rust_crate(const char *path)
{
	static const char *const crates[] = { "std::",	   "core::",  "alloc::", "hashbrown::",
					      "__rustc::", "__rust_", "__rdl_" };

	return starts_with_any(path, crates, sizeof(crates) / sizeof(crates[0]));
}

/* "core::fmt::write", "<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend", "<u64>::add" */
static bool is_rust_library(const char *name)
{
	const char *type = skip_qualifiers(name), *trait;

	if (has_parameters(name))
		return false;
	if (is_rust_crate(type) || *name != '<' || (name[1] != '[' && !is_anyones(type)))
		return is_rust_crate(type);
	trait = strstr(type, " as ");
	return !trait || is_rust_crate(skip_qualifiers(trait + 4));
}

bool hp_wrapper_is_library(const char *name)
{
	static const char *const starts[] = { "std::", "__gnu_cxx::" };

	/* Finding the scope takes longer than seeing that no part of the name starts so. */
	if ((strstr(name, starts[0]) || strstr(name, starts[1])) &&
	    starts_with_any(hp_name_scope(name), starts, 2))
		return true;
	return is_rust_library(name);
}

bool hp_wrapper_is_outermost(const char *name)
{
	return strcmp(name, "main") == 0 || strcmp(name, "_start") == 0 ||
	       strcmp(name, "start_thread") == 0 || strncmp(name, "clone", 5) == 0 ||
	       strncmp(name, "__libc_start", 12) == 0;
}

bool hp_wrapper_is_plumbing(const char *name)
{
	static const char *const patterns[] = { "*std::__invoke*",	 "*std::thread::_*",
						"*std::__1::__thread_*", "*std::__1::__invoke*",
						"__pthread_once*",	 "__gthread_*" };

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (hp_wrapper_matches(patterns[i], strlen(patterns[i]), name))
			return true;
	return false;
}

bool hp_wrapper_waits(const char *name)
{
	if (hp_wrapper_is_library(name))
		return true;
	name = hp_name_scope(name);
	for (size_t i = 0; i < sizeof(waiters) / sizeof(waiters[0]); i++)
		if (hp_wrapper_matches(waiters[i], strlen(waiters[i]), name))
			return true;
	return false;
}

/* Names of allocation functions in the C library and other common allocators. */
bool hp_wrapper_allocates(const char *name)
{
	static const char *const starts[] = {
		"operator new",	 "operator delete", "__libc_malloc",   "__libc_free",
		"__libc_calloc", "__libc_realloc",  "__libc_memalign", "_int_malloc",
		"_int_free",	 "_int_realloc",    "_int_memalign",   "je_",
		"tc_malloc",	 "tc_new",	    "tc_free",	       "tc_delete",
		"tc_calloc",	 "tc_realloc",	    "mi_malloc",       "mi_free",
		"mi_new",	 "mi_calloc",	    "mi_realloc",      "_mi_"
	};
	static const char *const names[] = { "malloc",
					     "calloc",
					     "realloc",
					     "free",
					     "cfree",
					     "reallocarray",
					     "posix_memalign",
					     "aligned_alloc",
					     "memalign",
					     "valloc",
					     "pvalloc",
					     "sysmalloc",
					     "malloc_consolidate",
					     "systrim",
					     "malloc_trim",
					     "free_sized",
					     "free_aligned_sized" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}
