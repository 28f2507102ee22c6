/* SPDX-License-Identifier: MIT */
/*
 * number.h - numbers of our JSON lists, for metrics.
 */
#ifndef HP_LIVE_EXPORT_NUMBER_H
#define HP_LIVE_EXPORT_NUMBER_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/* False = the row has no number with this key; it may be NULL. */
bool hp_number_of(const cJSON *row, const char *key, double *number);

#endif
