/* SPDX-License-Identifier: MIT */
/*
 * launch.c - a program that another one prepared, as a script that chooses an interpreter does:
 * the first process was that one before it became the program by exec.
 *
 * The user did not ask for its functions and waits, so they are summed up. A program that took
 * more CPU time than the last one, as in `sh -c "work; sleep 1"`, did more than prepare it.
 */
#include <stdlib.h>

#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/section/answer/answer.h"

#define LAUNCH_MIN 0.1 /* of the wall time */
#define LAUNCH_MIN_NS 1e7
#define MOST 0.9	/* of the time before, for one program to have taken it */

/* The last image of the first process before `before_ns`, not of that object; NULL = not known. */
static const struct hp_model_process *last_image(const struct hp_model *model, uint64_t before_ns,
						 uint32_t object)
{
	const struct hp_model_process *last = NULL;

	for (size_t i = 0; i < model->process_count; i++) {
		const struct hp_model_process *process = &model->processes[i];

		if (process->is_root && process->object != HP_NONE && process->object != object &&
		    process->start_ns < before_ns && (!last || process->start_ns > last->start_ns))
			last = process;
	}
	return last;
}

static const char *file_of(const struct hp_model *model, const struct hp_model_process *process)
{
	return hp_name_file(model->objects[process->object].path);
}

/* The program that took nearly all of the time before `last`; NULL = not known. */
static const char *most_of(const struct hp_model *model, const struct hp_model_process *last)
{
	for (size_t i = 0; i < model->process_count; i++) {
		const struct hp_model_process *image = &model->processes[i];

		if (image->is_root && image->object != HP_NONE &&
		    image->start_ns < last->start_ns &&
		    (double)(image->end_ns - image->began_ns) >= MOST * (double)last->began_ns)
			return file_of(model, image);
	}
	return NULL;
}

/* By place in model.objects: the CPU time of all processes that ran it. */
static uint64_t *cpu_by_object(const struct hp_model *model)
{
	uint64_t *cpu_ns = hp_xcalloc(model->object_count + 1, sizeof(*cpu_ns));

	for (size_t i = 0; i < model->process_count; i++)
		if (model->processes[i].object != HP_NONE)
			cpu_ns[model->processes[i].object] += model->processes[i].cpu_ns;
	return cpu_ns;
}

void hp_answer_launch_make(struct hp_report *report, struct hp_answer *answer)
{
	const struct hp_model *model = &report->model;
	const struct hp_model_process *last = last_image(model, UINT64_MAX, HP_NONE);
	struct hp_answer_launch *launch = &answer->launch;
	uint64_t *cpu_ns;

	launch->is_object = hp_xcalloc(model->object_count + 1, sizeof(bool));
	if (!last || (double)last->began_ns < LAUNCH_MIN * answer->wall_ns ||
	    (double)last->began_ns < LAUNCH_MIN_NS)
		return;
	/* A program that only starts itself again, and its children, have not launched anything. */
	if (!last_image(model, last->start_ns, last->object))
		return;
	cpu_ns = cpu_by_object(model);
	for (size_t i = 0; i < model->process_count; i++) {
		const struct hp_model_process *process = &model->processes[i];

		if (process->object != HP_NONE && process->object != last->object &&
		    process->start_ns < last->start_ns &&
		    cpu_ns[process->object] <= cpu_ns[last->object])
			launch->is_object[process->object] = true;
	}
	free(cpu_ns);
	launch->ns = (double)last->began_ns;
	launch->by = most_of(model, last);
	launch->program = file_of(model, last);
}

bool hp_answer_is_launch(const struct hp_answer *answer, uint32_t object)
{
	return object != HP_NONE && answer->launch.is_object[object];
}
