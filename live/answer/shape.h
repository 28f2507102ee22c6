/* SPDX-License-Identifier: MIT */
/*
 * shape.h - lists as the clients of one version of the Rust crate read them.
 *
 * `data` is in the shape of 0.30; `raw` beside it and keys of ours on the level
 * of the list are the same for all: clients skip what they do not know there.
 */
#ifndef HP_LIVE_ANSWER_SHAPE_H
#define HP_LIVE_ANSWER_SHAPE_H

#include <stdint.h>

struct cJSON;
struct hp_section;

/* Changes the list of that section to the shape of `api` (enum hp_api). */
void hp_shape_fit(struct cJSON *list, const struct hp_section *section, uint32_t api);

/* The same of an answer about one function's calls. */
void hp_shape_fit_logs(struct cJSON *list, uint32_t api);

#endif
