/* SPDX-License-Identifier: MIT */
/*
 * shape.h - converts lists to the format of one version of the Rust crate.
 *
 * `data` has the shape of 0.30. `raw` and our own list keys are the same for
 * all versions, since clients skip unknown keys there.
 */
#ifndef HP_LIVE_ANSWER_SHAPE_H
#define HP_LIVE_ANSWER_SHAPE_H

#include <stdint.h>

struct cJSON;
struct hp_section;

/* Changes the list of that section to the shape of `api` (enum hp_api). */
void hp_shape_fit(struct cJSON *list, const struct hp_section *section, uint32_t api);

/* The same for the calls of one function. */
void hp_shape_fit_logs(struct cJSON *list, uint32_t api);

#endif
