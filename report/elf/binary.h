/* SPDX-License-Identifier: MIT */
/*
 * binary.h - what an ELF file says of itself, as far as a profiler cares.
 *
 * For `hotpath doctor`, which has time: read by elfutils, which is loaded for it,
 * separate debug files included.
 */
#ifndef HP_REPORT_ELF_BINARY_H
#define HP_REPORT_ELF_BINARY_H

#include <stdbool.h>
#include <stddef.h>

struct hp_binary {
	const char *fault;	/* why it could not be read, a static text; NULL = it was */
	size_t functions;	/* names of its own functions */
	bool has_symtab;	/* of all of them, not only of those that it exports */
	bool has_debug;	/* names of source files and lines */
	char *separate;	/* the file in which the latter are; NULL = in it itself */
	bool calls_hooks;	/* compiled with -finstrument-functions */
	bool has_own_hooks;	/* defines them, so a library's are not called */
	bool has_own_malloc;	/* defines it, so a library's is not called */
	const char *allocator;	/* what it is linked with or needs; NULL = none that is known */
	const char *sanitizer;	/* -fsanitize=...; NULL = none */
	size_t sanitizer_rank;	/* its place in the table */
	bool has_header;	/* compiled with hotpath.h */
	const char *language;	/* of a compiler that has no hooks; NULL = any other */
};

void hp_binary_init(struct hp_binary *binary, const char *path);
void hp_binary_release(struct hp_binary *binary);

#endif
