/* SPDX-License-Identifier: MIT */
/*
 * answer.c - see answer.h.
 *
 * The file is in this machine's byte order: head, ranges by address, lines,
 * texts.  Only this user can access it, but every number in it is checked
 * anyway, when it is used.
 */
#include "report/elf/answer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/elf/elf_file.h"
#include "util/hash.h"

#define MAGIC UINT64_C(0x3252535741504548)
#define FILE_MAX (16 << 20) /* bytes; more is not kept */
#define GROW_MAX (FILE_MAX / 4 * 3) /* from then on only requested answers are added */
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
	uint32_t name; /* offset in the file's texts, then in the fresh ones; NO_TEXT = none */
	uint32_t file;
	int32_t line;
	uint32_t is_inlined;
};

struct text {
	uint32_t offset; /* after the file's texts */
	char *text;
};

/* The numbers of lines and texts continue from the file's to the fresh ones. */
struct hp_answers {
	char *path;
	struct head head; /* of the file; its counts are 0 if it is missing */
	void *file; /* mapped, NULL = none: a report reads few of its pages */
	size_t file_size;
	const struct range *old_ranges;
	const struct line *old_lines;
	const char *old_texts; /* the last byte is 0 */
	struct range *ranges;
	size_t range_count;
	size_t range_room;
	struct line *lines;
	size_t line_count;
	size_t line_room;
	struct text *texts; /* by offset; each stays where it is, since frames point to it */
	size_t text_count;
	size_t text_room;
	size_t texts_size; /* bytes of all fresh texts */
	struct hp_map offsets; /* hash of a text -> its offset */
	bool has_offsets; /* false until a text is added */
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

static const char *fresh_at(const struct hp_answers *answers, uint32_t offset)
{
	size_t low = 0, high = answers->text_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (answers->texts[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? answers->texts[low - 1].text : NULL;
}

/* NULL = no text, or an offset that is not valid. */
static const char *text_at(const struct hp_answers *answers, uint32_t offset)
{
	if (offset < answers->head.texts_size)
		return answers->old_texts + offset;
	offset -= answers->head.texts_size;
	return offset < answers->texts_size ? fresh_at(answers, offset) : NULL;
}

/* The offset of a text, which is `next` if it is new. */
static uint32_t offset_of(struct hp_answers *answers, const char *text, uint32_t next, bool *is_new)
{
	uint64_t hash = hp_fnv_text(HP_FNV_SEED, text) | 1;
	uint32_t *offset;

	for (;; hash += 2) {
		offset = hp_map_at(&answers->offsets, hash, is_new);
		if (*is_new)
			return *offset = next;
		if (strcmp(text_at(answers, *offset), text) == 0)
			return *offset;
	}
}

static void old_texts_note(struct hp_answers *answers)
{
	bool is_new;

	for (uint32_t at = 0; at < answers->head.texts_size;
	     at += (uint32_t)strlen(answers->old_texts + at) + 1)
		offset_of(answers, answers->old_texts + at, at, &is_new);
}

static uint32_t text_of(struct hp_answers *answers, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;
	bool is_new;
	uint32_t offset;

	if (!text)
		return NO_TEXT;
	if (!answers->has_offsets)
		old_texts_note(answers);
	answers->has_offsets = true;
	offset = offset_of(answers, text, answers->head.texts_size + (uint32_t)answers->texts_size,
			   &is_new);
	if (!is_new)
		return offset;
	answers->texts = hp_xgrow(answers->texts, answers->text_count, &answers->text_room,
				  sizeof(*answers->texts));
	answers->texts[answers->text_count++] =
		(struct text){ (uint32_t)answers->texts_size, hp_xstrdup(text) };
	answers->texts_size += size;
	return offset;
}

/* --- reading --- */

static void *file_map(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	void *file = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    !(status.st_mode & 077) && status.st_size <= FILE_MAX &&
	    status.st_size >= (off_t)sizeof(struct head)) {
		*size = (size_t)status.st_size;
		file = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	return file == MAP_FAILED ? NULL : file;
}

static bool is_sound(const struct head *head, const struct head *wanted, size_t size)
{
	uint64_t whole = sizeof(*head) + head->range_count * (uint64_t)sizeof(struct range) +
			 head->line_count * (uint64_t)sizeof(struct line) + head->texts_size;

	return head->magic == MAGIC && head->debug_size == wanted->debug_size &&
	       head->debug_s == wanted->debug_s && head->debug_ns == wanted->debug_ns &&
	       whole == size;
}

static bool parse(struct hp_answers *answers)
{
	const struct head *head = answers->file;
	const char *end = (const char *)answers->file + answers->file_size;

	if (!is_sound(head, &answers->head, answers->file_size) ||
	    (head->texts_size && end[-1] != 0))
		return false;
	answers->head = *head;
	answers->old_ranges = (const struct range *)(head + 1);
	answers->old_lines = (const struct line *)(answers->old_ranges + head->range_count);
	answers->old_texts = end - head->texts_size;
	return true;
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

	if (!folder_path || !size || size > HP_BUILD_ID_MAX)
		return NULL;
	answers = hp_xcalloc(1, sizeof(*answers));
	answers->path = path_of(id, size);
	answers->head = (struct head){ .magic = MAGIC,
				       .debug_size = (uint64_t)debug->st_size,
				       .debug_s = debug->st_mtim.tv_sec,
				       .debug_ns = debug->st_mtim.tv_nsec };
	answers->file = file_map(answers->path, &answers->file_size);
	if (answers->file && !parse(answers)) {
		munmap(answers->file, answers->file_size);
		answers->file = NULL;
	}
	return answers;
}

/* --- asking --- */

/* The last range that starts at or below the address; NULL = none. */
static const struct range *range_at(const struct range *ranges, size_t count, uint64_t address)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (ranges[middle].low <= address)
			low = middle + 1;
		else
			count = middle;
	}
	return low ? &ranges[low - 1] : NULL;
}

static bool is_in(const struct range *range, uint64_t address)
{
	return range && address >= range->low && address < range->high;
}

/* The range that contains the address, in the file or fresh; NULL = none. */
static const struct range *range_of(const struct hp_answers *answers, uint64_t address)
{
	const struct range *range =
		range_at(answers->old_ranges, answers->head.range_count, address);

	if (!is_in(range, address))
		range = range_at(answers->ranges, answers->settled, address);
	return is_in(range, address) ? range : NULL;
}

static const struct line *line_at(const struct hp_answers *answers, uint32_t number)
{
	if (number < answers->head.line_count)
		return &answers->old_lines[number];
	number -= answers->head.line_count;
	return number < answers->line_count ? &answers->lines[number] : NULL;
}

bool hp_answers_find(const struct hp_answers *answers, uint64_t address,
		     struct hp_inline list[HP_INLINES_MAX], size_t *count)
{
	const struct range *range = range_of(answers, address);

	if (!range || range->count > HP_INLINES_MAX)
		return false;
	for (uint32_t i = 0; i < range->count; i++) {
		const struct line *line = line_at(answers, range->first + i);

		if (!line)
			return false;
		list[i] = (struct hp_inline){
			.name = text_at(answers, line->name),
			.file = text_at(answers, line->file),
			.line = line->line,
			.is_inlined = line->is_inlined != 0,
		};
	}
	*count = range->count;
	return true;
}

bool hp_answers_has(const struct hp_answers *answers, uint64_t low, uint64_t high)
{
	const struct range *range;

	while (low < high && (range = range_of(answers, low)))
		low = range->high;
	return low >= high;
}

static size_t size_of(const struct hp_answers *answers)
{
	return sizeof(struct head) +
	       (answers->head.range_count + answers->range_count) * sizeof(struct range) +
	       (answers->head.line_count + answers->line_count) * sizeof(struct line) +
	       answers->head.texts_size + answers->texts_size;
}

bool hp_answers_grow(const struct hp_answers *answers)
{
	return answers->is_changed && answers->file && may_write_there &&
	       size_of(answers) < GROW_MAX;
}

void hp_answers_add(struct hp_answers *answers, uint64_t low, uint64_t high,
		    const struct hp_inline *list, size_t count)
{
	uint32_t first = answers->head.line_count + (uint32_t)answers->line_count;

	answers->ranges = hp_xgrow(answers->ranges, answers->range_count, &answers->range_room,
				   sizeof(*answers->ranges));
	answers->ranges[answers->range_count++] =
		(struct range){ low, high, first, (uint32_t)count };
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

/* Functions may overlap: of two overlapping ranges the first stays whole.  Returns how many are left. */
static size_t ranges_sort(struct range *ranges, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(ranges, count, sizeof(*ranges), compare_ranges);
	for (size_t i = 0; i < count; i++) {
		struct range range = ranges[i];
		uint64_t end = kept ? ranges[kept - 1].high : 0;

		if (range.low < end)
			range.low = end;
		if (range.low < range.high)
			ranges[kept++] = range;
	}
	return kept;
}

void hp_answers_settle(struct hp_answers *answers)
{
	answers->range_count = answers->settled =
		ranges_sort(answers->ranges, answers->range_count);
}

/* --- writing --- */

static void write_to(struct hp_answers *answers, FILE *out)
{
	size_t old = answers->head.range_count, count = old + answers->range_count;
	struct range *ranges = hp_xcalloc(count, sizeof(*ranges));
	struct head head = answers->head;

	if (old)
		memcpy(ranges, answers->old_ranges, old * sizeof(*ranges));
	if (answers->range_count)
		memcpy(ranges + old, answers->ranges, answers->range_count * sizeof(*ranges));
	head.range_count = (uint32_t)ranges_sort(ranges, count);
	head.line_count += (uint32_t)answers->line_count;
	head.texts_size += (uint32_t)answers->texts_size;
	fwrite(&head, sizeof(head), 1, out);
	fwrite(ranges, sizeof(*ranges), head.range_count, out);
	if (answers->file)
		fwrite(answers->old_lines, sizeof(struct line), answers->head.line_count, out);
	if (answers->line_count)
		fwrite(answers->lines, sizeof(struct line), answers->line_count, out);
	if (answers->file)
		fwrite(answers->old_texts, 1, answers->head.texts_size, out);
	for (size_t i = 0; i < answers->text_count; i++)
		fwrite(answers->texts[i].text, strlen(answers->texts[i].text) + 1, 1, out);
	free(ranges);
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
	if (answers->is_changed && may_write_there && size_of(answers) <= FILE_MAX)
		save(answers);
	if (answers->file)
		munmap(answers->file, answers->file_size);
	free(answers->ranges);
	free(answers->lines);
	for (size_t i = 0; i < answers->text_count; i++)
		free(answers->texts[i].text);
	free(answers->texts);
	hp_map_release(&answers->offsets);
	free(answers->path);
	free(answers);
}
