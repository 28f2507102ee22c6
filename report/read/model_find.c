/* SPDX-License-Identifier: MIT */
/*
 * model_find.c - times and places in a model, see model.h.
 */
#include "report/read/model.h"

uint64_t hp_model_ns(const struct hp_model *model, uint64_t ticks)
{
	double ns = (double)ticks * model->ns_per_tick + 0.5;

	return ns < 1e18 ? (uint64_t)ns : UINT64_C(1000000000000000000);
}

uint32_t hp_model_record_at(const struct hp_model *model, uint64_t offset)
{
	uint32_t place = offset % HP_LINE || offset / HP_LINE >= model->place_count
				 ? 0
				 : model->places[offset / HP_LINE];

	return place & HP_PLACE_ROW ? HP_NONE : place - 1;
}

uint32_t hp_model_place_at(const struct hp_model *model, uint64_t offset)
{
	uint32_t record = hp_model_record_at(model, offset);

	return record == HP_NONE ? HP_NONE : model->records[record].function;
}
