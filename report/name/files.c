/* SPDX-License-Identifier: MIT */
/*
 * files.c - see files.h.
 */
#include "report/name/files.h"

#include <stdlib.h>

#include "report/base/behalf.h"
#include "report/base/memory.h"
#include "report/elf/inline.h"
#include "report/elf/symbol_file.h"

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
};

static struct files *files_of(struct hp_name_source *source)
{
	return (struct files *)source;
}

static void files_free(struct hp_name_source *source)
{
	struct files *files = files_of(source);

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
	if (!object->is_read) {
		struct hp_user before = hp_behalf_begin(files->model->objects[place].user);

		hp_symbol_file_read(&object->file, &files->model->objects[place],
				    files->model->reader.header.created_unix_ns);
		hp_behalf_end(before);
	}
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
	};
	struct files *files = hp_xcalloc(1, sizeof(*files));

	files->source.kind = &kind;
	files->model = model;
	files->objects = hp_xcalloc(model->object_count, sizeof(*files->objects));
	return &files->source;
}
