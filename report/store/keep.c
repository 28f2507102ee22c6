/* SPDX-License-Identifier: MIT */
/*
 * keep.c - see keep.h.
 */
#include "report/store/keep.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/store/kept.h"
#include "report/base/memory.h"
#include "report/store/store.h"
#include "report/name/kernel.h"
#include "report/name/legend_gather.h"
#include "report/section/sections.h"

/* What the first file of this run was called: its program may have another name by now. */
static void find_name(const struct hp_store *store, char name[HP_STORE_NAME], uint32_t pid)
{
	size_t count, stamp = strcspn(name, "-");
	struct hp_store_file *files = hp_store_list(store, &count);

	for (size_t i = 0; i < count; i++)
		if (memcmp(files[i].name, name, stamp) == 0 && hp_store_pid(files[i].name) == pid)
			strcpy(name, files[i].name);
	free(files);
}

static void choose_name(const struct hp_store *store, const struct hp_report *report, bool is_again,
			char name[HP_STORE_NAME])
{
	const struct hp_model *model = &report->model;
	const struct hp_header *header = &model->reader.header;
	const char *comm = model->root == HP_NONE ? "" : model->processes[model->root].comm;

	hp_store_name(name, header->created_unix_ns, comm, header->root_pid);
	if (is_again)
		find_name(store, name, header->root_pid);
}

/* All names that a report of this run may ask for. */
static char *names_of(struct hp_report *report)
{
	char *functions = hp_legend_gather(&report->model, report->symbols);
	char *others = NULL, *all;
	size_t size;
	FILE *out = open_memstream(&others, &size);

	if (!out)
		return functions;
	for (size_t i = 0; i < hp_section_count; i++)
		if (hp_sections[i]->legend_write)
			hp_sections[i]->legend_write(report, out);
	fclose(out);
	all = hp_xprintf("%s%s", functions, others ? others : "");
	free(functions);
	free(others);
	return all;
}

static int save(struct hp_store *store, struct hp_report *report, const struct hp_keep *keep,
		const char *name)
{
	int fd = hp_store_begin(store, name);
	struct hp_thin thin;
	int error, finished;
	char *names;

	if (fd < 0)
		return fd;
	hp_thin_init(&thin, &report->model);
	for (size_t i = 0; i < hp_section_count; i++)
		if (hp_sections[i]->name_all)
			hp_sections[i]->name_all(report);
	names = names_of(report);
	error = hp_kept_write(fd, &(struct hp_kept_source){
					  .segment = &report->model.reader.segment,
					  .header = &report->model.reader.header,
					  .thin = &thin,
					  .fd = keep->fd,
					  .facts = keep->facts,
					  .names = names,
				  });
	free(names);
	hp_thin_release(&thin);
	finished = hp_store_finish(store, name, fd, error == 0);
	return error ? error : finished;
}

static void say(char *line, hp_complain complain, void *context)
{
	complain(context, line);
	free(line);
}

static void say_lost(const struct hp_store *store, int error, hp_complain complain, void *context)
{
	bool has_reason = store->failed[0];

	say(hp_xprintf("this run is not kept: %s%s%s; XDG_STATE_HOME names another folder, "
		       "HOTPATH_KEEP=0 keeps none",
		       has_reason ? store->failed : store->path, has_reason ? "" : ": ",
		       has_reason ? "" : strerror(-error)),
	    complain, context);
}

/* In the folder of kept runs, by a name that is none of theirs. */
static void share(const char *folder)
{
	static char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/.kernel-names", folder);
	hp_names_kernel_copy(path);
}

void hp_keep_share(void)
{
	struct hp_store store;

	if (hp_store_open(&store) == 0)
		share(store.fd >= 0 ? store.path : store.spare_path);
	hp_store_release(&store);
}

bool hp_keep(struct hp_report *report, const struct hp_keep *keep, hp_complain complain,
	     void *context)
{
	struct hp_store store;
	char name[HP_STORE_NAME];
	int error = hp_store_make(&store);

	if (!error) {
		if (store.is_moved)
			say(hp_xprintf("%s; runs are kept in %s, unless XDG_STATE_HOME names "
				       "another folder",
				       store.failed, store.path),
			    complain, context);
		store.failed[0] = 0;	/* this is about the other folder */
		/* A limit on the size of files is an error to tell, not an end. */
		signal(SIGXFSZ, SIG_IGN);
		choose_name(&store, report, keep->is_again, name);
		error = save(&store, report, keep, name);
	}
	if (error)
		say_lost(&store, error, complain, context);
	else
		hp_store_clean(&store, report->settings->keep, name);
	if (!error) {
		share(store.path);
		hp_names_kernel_keep();
	}
	hp_store_release(&store);
	return error == 0;
}
