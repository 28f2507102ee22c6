/* SPDX-License-Identifier: MIT */
/*
 * setting_check.h - values of variables that are texts of a certain form.
 *
 * Used inside the target: see setting.h.
 */
#ifndef HP_SEGMENT_SETTING_CHECK_H
#define HP_SEGMENT_SETTING_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* The address to listen at, which is `text` or, for localhost, 127.0.0.1; NULL = not an address. */
const char *hp_setting_address(const char *text);

/* True if it is empty or a list of ascending numbers above 0, as in 0.001,0.01,0.1. */
bool hp_setting_are_buckets(const char *text);

/* True if HP_LIBRARIES has this name. */
bool hp_setting_is_library(const char *name, size_t length);

/* The word of a list, a|b|c, that is nearest to another one: `*size` characters of it. */
const char *hp_setting_nearest(const char *list, const char *word, size_t length, size_t *size);

#endif
