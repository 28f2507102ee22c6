/* SPDX-License-Identifier: MIT */
/*
 * block.h - pieces of code that the source marks and names (include/hotpath.h).
 *
 * A block is handled like a function, with a key instead of the function's
 * address: the address of its label's record in the segment. So blocks of one
 * label have one key, also after a dlclose and in other processes of the
 * session; and no function has that key.
 */
#ifndef HP_PRELOAD_CALL_BLOCK_H
#define HP_PRELOAD_CALL_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/call/local.h"
#include "segment/layout/process.h"
#include "segment/setting.h"

struct hotpath_block;

/* The key of a block, which its descriptor holds from now on.  The gate is shut. */
uintptr_t hp_block_key(struct hotpath_block *block);

/* The label after a key; NULL = it is the address of a function. */
const struct hp_label *hp_block_label(uintptr_t key);

/* The current segment's copy of a label of a segment that the process has left; NULL = no
 * room. */
const struct hp_label *hp_block_again(const struct hp_label *before);

/* Where its descriptor was first seen; NULL = in no object. */
const struct hp_module *hp_block_module(const struct hp_label *label);

/* Blocks without room for their label; they are counted as `<other>`. */
bool hp_block_is_nameless(uintptr_t key);

/* The label of a HOTPATH_NAME, which knows it from now on; NULL = no room.  The gate is shut. */
struct hp_label *hp_block_name(struct hotpath_block *name);

/* Bytes of the longest start of `text`, at most `most`, that does not end inside a character. */
size_t hp_block_text(const char *text, size_t most);

/* Writes the executable's HOTPATH_DEFAULTS; "" = it has none. */
void hp_block_defaults(char text[HP_DEFAULTS_MAX]);

/*
 * Sets the program's pointers to our hooks, in all modules loaded so far; false =
 * clears them.
 */
void hp_block_offer(bool is_recorded);

#endif
