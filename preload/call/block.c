/* SPDX-License-Identifier: MIT */
/*
 * block.c - see block.h: labels, and the connection from the program to the library.
 *
 * The object that holds the descriptor has a list of labels. All threads of
 * all processes of the session add to it, without a lock: a thread searches
 * for a label, and if it is missing, pushes it onto exactly the list that it
 * searched. So no label exists twice.
 */
#include "preload/call/block.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#define HOTPATH_DECLARATIONS
#include "include/hotpath.h"
#include "preload/call/clock.h"
#include "preload/guest/early.h"
#include "preload/guest/self.h"
#include "preload/thread/module.h"
#include "preload/thread/state.h"
#include "segment/defaults.h"
#include "segment/note.h"

#define LABEL_MAX 1000	/* bytes; longer values are truncated */
#define FILE_MAX 4000

/* A key that belongs to no label: see hp_block_is_nameless. */
static const char nameless;

/* A descriptor as recorded. */
struct place {
	const struct hotpath_block *block;
	enum hp_label_kind kind;
	const struct hp_module *module;
	uint64_t address;
	char number[24];	/* ":LINE", if the file stands for the label */
	const char *text;
	size_t length;	/* of the text, without the number */
};

static void *at(uint64_t offset)
{
	return (char *)hp_segment.header + offset;
}

const struct hp_label *hp_block_label(uintptr_t key)
{
	uintptr_t offset = key - (uintptr_t)hp_segment.header;

	return offset < hp_segment.size
		       ? hp_segment_at(&hp_segment, offset, sizeof(struct hp_label))
		       : NULL;
}

const struct hp_module *hp_block_module(const struct hp_label *label)
{
	return hp_segment_at(&hp_segment, label->module, sizeof(struct hp_module));
}

bool hp_block_is_nameless(uintptr_t key)
{
	return key == (uintptr_t)&nameless;
}

/* --- contents of a descriptor --- */

size_t hp_block_text(const char *text, size_t most)
{
	size_t length = strnlen(text, most + 1);

	if (length <= most)
		return length;
	length = most;
	while (length && (text[length] & 0xc0) == 0x80)
		length--;
	return length ? length : most;
}

/* The last two parts of a path. */
static const char *path_end(const char *path)
{
	const char *slash = NULL, *before = NULL;

	for (const char *c = path; *c; c++)
		if (*c == '/') {
			before = slash;
			slash = c;
		}
	return before ? before + 1 : path;
}

static void number_write(char text[24], uint32_t line)
{
	char digits[12];
	size_t count = 0, used = 0;

	do
		digits[count++] = (char)('0' + line % 10);
	while (line /= 10);
	text[used++] = ':';
	while (count)
		text[used++] = digits[--count];
	text[used] = 0;
}

static void place_init(struct place *place, const struct hotpath_block *block,
		       enum hp_label_kind kind)
{
	*place = (struct place){ .block = block, .kind = kind, .text = block->label };
	place->module = hp_module_of((uintptr_t)block);
	if (place->module)
		place->address = (uintptr_t)block - place->module->bias;
	if (!place->text || !place->text[0]) {
		place->text = block->file ? path_end(block->file) : "?";
		number_write(place->number, block->line);
	}
	place->length = hp_block_text(place->text, LABEL_MAX);
}

/* --- the list of labels --- */

static bool is_same(const struct hp_label *label, const struct place *place)
{
	const struct hp_text *text = at(label->text);
	size_t number = strlen(place->number);

	if (label->kind != (uint32_t)place->kind)
		return false;
	if (place->kind == HP_LABEL_NAME)
		return label->address == place->address;
	return text->length == place->length + number &&
	       memcmp(text->bytes, place->text, place->length) == 0 &&
	       memcmp(text->bytes + place->length, place->number, number) == 0;
}

/* The label among those from `offset` up to `end`. */
static struct hp_label *label_among(uint64_t offset, uint64_t end, const struct place *place)
{
	while (offset != end) {
		struct hp_label *label = at(offset);

		if (is_same(label, place))
			return label;
		offset = label->next;
	}
	return NULL;
}

static uint64_t text_new(const char *bytes, size_t length, const char *end)
{
	size_t size = sizeof(struct hp_text) + length + strlen(end) + 1;
	uint64_t offset = hp_segment_take(&hp_segment, size, HP_LINE);
	struct hp_text *text = hp_segment_at(&hp_segment, offset, size);

	if (!text)
		return 0;
	text->length = (uint32_t)(length + strlen(end));
	memcpy(text->bytes, bytes, length);
	memcpy(text->bytes + length, end, strlen(end));
	return offset;
}

static uint64_t text_of(const char *text)
{
	return text ? text_new(text, hp_block_text(text, FILE_MAX), "") : 0;
}

static struct hp_label *label_new(const struct place *place)
{
	uint64_t offset = hp_segment_take(&hp_segment, sizeof(struct hp_label), HP_LINE);
	struct hp_label *label = hp_segment_at(&hp_segment, offset, sizeof(*label));

	if (!label)
		return NULL;
	label->module = place->module ? hp_segment_offset(&hp_segment, place->module) : 0;
	label->address = place->module ? place->address : offset;
	label->text = text_new(place->text, place->length, place->number);
	label->file = text_of(place->block->file);
	label->function = text_of(place->block->function);
	label->line = place->block->line;
	label->kind = (uint32_t)place->kind;
	return label->text ? label : NULL;
}

static struct hp_label *label_get(struct hp_object *object, const struct place *place)
{
	uint64_t head = atomic_load_explicit(&object->labels, memory_order_acquire);
	struct hp_label *label = label_among(head, 0, place);
	struct hp_label *fresh;

	if (label)
		return label;
	fresh = label_new(place);
	if (!fresh)
		return NULL;
	for (;;) {
		fresh->next = head;
		/* Release: a thread that finds the label finds it complete. */
		if (atomic_compare_exchange_strong_explicit(
			    &object->labels, &head, hp_segment_offset(&hp_segment, fresh),
			    memory_order_acq_rel, memory_order_acquire))
			return fresh;
		label = label_among(head, fresh->next, place);
		if (label)
			return label;
	}
}

/* The label of a descriptor: created if it is new; NULL = no room. */
static struct hp_label *label_of(const struct hotpath_block *block, enum hp_label_kind kind)
{
	struct place place;
	uint64_t object;

	place_init(&place, block, kind);
	/* A descriptor that a binding made at run time counts as the program's. */
	object = place.module ? place.module->object : hp_self->process->object;
	return object ? label_get(at(object), &place) : NULL;
}

static const char *text_at(uint64_t offset)
{
	return offset ? ((const struct hp_text *)at(offset))->bytes : NULL;
}

/* Its offsets now lead into a private, complete copy. */
const struct hp_label *hp_block_again(const struct hp_label *before)
{
	const struct hp_module *module = hp_block_module(before);
	struct hotpath_block block = { .size = sizeof(block),
				       .line = before->line,
				       .label = text_at(before->text),
				       .file = text_at(before->file),
				       .function = text_at(before->function) };
	struct place place;
	uint64_t object;

	place_init(&place, &block, (enum hp_label_kind)before->kind);
	place.module = module ? hp_module_of(module->bias + before->address) : NULL;
	place.address = before->address;
	object = place.module ? place.module->object : hp_self->process->object;
	return object ? label_get(at(object), &place) : NULL;
}

uintptr_t hp_block_key(struct hotpath_block *block)
{
	const void *key = label_of(block, HP_LABEL_BLOCK);

	if (!key)
		key = &nameless;
	/* Release: a thread that finds the key finds the label complete. */
	__atomic_store_n(&block->key, (void *)(uintptr_t)key, __ATOMIC_RELEASE);
	return (uintptr_t)key;
}

struct hp_label *hp_block_name(struct hotpath_block *name)
{
	struct hp_label *label = name->size < sizeof(*name) ? NULL : label_of(name, HP_LABEL_NAME);

	if (label)
		__atomic_store_n(&name->key, label, __ATOMIC_RELAXED);
	return label;
}

/* --- the connection to the library --- */

static void hooks_fill(struct hotpath_hooks *hooks, uint32_t count, bool is_recorded)
{
	static void *const ours[] = { (void *)hotpath_block_enter, (void *)hotpath_block_leave,
				      (void *)hotpath_name,	   (void *)hotpath_result,
				      (void *)hotpath_label,	   (void *)hotpath_gauge_change,
				      (void *)hotpath_value_show,  (void *)hotpath_future,
				      (void *)hotpath_task_step };
	void **pointers = (void **)hooks;

	for (uint32_t i = 0; i < count && i < sizeof(ours) / sizeof(ours[0]); i++)
		__atomic_store_n(&pointers[i], is_recorded ? ours[i] : NULL, __ATOMIC_RELAXED);
}

/* True if [address, +size) is writable memory of the object. */
static bool is_writable(const struct dl_phdr_info *info, uintptr_t address, size_t size)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t offset = address - info->dlpi_addr - p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_W) && offset < p->p_memsz &&
		    size <= p->p_memsz - offset)
			return true;
	}
	return false;
}

static void notes_look(const struct dl_phdr_info *info, const ElfW(Phdr) * p, bool is_recorded)
{
	struct hp_note note;
	const char *from = (const char *)(info->dlpi_addr + p->p_vaddr);
	const char *end = from + p->p_memsz;

	while ((from = hp_note_next(from, end, &note))) {
		int32_t distance;
		uint32_t count;
		uintptr_t hooks;

		if (note.type != HOTPATH_NOTE_HOOKS || note.size < 8)
			continue;
		memcpy(&distance, note.data, 4);
		memcpy(&count, note.data + 4, 4);
		hooks = (uintptr_t)note.data + (uintptr_t)(intptr_t)distance;
		if (count < 64 && is_writable(info, hooks, count * sizeof(void *)))
			hooks_fill((struct hotpath_hooks *)hooks, count, is_recorded);
	}
}

static int object_look(struct dl_phdr_info *info, size_t size, void *is_recorded)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			notes_look(info, &info->dlpi_phdr[i], *(bool *)is_recorded);
	return 0;
}

void hp_block_offer(bool is_recorded)
{
	dl_iterate_phdr(object_look, &is_recorded);
}

/* The kernel tells where the program's headers are, and one of them where they should be. */
void hp_block_defaults(char text[HP_DEFAULTS_MAX])
{
	const ElfW(Phdr) *heads = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	unsigned long count = heads ? getauxval(AT_PHNUM) : 0;
	uintptr_t bias = 0;

	text[0] = 0;
	for (unsigned long i = 0; i < count; i++)
		if (heads[i].p_type == PT_PHDR)
			bias = (uintptr_t)heads - heads[i].p_vaddr;
	for (unsigned long i = 0; i < count; i++) {
		const char *notes = (const char *)(bias + heads[i].p_vaddr);

		if (heads[i].p_type == PT_NOTE)
			hp_defaults_add(text, notes, notes + heads[i].p_memsz);
	}
}
