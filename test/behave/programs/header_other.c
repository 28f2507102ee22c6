/* SPDX-License-Identifier: MIT */
/* header_other.c - see header_scenes.c; also built as a library that is loaded and unloaded. */
#include "header_other.h"

HOTPATH_SKIP void header_other(long times)
{
	for (long i = 0; i < times; i++) {
		HOTPATH_BLOCK("shared");
		header_inline();
		header_inline();
	}
}
