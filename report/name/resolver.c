/* SPDX-License-Identifier: MIT */
/*
 * resolver.c - see resolver.h.
 *
 * Questions are made by the thread that asks, which alone has the map to find
 * them again; they go to the other thread through a list under the lock, and
 * come back by `is_told`, stored last.  Files go before addresses: the names in
 * their symbol tables are most of what is shown, and quick to have.
 */
#include "report/name/resolver.h"

#include <dwarf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/name/frame.h"
#include "report/name/inline.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/name/symbol.h"
#include "util/hash.h"

#define QUESTIONS_MOST (1 << 20)	/* kept; what is asked beyond has no lines */

struct question {
	struct question *next;	/* in the list of those to be answered */
	struct file *file;
	uint64_t address;
	enum hp_resolver_want want;
	struct hp_resolved resolved;	/* the finder's until is_told */
	_Atomic bool is_told;	/* finder: release, after `resolved`; asker: acquire */
};

struct file {
	struct file *next;	/* in the list of those to be read */
	struct hp_model_object object;	/* with a path of our own */
	int64_t created_unix_ns;
	struct hp_symbol_file
		file;	/* the finder's until is_read; then its lists of symbols are for both */
	_Atomic bool is_read;	/* finder: release, after `file`; asker: acquire */
};

struct hp_resolver {
	pthread_t finder;
	pthread_mutex_t lock;	/* of the next six */
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

static void source_find(const struct hp_dwarf *dw, Dwarf_Die *unit, uint64_t address,
			struct hp_resolved *resolved)
{
	Dwarf_Line *line = dw->dwarf_getsrc_die(unit, address);
	const char *file = line ? dw->dwarf_linesrc(line, NULL, NULL) : NULL;

	if (!file)
		return;
	resolved->lines = hp_xcalloc(1, sizeof(*resolved->lines));
	resolved->lines->file = file;
	dw->dwarf_lineno(line, &resolved->lines->line);
	dw->dwarf_linecol(line, &resolved->lines->column);
	resolved->count = 1;
}

static void producer_find(const struct hp_dwarf *dw, Dwarf_Die *unit, struct hp_resolved *resolved)
{
	Dwarf_Attribute attribute;

	if (!dw->dwarf_attr(unit, DW_AT_producer, &attribute))
		return;
	resolved->lines = hp_xcalloc(1, sizeof(*resolved->lines));
	resolved->lines->name = dw->dwarf_formstring(&attribute);
	resolved->count = resolved->lines->name != NULL;
}

static void inlines_find(struct hp_inlines *inlines, struct hp_symbol_file *file, uint64_t address,
			 struct hp_resolved *resolved)
{
	struct hp_inline list[HP_INLINES_MOST];

	resolved->count = hp_inlines_in(inlines, file, address, list);
	resolved->lines = hp_xcalloc(resolved->count, sizeof(*resolved->lines));
	for (size_t i = 0; i < resolved->count; i++)
		resolved->lines[i] = (struct hp_resolved_line){ .name = list[i].name,
								.file = list[i].file,
								.line = list[i].line,
								.is_inlined = list[i].is_inlined };
}

/* As hp_frame_lines has them. */
static void lines_find(struct hp_inlines *inlines, struct hp_symbol_file *file, uint64_t address,
		       struct hp_resolved *resolved)
{
	struct hp_frame_line lines[HP_FRAMES_MOST];

	resolved->count = hp_frame_lines_in(inlines, file, address, lines, HP_FRAMES_MOST);
	resolved->lines = hp_xcalloc(resolved->count, sizeof(*resolved->lines));
	for (size_t i = 0; i < resolved->count; i++)
		resolved->lines[i] = (struct hp_resolved_line){ .name = lines[i].name,
								.file = lines[i].file,
								.line = lines[i].line };
}

static void question_answer(struct hp_resolver *resolver, struct question *question)
{
	struct hp_symbol_file *file = &question->file->file;
	uint64_t address = question->address;
	Dwarf_Die *unit = file->module ? hp_symbol_file_unit(file, &address) : NULL;
	const struct hp_dwarf *dw = unit ? hp_dwarf_load() : NULL;

	if (unit && question->want == HP_WANT_SOURCE)
		source_find(dw, unit, address, &question->resolved);
	else if (unit && question->want == HP_WANT_PRODUCER)
		producer_find(dw, unit, &question->resolved);
	else if (unit && question->want == HP_WANT_LINES)
		lines_find(resolver->inlines, file, question->address, &question->resolved);
	else if (unit)
		inlines_find(resolver->inlines, file, question->address, &question->resolved);
	atomic_store_explicit(&question->is_told, true, memory_order_release);
}

static void file_read(struct file *file)
{
	hp_symbol_file_read(&file->file, &file->object, file->created_unix_ns);
	atomic_store_explicit(&file->is_read, true, memory_order_release);
}

/* Takes the next one out of its list, with the lock; *question if there is no file. */
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
	for (size_t i = 0; question->want == HP_WANT_LINES && i < question->resolved.count; i++) {
		free((char *)question->resolved.lines[i].name);
		free((char *)question->resolved.lines[i].file);
	}
	free(question->resolved.lines);
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

/* With a build-id the same contents, else the same file. */
static bool is_same(const struct hp_model_object *a, const struct hp_model_object *b)
{
	return a->kind == b->kind && a->build_id_size == b->build_id_size &&
	       memcmp(a->build_id, b->build_id, a->build_id_size) == 0 &&
	       (a->build_id_size || (a->inode == b->inode && a->device == b->device)) &&
	       strcmp(a->path, b->path) == 0;
}

uint32_t hp_resolver_number(struct hp_resolver *resolver, const struct hp_model_object *object,
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

struct hp_symbol_file *hp_resolver_file(struct hp_resolver *resolver, uint32_t number)
{
	struct file *file = resolver->files[number];

	if (atomic_load_explicit(&file->is_read, memory_order_acquire))
		return &file->file;
	resolver->missing++;
	return NULL;
}

static struct question *question_new(struct hp_resolver *resolver, struct file *file,
				     uint64_t address, enum hp_resolver_want want)
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

/* The question that was asked before, or a new one; NULL = too many were. */
static struct question *question_of(struct hp_resolver *resolver, struct file *file,
				    uint64_t address, enum hp_resolver_want want)
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
	if (resolver->question_count >= QUESTIONS_MOST)
		return NULL;
	*hp_map_at(&resolver->same, hash, &is_new) = (uint32_t)resolver->question_count;
	return question_new(resolver, file, address, want);
}

const struct hp_resolved *hp_resolver_ask(struct hp_resolver *resolver, uint32_t number,
					  uint64_t address, enum hp_resolver_want want)
{
	static const struct hp_resolved nothing = { .count = 0 };
	struct question *question = question_of(resolver, resolver->files[number], address, want);

	if (!question)
		return &nothing;
	if (atomic_load_explicit(&question->is_told, memory_order_acquire))
		return &question->resolved;
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
