/* SPDX-License-Identifier: MIT */
/*
 * keep.c - see keep.h.
 */
#include "report/keep.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "report/kept.h"
#include "report/memory.h"
#include "report/store.h"

/* A run that goes on after its root's end is saved twice: the second file replaces the first. */
static void find_name(const struct hp_store *store, const struct hp_report *report,
		      char name[HP_STORE_NAME])
{
	const struct hp_model *model = &report->model;
	const struct hp_header *header = &model->reader.header;
	const char *comm = model->root == HP_NONE ? "" : model->processes[model->root].comm;
	size_t count;
	struct hp_store_file *files = hp_store_list(store, &count);
	size_t stamp;

	hp_store_name(name, header->created_unix_ns, comm, header->root_pid);
	stamp = strcspn(name, "-");
	for (size_t i = 0; i < count; i++)
		if (memcmp(files[i].name, name, stamp) == 0 &&
		    hp_store_pid(files[i].name) == header->root_pid)
			strcpy(name, files[i].name);
	free(files);
}

static int save(struct hp_store *store, const struct hp_report *report, int segment_fd,
		const char *facts, const char *name)
{
	int fd = hp_store_begin(store, name);
	int error, finished;
	char *names;

	if (fd < 0)
		return fd;
	names = hp_legend_gather(&report->model, report->symbols);
	error = hp_kept_write(fd, &(struct hp_kept_source){
					  .segment = &report->model.reader.segment,
					  .header = &report->model.reader.header,
					  .fd = segment_fd,
					  .facts = facts,
					  .names = names,
				  });
	free(names);
	finished = hp_store_finish(store, name, fd, error == 0);
	return error ? error : finished;
}

bool hp_keep(struct hp_report *report, int fd, const char *text, hp_complain complain,
	     void *context)
{
	struct hp_store store;
	char name[HP_STORE_NAME];
	int error = hp_store_make(&store);

	if (!error) {
		/* A limit on the size of files is an error to tell, not an end. */
		signal(SIGXFSZ, SIG_IGN);
		find_name(&store, report, name);
		error = save(&store, report, fd, text, name);
	}
	if (error) {
		char *line = hp_xprintf(
			"this run is not kept: %s%s%s; XDG_STATE_HOME names another folder, "
			"HOTPATH_KEEP=0 keeps none",
			store.failed[0] ? store.failed : store.path, store.failed[0] ? "" : ": ",
			store.failed[0] ? "" : strerror(-error));

		complain(context, line);
		free(line);
	} else {
		hp_store_clean(&store, report->settings->keep, name);
	}
	hp_store_release(&store);
	return error == 0;
}
