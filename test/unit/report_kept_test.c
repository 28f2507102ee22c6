/* SPDX-License-Identifier: MIT */
/*
 * report_kept_test.c - a kept file says what its segment said, and no byte of
 * one may crash or hang its reader.
 *
 * The reader takes the stream unpacked too; so each byte is changed in turn
 * both in the packed file, where the checksum finds it, and in the stream.
 */
#include "test/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

#include "report/kept.h"
#include "report/view.h"
#include "test/unit/fake_segment.h"

#define SIZE (1 << 20)

static const char facts_text[] = "hotpath\t0.1.0\ncomm\tfake\nlabel\ta\\x09b\\x5c\nuser.k\tv\n";

static void build(struct fake *fake)
{
	fake_init(fake, SIZE);
	struct hp_object *object = fake_object(fake, "/nowhere/fake");
	struct hp_process *process = fake_process(fake, FAKE_PID, object);
	struct hp_module *module = fake_module(fake, process, object);
	struct hp_block *block = fake_block(fake, process);
	struct hp_function *f = fake_function(fake, block, module, 0x1000);
	struct hp_function *g = fake_function(fake, block, module, 0x2000);
	struct hp_row *outer = fake_row(fake, block, NULL, f);
	struct hp_row *inner = fake_row(fake, block, outer, g);

	for (int i = 0; i < 10; i++)
		fake_call(fake, f, outer, 25000, 16000);
	for (int i = 0; i < 200; i++)
		fake_drawn(fake, g, inner, i & 1 ? 90 : 110, 32);
}

static char *names_text(const struct fake *fake)
{
	const struct hp_object *object =
		(const struct hp_object *)(fake->base + fake_header(fake)->objects);
	char *text;

	if (asprintf(&text,
		     "o\tab000000\t/nowhere/fake\t%llu\t%llu\t\n"
		     "p\tGNU C17 12.2.0\n"
		     "f\t0\t1000\tm\tmain\tfake.c\t7\t3\n"
		     "f\t0\t2000\t-\twork(int)\n",
		     (unsigned long long)object->device, (unsigned long long)object->inode) < 0)
		return NULL;
	return text;
}

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("kept", 0);

	CHECK_EQ(write(fd, bytes, size), size);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* A kept file of the fake segment, packed. */
static int keep(const struct fake *fake, const char *facts)
{
	struct hp_segment segment = fake_segment(fake);
	char *names = names_text(fake);
	int fd = file_of("", 0);

	segment.size = fake_header(fake)->used;
	CHECK_EQ(hp_kept_write(fd, &(struct hp_kept_source){ .segment = &segment,
							     .header = fake_header(fake),
							     .fd = -1,
							     .facts = facts,
							     .names = names }),
		 0);
	free(names);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static size_t slurp(int fd, char **bytes)
{
	off_t size = lseek(fd, 0, SEEK_END);

	*bytes = malloc((size_t)size + 1);
	CHECK_EQ(pread(fd, *bytes, (size_t)size, 0), size);
	lseek(fd, 0, SEEK_SET);
	return (size_t)size;
}

/* The same stream, not packed. */
static size_t unpack(int fd, char **bytes)
{
	gzFile in = gzdopen(dup(fd), "rb");
	int size;

	*bytes = malloc(SIZE);
	size = gzread(in, *bytes, SIZE);
	CHECK(size > 0 && size < SIZE);
	gzclose(in);
	lseek(fd, 0, SEEK_SET);
	return (size_t)size;
}

/* Table and JSON of what was read, joined; NULL with a fault. */
static char *report_of(int fd, enum hp_segment_fault *fault)
{
	static char *const environment[] = { NULL };
	struct hp_look look = { .width = 80 };
	struct hp_record record = { .legend = NULL };
	struct hp_settings settings;
	struct hp_report report;
	struct hp_facts facts;
	struct hp_kept kept;
	char *text = NULL;
	size_t size;
	FILE *out;

	*fault = hp_kept_read(&kept, fd);
	if (*fault != HP_SEGMENT_FINE)
		return NULL;
	out = open_memstream(&text, &size);
	hp_settings_read(&settings, environment, NULL, NULL);
	hp_facts_init(&facts, kept.facts ? kept.facts : strdup(""));
	record.facts = &facts;
	record.legend = hp_legend_new(kept.names ? kept.names : strdup(""));
	hp_report_init_record(&report, &kept.segment, &record, &settings, NULL, NULL);
	hp_table_write(&report, &look, out);
	hp_json_write(&report, false, out);
	hp_report_release(&report);
	hp_facts_release(&facts);
	hp_legend_free(record.legend);
	fclose(out);
	return text;
}

static enum hp_segment_fault fault_of(const void *bytes, size_t size)
{
	int fd = file_of(bytes, size);
	enum hp_segment_fault fault;

	free(report_of(fd, &fault));
	close(fd);
	return fault;
}

TEST(kept, says_what_the_segment_said)
{
	struct fake fake;
	struct hp_kept kept;
	int fd;

	build(&fake);
	fd = keep(&fake, facts_text);
	CHECK_EQ(hp_kept_read(&kept, fd), HP_SEGMENT_FINE);
	CHECK_EQ(kept.segment.size, fake_header(&fake)->used);
	CHECK_MEM((char *)kept.segment.header, fake.base, kept.segment.size);
	CHECK_STR(kept.facts, facts_text);
	hp_kept_release(&kept);
	close(fd);
}

TEST(kept, names_and_facts_come_back)
{
	enum hp_segment_fault fault;
	struct fake fake;
	char *text;
	int fd;

	build(&fake);
	fd = keep(&fake, facts_text);
	text = report_of(fd, &fault);
	CHECK(text != NULL);
	CHECK(strstr(text, "fake::main") != NULL);
	CHECK(strstr(text, "work(int)") != NULL);
	CHECK(strstr(text, "\"file\":\"fake.c\",\"line\":7,\"column\":3") != NULL);
	CHECK(strstr(text, "\"label\":\"a?b\\\\\"") != NULL);
	CHECK(strstr(text, "\"user_metadata\":{\"k\":\"v\"}") != NULL);
	CHECK(strstr(text, "cannot be read") == NULL);	/* the program's file is not asked */
	free(text);
	close(fd);
}

TEST(kept, facts_alone)
{
	struct fake fake;
	char *text;
	int fd;

	build(&fake);
	fd = keep(&fake, facts_text);
	text = hp_kept_facts(fd);
	CHECK_STR(text, facts_text);
	free(text);
	close(fd);
	fd = file_of("something else, long enough", 27);
	CHECK_STR(hp_kept_facts(fd), NULL);
	close(fd);
}

TEST(kept, a_segment_out_of_a_pipe)
{
	struct fake fake;

	build(&fake);
	CHECK_EQ(fault_of(fake.base, fake_header(&fake)->used), HP_SEGMENT_FINE);
	CHECK_EQ(fault_of(fake.base, fake_header(&fake)->used - 1), HP_SEGMENT_TRUNCATED);
}

TEST(kept, truncation_is_told_at_any_length)
{
	struct fake fake;
	char *bytes;
	size_t size;
	int fd;

	build(&fake);
	fd = keep(&fake, facts_text);
	size = slurp(fd, &bytes);
	for (size_t i = 0; i < size; i++) {
		enum hp_segment_fault fault = fault_of(bytes, i);

		CHECK(fault == HP_SEGMENT_TRUNCATED || (i < 2 && fault == HP_SEGMENT_FOREIGN));
	}
	CHECK_EQ(fault_of(bytes, size), HP_SEGMENT_FINE);
	free(bytes);
	close(fd);
}

/* A change is told, or it is none: ten bytes of gzip's header say nothing of the content. */
TEST(kept, each_packed_bit_changed)
{
	struct fake fake;
	char *bytes;
	size_t size;
	int fd;

	build(&fake);
	fd = keep(&fake, facts_text);
	size = slurp(fd, &bytes);
	for (size_t i = 0; i < size * 8; i++) {
		struct hp_kept kept;
		int changed;

		bytes[i / 8] ^= (char)(1 << i % 8);
		changed = file_of(bytes, size);
		if (hp_kept_read(&kept, changed) == HP_SEGMENT_FINE) {
			CHECK_MEM((char *)kept.segment.header, fake.base, kept.segment.size);
			CHECK_STR(kept.facts, facts_text);
			hp_kept_release(&kept);
		}
		close(changed);
		bytes[i / 8] ^= (char)(1 << i % 8);
	}
	free(bytes);
	close(fd);
}

static void change_each_plain(unsigned char with)
{
	struct fake fake;
	char *bytes;
	size_t size;
	int fd;

	build(&fake);
	fd = keep(&fake, facts_text);
	size = unpack(fd, &bytes);
	CHECK_EQ(fault_of(bytes, size), HP_SEGMENT_FINE);
	for (size_t i = 0; i < size; i++) {
		bytes[i] ^= (char)with;
		fault_of(bytes, size);
		bytes[i] ^= (char)with;
	}
	free(bytes);
	close(fd);
}

TEST(kept, each_byte_of_the_stream_inverted)
{
	change_each_plain(0xff);
}

TEST(kept, each_byte_of_the_stream_with_its_low_bit_changed)
{
	change_each_plain(0x01);
}

/* What a text may hold is no number, or too large a one; lines and fields are missing. */
TEST(kept, texts_of_noise)
{
	static const char pool[] = "of\t\t\t\n\n-m0123456789abcdef\\x/";
	struct hp_segment segment;
	struct fake fake;

	build(&fake);
	srand(11);
	for (int round = 0; round < 300; round++) {
		char text[400];
		int fd = file_of("", 0);
		enum hp_segment_fault fault;

		segment = fake_segment(&fake);
		segment.size = fake_header(&fake)->used;
		for (size_t i = 0; i + 1 < sizeof(text); i++)
			text[i] = pool[(size_t)rand() % (sizeof(pool) - 1)];
		text[sizeof(text) - 1] = 0;
		CHECK_EQ(hp_kept_write(fd, &(struct hp_kept_source){ .segment = &segment,
								     .header = fake_header(&fake),
								     .fd = -1,
								     .facts = text,
								     .names = text }),
			 0);
		lseek(fd, 0, SEEK_SET);
		free(report_of(fd, &fault));
		CHECK_EQ(fault, HP_SEGMENT_FINE);
		close(fd);
	}
}

/* A small file that unpacks to more than any run is refused before it takes the memory. */
TEST(kept, a_bomb)
{
	static char zeros[1 << 20];
	struct hp_kept_piece piece = { HP_KEPT_NAMES, sizeof(zeros) };
	uint64_t start[2] = { HP_KEPT_MAGIC, HP_KEPT_VERSION };
	int fd = file_of("", 0);
	gzFile out = gzdopen(dup(fd), "wb9");
	enum hp_segment_fault fault;

	memset(zeros, '\n', sizeof(zeros));
	gzwrite(out, start, sizeof(start));
	for (int i = 0; i < 300; i++) {
		gzwrite(out, &piece, sizeof(piece));
		gzwrite(out, zeros, sizeof(zeros));
	}
	gzclose(out);
	CHECK(lseek(fd, 0, SEEK_END) < 1 << 20);
	lseek(fd, 0, SEEK_SET);
	free(report_of(fd, &fault));
	CHECK_EQ(fault, HP_SEGMENT_CORRUPTED);
	close(fd);
}
