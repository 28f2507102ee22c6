/* SPDX-License-Identifier: MIT */
/*
 * keep.c - see keep.h.
 */
#include "report/store/keep.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/store/kept.h"
#include "report/base/memory.h"
#include "report/base/cpus.h"
#include "report/elf/answer.h"
#include "report/store/store.h"
#include "report/name/kernel.h"
#include "report/name/legend_gather.h"
#include "report/section/sections.h"

/* The name of this run's first file: its program may have been renamed. */
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

/* All names that a report of this run may need. */
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

/* --- the file --- */

#define RECORDS_FEW 10000 /* of functions: this runs before anything is printed */
#define USED_FEW (UINT64_C(1) << 20) /* bytes: to be written sooner than a thread has begun */

struct hp_keeping {
	struct hp_report *report;
	struct hp_store store;
	char *moved; /* a message about using another folder than usual; NULL = none */
	bool has_store;
	char name[HP_STORE_NAME];
	int error; /* the first one */
	int fd; /* of the new file; -1 = none */
	struct hp_thin thin;
	struct hp_kept_source source;
	struct hp_kept_writer *writer; /* NULL = none */
	pthread_t thread;
	bool has_thread;
	bool has_segment; /* it was written, or the thread writes it */
};

static void *segment_write(void *argument)
{
	struct hp_keeping *keeping = argument;

	hp_kept_segment(keeping->writer);
	return NULL;
}

/* The thread reads only the segment and the results of thin.h, nothing else that changes. */
static void thread_begin(struct hp_keeping *keeping)
{
	if (keeping->source.header->used < USED_FEW || !hp_has_two_processors())
		return;
	keeping->has_thread = pthread_create(&keeping->thread, NULL, segment_write, keeping) == 0;
	keeping->has_segment = keeping->has_thread;
}

static void writer_begin(struct hp_keeping *keeping, const struct hp_keep *keep)
{
	const struct hp_model *model = &keeping->report->model;

	hp_thin_init(&keeping->thin, model);
	keeping->source = (struct hp_kept_source){
		.segment = &model->reader.segment,
		.header = &model->reader.header,
		.thin = &keeping->thin,
		.fd = keep->fd,
		.facts = keep->facts,
	};
	keeping->writer = hp_kept_begin(keeping->fd, &keeping->source);
	if (!keeping->writer)
		keeping->error = -ENOMEM;
}

static void file_begin(struct hp_keeping *keeping, const struct hp_keep *keep)
{
	/* Exceeding RLIMIT_FSIZE is an error to report, not a reason to die. */
	signal(SIGXFSZ, SIG_IGN);
	choose_name(&keeping->store, keeping->report, keep->is_again, keeping->name);
	keeping->fd = hp_store_begin(&keeping->store, keeping->name);
	if (keeping->fd < 0)
		keeping->error = keeping->fd;
	else
		writer_begin(keeping, keep);
}

static char *names_gather(struct hp_report *report)
{
	for (size_t i = 0; i < hp_section_count; i++)
		if (hp_sections[i]->name_all)
			hp_sections[i]->name_all(report);
	return names_of(report);
}

static void file_end(struct hp_keeping *keeping)
{
	char *names = keeping->error ? NULL : names_gather(keeping->report);
	int finished;

	if (keeping->has_thread)
		pthread_join(keeping->thread, NULL);
	if (!keeping->has_segment && !keeping->error)
		hp_kept_segment(keeping->writer);
	if (keeping->writer)
		keeping->error = hp_kept_end(keeping->writer, names ? names : "");
	free(names);
	hp_thin_release(&keeping->thin);
	finished =
		hp_store_finish(&keeping->store, keeping->name, keeping->fd, keeping->error == 0);
	if (!keeping->error)
		keeping->error = finished;
}

/* --- messages --- */

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

/* In the folder of kept runs, under names that no run has. */
static void share(const char *where, bool may_write)
{
	static char folder[PATH_MAX], path[PATH_MAX + 16];

	snprintf(folder, sizeof(folder), "%s", where);
	snprintf(path, sizeof(path), "%s/.kernel-names", folder);
	hp_names_kernel_copy(path);
	hp_answers_folder(folder, may_write);
}

void hp_keep_share(bool may_write)
{
	struct hp_store store;

	if (hp_store_open(&store) == 0)
		share(store.fd >= 0 ? store.path : store.spare_path, may_write);
	hp_store_release(&store);
}

static void store_begin(struct hp_keeping *keeping)
{
	struct hp_store *store = &keeping->store;

	keeping->error = hp_store_make(store);
	keeping->has_store = keeping->error == 0;
	if (!keeping->has_store)
		return;
	if (store->is_moved)
		keeping->moved = hp_xprintf("%s; runs are kept in %s, unless XDG_STATE_HOME names "
					    "another folder",
					    store->failed, store->path);
	store->failed[0] = 0; /* this is about the other folder */
}

struct hp_keeping *hp_keep_begin(struct hp_report *report, const struct hp_keep *keep)
{
	struct hp_keeping *keeping = hp_xcalloc(1, sizeof(*keeping));

	keeping->report = report;
	keeping->fd = -1;
	store_begin(keeping);
	if (keeping->has_store)
		file_begin(keeping, keep);
	if (keeping->writer && report->model.record_count < RECORDS_FEW)
		thread_begin(keeping);
	return keeping;
}

bool hp_keep_end(struct hp_keeping *keeping, hp_complain complain, void *context)
{
	struct hp_store *store = &keeping->store;

	if (keeping->moved)
		say(keeping->moved, complain, context);
	if (keeping->fd >= 0)
		file_end(keeping);
	if (keeping->error) {
		say_lost(store, keeping->error, complain, context);
		return false;
	}
	share(store->path, true);
	hp_names_kernel_keep();
	return true;
}

void hp_keep_clean(struct hp_keeping *keeping)
{
	if (!keeping->error)
		hp_store_clean(&keeping->store, keeping->report->settings->keep, keeping->name);
	hp_store_release(&keeping->store);
	free(keeping);
}
