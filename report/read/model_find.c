/* SPDX-License-Identifier: MIT */
/*
 * model_find.c - times and places in a model, see model.h.
 */
#include "report/read/model.h"

#include <string.h>

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

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The name under which the program was started; NULL = a script's, or not known. */
static const char *started_by(const struct hp_model_process *process)
{
	const char *command = process->command ? process->command : "";
	size_t end = strcspn(command, " "), start = end;

	while (start && command[start - 1] != '/')
		start--;
	/* A script has its own name, and its interpreter's in the command. */
	if (end == start || strlen(process->comm) != end - start ||
	    strncmp(process->comm, command + start, end - start) != 0)
		return NULL;
	return process->comm;
}

const char *hp_model_object_name(const struct hp_model *model, uint32_t object)
{
	const char *file = file_of(model->objects[object].path), *name = NULL;

	for (size_t i = 0; model->objects[object].is_program && i < model->process_count; i++) {
		const char *its;

		if (model->processes[i].object != object)
			continue;
		its = started_by(&model->processes[i]);
		if (!its || (name && strcmp(name, its) != 0))
			return file;
		name = its;
	}
	return name ? name : file;
}
