/* SPDX-License-Identifier: MIT */
/*
 * resolver.c - see resolver.h.
 *
 * The asking thread creates the questions and alone has the map to find them
 * again. They go to the finder thread through a list under the lock, and come
 * back through `is_told`, stored last. Files come before addresses: most names
 * shown are in their symbol tables, which are fast to read.
 */
#include "report/name/resolver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "report/elf/inline.h"
#include "report/base/behalf.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/elf/symbol_file.h"
#include "segment/layout/process.h"
#include "util/hash.h"

#define QUESTIONS_MAX (1 << 20)	/* kept; further addresses get no lines */

struct question {
	struct question *next;	/* next in the list of open questions */
	struct file *file;
	uint64_t address;
	enum hp_debug_want want;
	struct hp_debug answer;	/* owned by the finder until is_told */
	_Atomic bool is_told;	/* finder: release, after `answer`; asker: acquire */
};

struct file {
	struct file *next;	/* next in the list of files to read */
	struct hp_model_object object;	/* with our own copy of the path */
	int64_t created_unix_ns;
	struct hp_symbol_file
		file;	/* owned by the finder until is_read; then both may read its symbols */
	_Atomic bool is_read;	/* finder: release, after `file`; asker: acquire */
};

struct hp_resolver {
	pthread_t finder;
	pthread_mutex_t lock;	/* guards the next six */
	pthread_cond_t wake;
	bool is_over;
	bool is_busy;
	struct file *files_first, **files_last;	/* to be read */
	struct question *first, **last;	/* to be answered */

	/* The asker's. */
	struct file **files;
	size_t file_count;
	size_t file_room;
	struct question **questions;
	size_t question_count;
	size_t question_room;
	struct hp_map same;	/* hash of a question -> its place */
	uint64_t missing;

	struct hp_inlines *inlines;	/* the finder's */
};

/* --- the finder --- */

static void question_answer(struct hp_resolver *resolver, struct question *question)
{
	struct hp_user before = hp_behalf_begin(question->file->object.user);

	hp_debug_init(&question->answer, resolver->inlines, &question->file->file,
		      question->address, question->want);
	hp_behalf_end(before);
	atomic_store_explicit(&question->is_told, true, memory_order_release);
}

static void file_read(struct file *file)
{
	struct hp_user before = hp_behalf_begin(file->object.user);

	hp_symbol_file_read(&file->file, &file->object, file->created_unix_ns);
	hp_behalf_end(before);
	atomic_store_explicit(&file->is_read, true, memory_order_release);
}

/* Removes the next item, holding the lock: a file, or else *question. */
static struct file *next_take(struct hp_resolver *resolver, struct question **question)
{
	struct file *file = resolver->files_first;

	*question = NULL;
	if (file) {
		resolver->files_first = file->next;
		if (!file->next)
			resolver->files_last = &resolver->files_first;
		return file;
	}
	*question = resolver->first;
	if (*question) {
		resolver->first = (*question)->next;
		if (!resolver->first)
			resolver->last = &resolver->first;
	}
	return NULL;
}

static void *find(void *argument)
{
	struct hp_resolver *resolver = argument;
	struct question *question;

	pthread_mutex_lock(&resolver->lock);
	while (!resolver->is_over) {
		struct file *file = next_take(resolver, &question);

		resolver->is_busy = file || question;
		if (!resolver->is_busy) {
			pthread_cond_wait(&resolver->wake, &resolver->lock);
			continue;
		}
		pthread_mutex_unlock(&resolver->lock);
		if (file)
			file_read(file);
		else
			question_answer(resolver, question);
		pthread_mutex_lock(&resolver->lock);
	}
	pthread_mutex_unlock(&resolver->lock);
	return NULL;
}

/* --- its life --- */

struct hp_resolver *hp_resolver_new(void)
{
	struct hp_resolver *resolver = hp_xcalloc(1, sizeof(*resolver));

	resolver->files_last = &resolver->files_first;
	resolver->last = &resolver->first;
	resolver->inlines = hp_inlines_new();
	pthread_mutex_init(&resolver->lock, NULL);
	pthread_cond_init(&resolver->wake, NULL);
	if (pthread_create(&resolver->finder, NULL, find, resolver) == 0)
		return resolver;
	hp_inlines_free(resolver->inlines);
	free(resolver);
	return NULL;
}

static void question_free(struct question *question)
{
	hp_debug_release(&question->answer);
	free(question);
}

void hp_resolver_free(struct hp_resolver *resolver)
{
	if (!resolver)
		return;
	pthread_mutex_lock(&resolver->lock);
	resolver->is_over = true;
	pthread_cond_signal(&resolver->wake);
	pthread_mutex_unlock(&resolver->lock);
	pthread_join(resolver->finder, NULL);
	for (size_t i = 0; i < resolver->question_count; i++)
		question_free(resolver->questions[i]);
	hp_inlines_free(resolver->inlines);
	for (size_t i = 0; i < resolver->file_count; i++) {
		hp_symbol_file_release(&resolver->files[i]->file);
		free(resolver->files[i]->object.path);
		free(resolver->files[i]);
	}
	free(resolver->questions);
	free(resolver->files);
	hp_map_release(&resolver->same);
	pthread_cond_destroy(&resolver->wake);
	pthread_mutex_destroy(&resolver->lock);
	free(resolver);
}

/* --- the asker --- */

/* Same build-id if there is one, else the same file; and named by the same user. */
static bool is_same(const struct hp_model_object *a, const struct hp_model_object *b)
{
	return a->kind == b->kind && a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, a->build_id_size) == 0 &&
	       (a->build_id_size || (a->inode == b->inode && a->device == b->device)) &&
	       hp_user_is_same(&a->user, &b->user) && strcmp(a->path, b->path) == 0;
}

/* The number of an object's file; starts reading it. */
static uint32_t number_of(struct hp_resolver *resolver, const struct hp_model_object *object,
			  int64_t created_unix_ns)
{
	struct file *file;

	for (size_t i = 0; i < resolver->file_count; i++)
		if (is_same(&resolver->files[i]->object, object))
			return (uint32_t)i;
	file = hp_xcalloc(1, sizeof(*file));
	file->object = *object;
	file->object.path = hp_xstrdup(object->path);
	file->created_unix_ns = created_unix_ns;
	resolver->files = hp_xgrow(resolver->files, resolver->file_count, &resolver->file_room,
				   sizeof(struct file *));
	resolver->files[resolver->file_count] = file;
	pthread_mutex_lock(&resolver->lock);
	*resolver->files_last = file;
	resolver->files_last = &file->next;
	resolver->is_busy = true;
	pthread_cond_signal(&resolver->wake);
	pthread_mutex_unlock(&resolver->lock);
	return (uint32_t)resolver->file_count++;
}

/* Only for its symbols and fault; NULL = not read yet, and counted. */
static struct hp_symbol_file *file_at(struct hp_resolver *resolver, uint32_t number)
{
	struct file *file = resolver->files[number];

	if (atomic_load_explicit(&file->is_read, memory_order_acquire))
		return &file->file;
	resolver->missing++;
	return NULL;
}

static struct question *question_new(struct hp_resolver *resolver, struct file *file,
				     uint64_t address, enum hp_debug_want want)
{
	struct question *question = hp_xcalloc(1, sizeof(*question));

	question->file = file;
	question->address = address;
	question->want = want;
	resolver->questions = hp_xgrow(resolver->questions, resolver->question_count,
				       &resolver->question_room, sizeof(struct question *));
	resolver->questions[resolver->question_count++] = question;
	pthread_mutex_lock(&resolver->lock);
	*resolver->last = question;
	resolver->last = &question->next;
	resolver->is_busy = true;
	pthread_cond_signal(&resolver->wake);
	pthread_mutex_unlock(&resolver->lock);
	return question;
}

/* The existing question, or a new one; NULL = too many. */
static struct question *question_of(struct hp_resolver *resolver, struct file *file,
				    uint64_t address, enum hp_debug_want want)
{
	uint64_t hash = hp_hash_add(hp_hash_add((uint64_t)(uintptr_t)file, address), want) | 1;
	struct question *question;
	const uint32_t *place;
	bool is_new;

	for (; (place = hp_map_find(&resolver->same, hash)); hash += 2) {
		question = resolver->questions[*place];
		if (question->file == file && question->address == address &&
		    question->want == want)
			return question;
	}
	if (resolver->question_count >= QUESTIONS_MAX)
		return NULL;
	*hp_map_at(&resolver->same, hash, &is_new) = (uint32_t)resolver->question_count;
	return question_new(resolver, file, address, want);
}

/* NULL = not known yet, and counted. */
static const struct hp_debug *ask(struct hp_resolver *resolver, uint32_t number, uint64_t address,
				  enum hp_debug_want want)
{
	static const struct hp_debug nothing = { .count = 0 };
	struct question *question = question_of(resolver, resolver->files[number], address, want);

	if (!question)
		return &nothing;
	if (atomic_load_explicit(&question->is_told, memory_order_acquire))
		return &question->answer;
	resolver->missing++;
	return NULL;
}

uint64_t hp_resolver_missing(const struct hp_resolver *resolver)
{
	return resolver ? resolver->missing : 0;
}

bool hp_resolver_is_idle(struct hp_resolver *resolver)
{
	bool is_idle;

	if (!resolver)
		return true;
	pthread_mutex_lock(&resolver->lock);
	is_idle = !resolver->is_busy;
	pthread_mutex_unlock(&resolver->lock);
	return is_idle;
}

/* --- as a source --- */

struct object {
	bool is_asked;
	uint32_t number;	/* at the resolver */
	struct hp_symbol_file *file;	/* NULL = not read yet */
};

/* State of one refresh. */
struct background {
	struct hp_name_source source;
	struct hp_resolver *resolver;
	const struct hp_model *model;
	struct object *objects;	/* beside model->objects */
};

static struct background *background_of(struct hp_name_source *source)
{
	return (struct background *)source;
}

static void background_free(struct hp_name_source *source)
{
	free(background_of(source)->objects);
	free(source);
}

static struct hp_symbol_file *background_file(struct hp_name_source *source, uint32_t place,
					      bool is_any)
{
	struct background *background = background_of(source);
	struct object *object = &background->objects[place];

	(void)is_any;
	if (object->file)
		return object->file;
	if (!object->is_asked)
		object->number = number_of(background->resolver, &background->model->objects[place],
					   background->model->reader.header.created_unix_ns);
	object->is_asked = true;
	object->file = file_at(background->resolver, object->number);
	return object->file;
}

static const struct hp_debug *background_debug(struct hp_name_source *source, uint32_t place,
					       uint64_t address, enum hp_debug_want want)
{
	struct background *background = background_of(source);

	background_file(source, place, false);
	/* Objects without a file have nothing left to find. */
	if (background->model->objects[place].kind != HP_OBJECT_ELF)
		return NULL;
	return ask(background->resolver, background->objects[place].number, address, want);
}

static const char *background_fault(struct hp_name_source *source, uint32_t place)
{
	struct hp_symbol_file *file = background_of(source)->objects[place].file;

	return file ? hp_symbol_file_fault(file) : NULL;
}

static uint64_t background_missing(struct hp_name_source *source)
{
	return background_of(source)->resolver->missing;
}

struct hp_name_source *hp_resolver_source(struct hp_resolver *resolver,
					  const struct hp_model *model)
{
	static const struct hp_name_source_kind kind = {
		.free = background_free,
		.file = background_file,
		.debug = background_debug,
		.fault = background_fault,
		.missing = background_missing,
		.is_lasting = true,
	};
	struct background *background = hp_xcalloc(1, sizeof(*background));

	background->source.kind = &kind;
	background->resolver = resolver;
	background->model = model;
	background->objects = hp_xcalloc(model->object_count, sizeof(*background->objects));
	return &background->source;
}
