/* SPDX-License-Identifier: MIT */
/*
 * memory.c - allocations that never fail.
 */
#include "report/base/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPARSE_MIN ((size_t)1 << 20)	/* bytes; less comes from malloc */

static void *checked(void *memory)
{
	static const char line[] =
		"hotpath: out of memory; the report needs more than the limit allows\n";

	if (memory)
		return memory;
	if (write(2, line, sizeof(line) - 1) < 0)
		_exit(1);
	_exit(1);
}

void *hp_xmalloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *hp_xcalloc(size_t count, size_t size)
{
	return checked(calloc(count ? count : 1, size ? size : 1));
}

void *hp_xrealloc(void *old, size_t count, size_t size)
{
	return checked(reallocarray(old, count ? count : 1, size));
}

static void *mapped(size_t size)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return checked(pages == MAP_FAILED ? NULL : pages);
}

void *hp_xsparse(void *old, size_t count, size_t more, size_t size)
{
	void *array;

	if (more > SIZE_MAX / size)
		checked(NULL);
	if (old && count * size >= SPARSE_MIN) {
		array = mremap(old, count * size, more * size, MREMAP_MAYMOVE);
		return checked(array == MAP_FAILED ? NULL : array);
	}
	array = more * size < SPARSE_MIN ? hp_xcalloc(more, size) : mapped(more * size);
	if (old)
		memcpy(array, old, count * size);
	free(old);
	return array;
}

void hp_xsparse_free(void *array, size_t count, size_t size)
{
	if (array && count * size >= SPARSE_MIN)
		munmap(array, count * size);
	else
		free(array);
}

char *hp_xstrdup(const char *text)
{
	return checked(strdup(text));
}

char *hp_xprintf(const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	return checked(length < 0 ? NULL : text);
}

void *hp_xgrow(void *array, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return array;
	*room = *room ? *room * 2 : 16;
	return hp_xrealloc(array, *room, size);
}
