/* SPDX-License-Identifier: MIT */
/*
 * lock_place.h - places in code recorded by locks and channels.
 */
#ifndef HP_REPORT_READ_LOCK_PLACE_H
#define HP_REPORT_READ_LOCK_PLACE_H

#include <stdint.h>

#include "report/read/model.h"

/* A place in code or data. */
struct hp_lock_place {
	uint32_t object;	/* place in model->objects, or HP_NONE */
	uint64_t address;	/* in it; else plain; 0 = not known */
};

/* Of a module of the segment. */
struct hp_lock_place hp_lock_place_of(struct hp_model *model, uint64_t module, uint64_t address);

/* The place in model->objects of the hp_object at an offset, or HP_NONE. */
uint32_t hp_lock_object_find(struct hp_model *model, uint64_t offset);

#endif
