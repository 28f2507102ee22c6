/* SPDX-License-Identifier: MIT */
/*
 * sampler_hostile_test.c - the helper's input from a program that wrote out of bounds, and from
 * inconsistent files: none of it may keep the helper busy forever, or make it overwrite its own
 * memory.
 */
/* The test runner has the same name. */
#define hp_place hp_code_place
#include "sampler/sample/space.h"
#include "sampler/samply/profile.h"
#include "sampler/session/cpu_timer.h"
#undef hp_place

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/test.h"

static struct hp_segment segment;

static void *begin(size_t size, uint64_t *at)
{
	struct hp_segment_wish wish = { .size = 4 << 20, .path = NULL };

	CHECK_EQ(hp_segment_create(&segment, &wish), 0);
	*at = hp_segment_take(&segment, size, HP_LINE);
	return hp_segment_at(&segment, *at, size);
}

static struct hp_ticking *ticking(void)
{
	return (struct hp_ticking *)((char *)segment.header + HP_TICKING_AT);
}

TEST(sampler, a_ring_whose_head_is_far_away_is_left)
{
	static struct hp_members members;
	static struct hp_perf perf;
	static struct hp_ticks ticks;
	uint64_t at, sampling;
	struct hp_ticker *ticker = begin(sizeof(*ticker), &at);

	sampling = hp_segment_take(&segment, sizeof(struct hp_sampling), HP_LINE);
	members.segments = (struct hp_segments){ 1, { &segment } };
	perf = (struct hp_perf){ .segment = &segment, .members = &members };
	perf.record = hp_segment_at(&segment, sampling, sizeof(struct hp_sampling));
	for (int i = 0; i < HP_TICKER_WORDS; i++)
		ticker->words[i] = 16;	/* each word is an acceptable size */
	ticker->head = UINT64_C(1) << 63;
	ticking()->interval_ns = 1000000;
	ticking()->tickers = at;
	ticking()->is_on = 1;
	hp_ticks_init(&ticks, &perf);
	hp_ticks_read(&ticks);
	CHECK_EQ(ticker->tail, ticker->head);
	CHECK_EQ(perf.record->samples, 0);
	hp_samples_release(&ticks.samples);
	hp_segment_release(&segment);
}

TEST(sampler, notes_of_waits_whose_head_is_far_away_are_left)
{
	static struct hp_samples samples;
	struct hp_offcpu_notes notes;
	uint64_t at, sampling;
	struct hp_offcpu_ring *ring = begin(sizeof(*ring), &at);

	sampling = hp_segment_take(&segment, sizeof(struct hp_sampling), HP_LINE);
	CHECK(hp_samples_init(&samples, &segment,
			      hp_segment_at(&segment, sampling, sizeof(struct hp_sampling))));
	for (int i = 0; i < HP_OFFCPU_WORDS; i++)
		ring->words[i] = 16;
	ring->head = UINT64_C(1) << 63;
	ticking()->offcpu_rings = at;
	hp_offcpu_notes_ask(&notes, &(struct hp_segments){ 1, { &segment } }, &samples);
	CHECK_EQ(hp_offcpu_notes_read(&notes, UINT64_MAX), 0);
	CHECK_EQ(ring->tail, ring->head);
	hp_samples_release(&samples);
	hp_segment_release(&segment);
}

/* A file with one segment to load and an .eh_frame_hdr in it; the segment's length is arbitrary. */
static int file_make(char path[64], uint64_t file_bytes, uint64_t memory_bytes)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr load, frames;
		uint8_t start[8];
	} image = { .header = { .e_phoff = sizeof(Elf64_Ehdr),
				.e_phentsize = sizeof(Elf64_Phdr),
				.e_phnum = 2 },
		    .load = { .p_type = PT_LOAD, .p_filesz = file_bytes, .p_memsz = memory_bytes },
		    .frames = { .p_type = PT_GNU_EH_FRAME, .p_filesz = 8 },
		    .start = { 1, 0x1b, 0x03, 0x3b, 4, 0, 0, 0 } };
	static char more[65536];
	int fd;

	memcpy(image.header.e_ident, ELFMAG, SELFMAG);
	image.header.e_ident[EI_CLASS] = ELFCLASS64;
	image.frames.p_offset = image.frames.p_vaddr = offsetof(typeof(image), start);
	strcpy(path, "/tmp/hotpath-test-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || write(fd, &image, sizeof(image)) != (ssize_t)sizeof(image) ||
	    write(fd, more, sizeof(more)) != (ssize_t)sizeof(more))
		return -1;
	return fd;
}

/* Whether the helper took the file's frames. */
static bool are_frames_read(uint64_t file_bytes, uint64_t memory_bytes)
{
	struct hp_map_entry where = { .begin = 4096, .end = 8192 };
	const struct hp_map_entry *entry;
	char path[64];
	struct hp_spaces spaces;
	struct stat status;
	uint64_t at;
	bool are_read;
	int fd = file_make(path, file_bytes, memory_bytes);

	CHECK(fd >= 0 && fstat(fd, &status) == 0);
	begin(HP_LINE, &at);
	hp_spaces_init(&spaces, &segment);
	hp_space_map(&spaces, (uint32_t)getpid(), &where, path, status.st_dev, status.st_ino);
	entry = hp_space_entry(hp_space_known(&spaces, (uint32_t)getpid()), where.begin);
	are_read = entry && entry->code->cfi.header != NULL;
	hp_spaces_release(&spaces);
	hp_segment_release(&segment);
	unlink(path);
	close(fd);
	return are_read;
}

TEST(sampler, a_load_larger_than_its_room_is_not_read)
{
	CHECK(are_frames_read(4096, 4096));
	CHECK(!are_frames_read(65536, 4096));
	CHECK(!are_frames_read(65536, UINT64_MAX - 100));
}

static bool samply_reads(const char *text, struct hp_sampling **record, char *error)
{
	int fd = memfd_create("profile", MFD_CLOEXEC);
	char path[64];
	uint64_t at;
	bool is_read;

	*record = begin(sizeof(**record), &at);
	CHECK_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	lseek(fd, 0, SEEK_SET);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	is_read = hp_samply_read(&segment, *record, path, error);
	close(fd);
	return is_read;
}

TEST(sampler, a_profile_of_odd_digits_and_endless_numbers_is_read)
{
	char error[HP_SAMPLY_TEXT] = "";
	struct hp_sampling *record;

	CHECK(samply_reads(
		"{\"meta\":{\"interval\":1},\"libs\":[{\"path\":\"/x\",\"codeId\":\"abc\"}],"
		"\"threads\":[{\"samples\":{\"stack\":[0,0],\"threadCPUDelta\":[1e300,7]},"
		"\"stackTable\":{\"prefix\":[null],\"frame\":[0]},"
		"\"frameTable\":{\"address\":[1e300],\"func\":[0]}}]}",
		&record, error));
	CHECK_EQ(record->samples, 2);
	hp_segment_release(&segment);
}

/* When the table of paths grows, hashes are recomputed from the segment. */
TEST(sampler, an_overwritten_parent_is_not_followed)
{
	static struct hp_sample_tree tree;
	struct hp_segment_wish wish = { .size = 64 << 20, .path = NULL };
	bool is_folded;

	CHECK_EQ(hp_segment_create(&segment, &wish), 0);
	uint64_t at = hp_segment_take(&segment, sizeof(struct hp_sampling), HP_LINE);
	CHECK(hp_sample_tree_init(&tree, &segment,
				  hp_segment_at(&segment, at, sizeof(struct hp_sampling))));
	uint32_t slots = tree.slot_count;
	for (uint64_t i = 1; tree.slot_count == slots && i < slots; i++) {
		struct hp_code_place place = { .address = i };
		uint32_t node = hp_sample_tree_at(&tree, &place, 1, &is_folded);

		hp_sample_tree_node(&tree, node)->parent = UINT32_MAX - 1;
	}
	CHECK(tree.slot_count > slots);
	hp_sample_tree_release(&tree);
	hp_segment_release(&segment);
}
