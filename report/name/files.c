/* SPDX-License-Identifier: MIT */
/*
 * files.c - see files.h.
 */
#include "report/name/files.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "report/base/behalf.h"
#include "report/base/memory.h"
#include "report/base/cpus.h"
#include "report/elf/inline.h"
#include "report/elf/symbol_file.h"

#define LARGE_BYTES (4 << 20) /* a file whose symbols take as long as a thread to read them costs */

struct object {
	bool is_read;	/* was tried */
	struct hp_symbol_file file;
};

struct files {
	struct hp_name_source source;
	const struct hp_model *model;
	struct object *objects;	/* beside model->objects */
	struct hp_inlines *inlines;	/* NULL = none requested yet */
	struct hp_debug debug;	/* the last answer */
	uint32_t ahead;	/* the object that a thread reads meanwhile; HP_NONE = none */
	pthread_t reader;
};

static struct files *files_of(struct hp_name_source *source)
{
	return (struct files *)source;
}

static void object_read(struct files *files, uint32_t place)
{
	struct hp_user before = hp_behalf_begin(files->model->objects[place].user);

	hp_symbol_file_read(&files->objects[place].file, &files->model->objects[place],
			    files->model->reader.header.created_unix_ns);
	hp_behalf_end(before);
}

/* --- one file, ahead of the first question --- */

static void *ahead_read(void *argument)
{
	struct files *files = argument;

	object_read(files, files->ahead);
	return NULL;
}

static void ahead_end(struct files *files)
{
	if (files->ahead == HP_NONE)
		return;
	pthread_join(files->reader, NULL);
	files->objects[files->ahead].is_read = true;
	files->ahead = HP_NONE;
}

static bool is_large(const struct hp_model_object *object)
{
	struct stat status;

	return object->is_program && object->kind == HP_OBJECT_ELF &&
	       stat(object->path, &status) == 0 && S_ISREG(status.st_mode) &&
	       status.st_size >= LARGE_BYTES;
}

static void files_expect(struct hp_name_source *source)
{
	struct files *files = files_of(source);

	if (!hp_has_two_processors())
		return;
	for (uint32_t i = 0; i < files->model->object_count && files->ahead == HP_NONE; i++) {
		if (files->objects[i].is_read || !is_large(&files->model->objects[i]))
			continue;
		files->ahead = i;
		if (pthread_create(&files->reader, NULL, ahead_read, files) != 0)
			files->ahead = HP_NONE;
		return;
	}
}

/* --- the source --- */

static void files_free(struct hp_name_source *source)
{
	struct files *files = files_of(source);

	ahead_end(files);
	hp_debug_release(&files->debug);
	for (size_t i = 0; files->inlines && i < files->model->object_count; i++) {
		struct hp_user before = hp_behalf_begin(files->model->objects[i].user);

		hp_debug_learn_rest(files->inlines, &files->objects[i].file);
		hp_behalf_end(before);
	}
	hp_inlines_free(files->inlines);
	for (size_t i = 0; i < files->model->object_count; i++)
		hp_symbol_file_release(&files->objects[i].file);
	free(files->objects);
	free(files);
}

static struct hp_symbol_file *files_file(struct hp_name_source *source, uint32_t place, bool is_any)
{
	struct files *files = files_of(source);
	struct object *object = &files->objects[place];

	(void)is_any;
	if (place == files->ahead)
		ahead_end(files);
	if (!object->is_read)
		object_read(files, place);
	object->is_read = true;
	return &object->file;
}

static const struct hp_debug *files_debug(struct hp_name_source *source, uint32_t object,
					  uint64_t address, enum hp_debug_want want)
{
	struct files *files = files_of(source);
	struct hp_symbol_file *file = files_file(source, object, false);

	if (!file->has_debug)
		return NULL;
	if (!files->inlines)
		files->inlines = hp_inlines_new();
	hp_debug_release(&files->debug);
	struct hp_user before = hp_behalf_begin(files->model->objects[object].user);
	hp_debug_init(&files->debug, files->inlines, file, address, want);
	hp_behalf_end(before);
	return &files->debug;
}

static const char *files_fault(struct hp_name_source *source, uint32_t object)
{
	return hp_symbol_file_fault(&files_of(source)->objects[object].file);
}

bool hp_files_is_read(const struct hp_name_source *source, uint32_t object)
{
	return ((const struct files *)source)->objects[object].is_read;
}

struct hp_name_source *hp_files_new(const struct hp_model *model)
{
	static const struct hp_name_source_kind kind = {
		.free = files_free,
		.file = files_file,
		.debug = files_debug,
		.fault = files_fault,
		.expect = files_expect,
	};
	struct files *files = hp_xcalloc(1, sizeof(*files));

	files->source.kind = &kind;
	files->model = model;
	files->ahead = HP_NONE;
	files->objects = hp_xcalloc(model->object_count, sizeof(*files->objects));
	return &files->source;
}
