/* SPDX-License-Identifier: MIT */
/*
 * member.h - finds the member of a type at an offset of a heap block.
 *
 * A process does not record the type of a block. But the compilation unit that allocates it has the
 * complete type in its debug information: a type is a candidate if the block's size is
 * a multiple of its size, and it has a member of the wanted type at the offset.  With
 * several candidates none is chosen, unless the functions that allocate the block name one.
 */
#ifndef HP_REPORT_ELF_MEMBER_H
#define HP_REPORT_ELF_MEMBER_H

#include <stdint.h>

#include "report/elf/symbol_file.h"

struct hp_member_wanted {
	uint64_t address;	/* code of the file that allocates the block or sets up the member */
	const char *type;	/* of the member: "pthread_mutex_t" */
	uint64_t size;	/* bytes that were requested for the block; not 0 */
	uint64_t offset;	/* bytes from the block's start to the member */
	const char *const *functions;	/* demangled names of functions at `address` */
	size_t function_count;
};

/*
 * A fresh "app::Session::m", or "app::Account::m[7 of 16]" in an array that starts at 0; NULL = not
 * known, more than one type fits, or the process has already spent HP_MEMBER_MS on such lookups.
 * For one thread at a time.
 */
char *hp_member_name(struct hp_symbol_file *file, const struct hp_member_wanted *wanted);

/*
 * The same of a variable: a fresh "accounts[7].m" for the member `wanted->offset` bytes after the
 * start of the variable `name` (as in debug information, without namespaces) of `wanted->size`
 * bytes.  The address and the functions are ignored.
 */
char *hp_member_of_variable(struct hp_symbol_file *file, const char *name,
			    const struct hp_member_wanted *wanted);

#define HP_MEMBER_MS 200

#endif
