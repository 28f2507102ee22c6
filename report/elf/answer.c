/* SPDX-License-Identifier: MIT */
/*
 * answer.c - see answer.h.
 *
 * The file is in this machine's byte order: head, ranges by address, lines,
 * texts.  Only this user can access it, but every number in it is checked all
 * the same.
 */
#include "report/elf/answer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/elf/elf_file.h"
#include "util/hash.h"

#define MAGIC UINT64_C(0x3152535741504548)
#define FILE_MAX (8 << 20) /* bytes; further answers are not kept */
#define NO_TEXT UINT32_MAX

struct head {
	uint64_t magic;
	uint64_t debug_size; /* of the debug file */
	int64_t debug_s; /* when it was written */
	int64_t debug_ns;
	uint32_t range_count;
	uint32_t line_count;
	uint32_t texts_size;
	uint32_t reserved;
};

struct range {
	uint64_t low;
	uint64_t high;
	uint32_t first; /* of its lines */
	uint32_t count;
};

struct line {
	uint32_t name; /* offset in the texts, or place in the list of them; NO_TEXT = none */
	uint32_t file;
	int32_t line;
	uint32_t is_inlined;
};

struct hp_answers {
	char *path;
	struct head head;
	char *bytes; /* of the file, for its texts; NULL = none */
	struct range *ranges;
	size_t range_count;
	size_t range_room;
	struct line *lines;
	size_t line_count;
	size_t line_room;
	const char **texts; /* in `bytes`, or fresh from `fresh_from` on */
	size_t text_count;
	size_t text_room;
	size_t fresh_from;
	struct hp_map numbers; /* hash of a text -> its place */
	size_t settled; /* ranges that are in order */
	bool is_changed;
};

static const char *folder_path;
static bool may_write_there;

void hp_answers_folder(const char *folder, bool may_write)
{
	folder_path = folder;
	may_write_there = may_write;
}

/* --- texts --- */

/* Returns its place; texts of a file that was read are not copied. */
static uint32_t text_number(struct hp_answers *answers, const char *text, bool is_fresh)
{
	uint64_t hash = hp_fnv_text(HP_FNV_SEED, text) | 1;
	uint32_t *number;
	bool is_new;

	for (;; hash += 2) {
		number = hp_map_at(&answers->numbers, hash, &is_new);
		if (is_new)
			break;
		if (strcmp(answers->texts[*number], text) == 0)
			return *number;
	}
	*number = (uint32_t)answers->text_count;
	answers->texts = hp_xgrow(answers->texts, answers->text_count, &answers->text_room,
				  sizeof(*answers->texts));
	answers->texts[answers->text_count++] = is_fresh ? hp_xstrdup(text) : text;
	return *number;
}

static uint32_t text_of(struct hp_answers *answers, const char *text)
{
	return text ? text_number(answers, text, true) : NO_TEXT;
}

/* --- reading --- */

static char *file_read(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	char *bytes = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    !(status.st_mode & 077) && status.st_size <= FILE_MAX) {
		bytes = hp_xmalloc((size_t)status.st_size + 1);
		*size = (size_t)status.st_size;
		if (read(fd, bytes, *size) != status.st_size) {
			free(bytes);
			bytes = NULL;
		}
	}
	close(fd);
	return bytes;
}

static bool is_sound(const struct head *head, const struct head *wanted, size_t size)
{
	uint64_t whole = sizeof(*head) + head->range_count * (uint64_t)sizeof(struct range) +
			 head->line_count * (uint64_t)sizeof(struct line) + head->texts_size;

	return head->magic == MAGIC && head->debug_size == wanted->debug_size &&
	       head->debug_s == wanted->debug_s && head->debug_ns == wanted->debug_ns &&
	       whole == size;
}

/* From an offset to the number of the text there. */
static bool text_take(struct hp_answers *answers, const char *texts, uint32_t *text)
{
	if (*text == NO_TEXT)
		return true;
	if (*text >= answers->head.texts_size)
		return false;
	*text = text_number(answers, texts + *text, false);
	return true;
}

static bool parts_take(struct hp_answers *answers, const char *texts)
{
	uint64_t last = 0;

	for (size_t i = 0; i < answers->range_count; i++) {
		const struct range *range = &answers->ranges[i];

		if (range->low < last || range->high <= range->low ||
		    range->count > HP_INLINES_MAX || range->first > answers->line_count ||
		    range->count > answers->line_count - range->first)
			return false;
		last = range->high;
	}
	for (size_t i = 0; i < answers->line_count; i++)
		if (!text_take(answers, texts, &answers->lines[i].name) ||
		    !text_take(answers, texts, &answers->lines[i].file))
			return false;
	return true;
}

static bool parse(struct hp_answers *answers, size_t size)
{
	const char *at = answers->bytes + sizeof(answers->head);
	struct head head;

	if (size < sizeof(head))
		return false;
	memcpy(&head, answers->bytes, sizeof(head));
	if (!is_sound(&head, &answers->head, size))
		return false;
	answers->head = head;
	answers->range_count = answers->range_room = answers->settled = head.range_count;
	answers->line_count = answers->line_room = head.line_count;
	answers->ranges = hp_xcalloc(head.range_count, sizeof(*answers->ranges));
	answers->lines = hp_xcalloc(head.line_count, sizeof(*answers->lines));
	memcpy(answers->ranges, at, head.range_count * sizeof(*answers->ranges));
	at += head.range_count * sizeof(*answers->ranges);
	memcpy(answers->lines, at, head.line_count * sizeof(*answers->lines));
	at += head.line_count * sizeof(*answers->lines);
	answers->bytes[size] = 0;
	return parts_take(answers, at);
}

static void clear(struct hp_answers *answers)
{
	for (size_t i = answers->fresh_from; i < answers->text_count; i++)
		free((char *)answers->texts[i]);
	free(answers->bytes);
	free(answers->ranges);
	free(answers->lines);
	free(answers->texts);
	hp_map_release(&answers->numbers);
}

static char *path_of(const unsigned char *id, size_t size)
{
	char text[2 * HP_BUILD_ID_MAX + 1] = "";

	for (size_t i = 0; i < size; i++)
		sprintf(text + 2 * i, "%02x", id[i]);
	return hp_xprintf("%s/.debug-%s", folder_path, text);
}

struct hp_answers *hp_answers_open(const unsigned char *id, size_t size, const struct stat *debug)
{
	struct hp_answers *answers;
	size_t bytes;

	if (!folder_path || !size || size > HP_BUILD_ID_MAX)
		return NULL;
	answers = hp_xcalloc(1, sizeof(*answers));
	answers->path = path_of(id, size);
	answers->head = (struct head){ .magic = MAGIC,
				       .debug_size = (uint64_t)debug->st_size,
				       .debug_s = debug->st_mtim.tv_sec,
				       .debug_ns = debug->st_mtim.tv_nsec };
	answers->bytes = file_read(answers->path, &bytes);
	if (answers->bytes && !parse(answers, bytes)) {
		struct hp_answers none = { .path = answers->path, .head = answers->head };

		answers->fresh_from = answers->text_count;
		clear(answers);
		*answers = none;
	}
	answers->fresh_from = answers->text_count;
	return answers;
}

/* --- asking --- */

bool hp_answers_find(const struct hp_answers *answers, uint64_t address,
		     struct hp_inline list[HP_INLINES_MAX], size_t *count)
{
	size_t low = 0, high = answers->settled;
	const struct range *range;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (answers->ranges[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	range = low ? &answers->ranges[low - 1] : NULL;
	if (!range || address >= range->high)
		return false;
	*count = range->count;
	for (size_t i = 0; i < range->count; i++) {
		const struct line *line = &answers->lines[range->first + i];

		list[i] = (struct hp_inline){
			.name = line->name == NO_TEXT ? NULL : answers->texts[line->name],
			.file = line->file == NO_TEXT ? NULL : answers->texts[line->file],
			.line = line->line,
			.is_inlined = line->is_inlined,
		};
	}
	return true;
}

void hp_answers_add(struct hp_answers *answers, uint64_t low, uint64_t high,
		    const struct hp_inline *list, size_t count)
{
	answers->ranges = hp_xgrow(answers->ranges, answers->range_count, &answers->range_room,
				   sizeof(*answers->ranges));
	answers->ranges[answers->range_count++] =
		(struct range){ low, high, (uint32_t)answers->line_count, (uint32_t)count };
	for (size_t i = 0; i < count; i++) {
		answers->lines = hp_xgrow(answers->lines, answers->line_count, &answers->line_room,
					  sizeof(*answers->lines));
		answers->lines[answers->line_count++] = (struct line){
			.name = text_of(answers, list[i].name),
			.file = text_of(answers, list[i].file),
			.line = list[i].line,
			.is_inlined = list[i].is_inlined,
		};
	}
	answers->is_changed = true;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return a->low < b->low ? -1 : a->low > b->low;
}

/*
 * Functions may overlap and are added in any order: of two overlapping ranges
 * the first stays whole.
 */
void hp_answers_settle(struct hp_answers *answers)
{
	size_t kept = 0;

	if (answers->range_count)
		qsort(answers->ranges, answers->range_count, sizeof(*answers->ranges),
		      compare_ranges);
	for (size_t i = 0; i < answers->range_count; i++) {
		struct range range = answers->ranges[i];
		uint64_t end = kept ? answers->ranges[kept - 1].high : 0;

		if (range.low < end)
			range.low = end;
		if (range.low < range.high)
			answers->ranges[kept++] = range;
	}
	answers->range_count = answers->settled = kept;
}

/* --- writing --- */

static void write_to(struct hp_answers *answers, FILE *out)
{
	uint32_t *offsets = hp_xcalloc(answers->text_count, sizeof(*offsets));
	struct head head = answers->head;
	size_t size = 0;

	for (size_t i = 0; i < answers->text_count; i++) {
		offsets[i] = (uint32_t)size;
		size += strlen(answers->texts[i]) + 1;
	}
	head.range_count = (uint32_t)answers->range_count;
	head.line_count = (uint32_t)answers->line_count;
	head.texts_size = (uint32_t)size;
	fwrite(&head, sizeof(head), 1, out);
	fwrite(answers->ranges, sizeof(*answers->ranges), answers->range_count, out);
	for (size_t i = 0; i < answers->line_count; i++) {
		struct line line = answers->lines[i];

		line.name = line.name == NO_TEXT ? NO_TEXT : offsets[line.name];
		line.file = line.file == NO_TEXT ? NO_TEXT : offsets[line.file];
		fwrite(&line, sizeof(line), 1, out);
	}
	for (size_t i = 0; i < answers->text_count; i++)
		fwrite(answers->texts[i], strlen(answers->texts[i]) + 1, 1, out);
	free(offsets);
}

/* Several reports may end at once: the last one's file wins, and each file is complete. */
static void save(struct hp_answers *answers)
{
	char *fresh = hp_xprintf("%s.%u", answers->path, (unsigned)getpid());
	int fd;
	FILE *out;

	unlink(fresh);
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (out) {
		bool is_fine;

		write_to(answers, out);
		is_fine = !ferror(out);
		if (fclose(out) != 0 || !is_fine || rename(fresh, answers->path) < 0)
			unlink(fresh);
	}
	free(fresh);
}

void hp_answers_close(struct hp_answers *answers)
{
	if (!answers)
		return;
	if (answers->is_changed && may_write_there)
		save(answers);
	clear(answers);
	free(answers->path);
	free(answers);
}
