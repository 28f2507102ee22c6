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
	"PyThread_acquire_lock*",
	"PyThread_start_new_thread",
};

bool hp_wrapper_matches(const char *pattern, size_t length, const char *name)
{
	const char *star = memchr(pattern, '*', length);
	size_t head = star ? (size_t)(star - pattern) : length;

	if (strncmp(name, pattern, head) != 0)
		return false;
	name += head;
	if (!star)
		return *name == 0 || *name == '(' || *name == '<' || *name == '@';
	length -= head + 1;
	for (; length && *name; name++)
		if (hp_wrapper_matches(star + 1, length, name))
			return true;
	return length == 0;
}

bool hp_wrapper_is_library(const char *name)
{
	name = hp_name_scope(name);
	return strncmp(name, "std::", 5) == 0 || strncmp(name, "__gnu_cxx::", 11) == 0;
}

bool hp_wrapper_is_outermost(const char *name)
{
	return strcmp(name, "main") == 0 || strcmp(name, "start_thread") == 0 ||
	       strncmp(name, "clone", 5) == 0 || strncmp(name, "__libc_start", 12) == 0;
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
