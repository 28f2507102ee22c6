/* SPDX-License-Identifier: MIT */
/* header_other.h - blocks in an inline function: each file that uses it has a copy. */
#ifndef HEADER_OTHER_H
#define HEADER_OTHER_H

#include <hotpath.h>

static inline HOTPATH_SKIP void header_inline(void)
{
	HOTPATH_BLOCK("twice");
	__asm__ volatile("");
}

void header_other(long times);

#endif
