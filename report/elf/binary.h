/* SPDX-License-Identifier: MIT */
/*
 * binary.h - the properties of an ELF file that matter to a profiler.
 *
 * For `hotpath doctor`, which may be slow: read by elfutils, loaded on demand,
 * including separate debug files.
 */
#ifndef HP_REPORT_ELF_BINARY_H
#define HP_REPORT_ELF_BINARY_H

#include <stdbool.h>
#include <stddef.h>

struct hp_binary {
	const char *fault;	/* why it could not be read, a static text; NULL = it was */
	size_t functions;	/* names of functions that it defines */
	bool has_symtab;	/* names of all functions, not only of exported ones */
	bool has_debug;	/* names of source files and lines */
	char *separate;	/* the file that has them; NULL = the file itself */
	bool calls_hooks;	/* compiled with -finstrument-functions */
	bool has_own_hooks;	/* defines them, so a library's are not called */
	bool has_own_malloc;	/* defines it, so a library's is not called */
	const char *allocator;	/* linked or needed allocator; NULL = none known */
	const char *sanitizer;	/* -fsanitize=...; NULL = none */
	size_t sanitizer_rank;	/* its place in the table */
	bool has_header;	/* compiled with hotpath.h */
	const char *language;	/* a language whose compiler has no hooks; NULL = any other */
};

void hp_binary_init(struct hp_binary *binary, const char *path);
void hp_binary_release(struct hp_binary *binary);

#endif
