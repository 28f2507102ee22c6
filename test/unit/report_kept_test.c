/* SPDX-License-Identifier: MIT */
/*
 * report_kept_test.c - a kept file has its segment's figures, and no byte of
 * one may crash or hang its reader.
 *
 * The reader also accepts the unpacked stream, so each byte is changed in
 * turn both in the packed file, where the checksum detects it, and in the
 * stream.
 */
#include "test/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

#include "report/base/field.h"
#include "report/store/kept.h"
#include "report/view/view.h"
#include "test/unit/fake_segment.h"
#include "report/section/sections.h"

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
		fake_sampled(fake, g, inner, i & 1 ? 90 : 110, 32);
	/* As a kept run has it. */
	struct hp_levels *levels = (struct hp_levels *)(fake->base + HP_LEVELS_AT);
	levels->flags = HP_LEVEL_KEPT;
	levels->used = fake_header(fake)->used;
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

static int kept_write(int fd, const struct hp_kept_source *source, const char *names)
{
	struct hp_kept_writer *writer = hp_kept_begin(fd, source);

	CHECK(writer);
	hp_kept_segment(writer);
	return hp_kept_end(writer, names);
}

/* A kept file of the fake segment, packed. */
static int keep(const struct fake *fake, const char *facts)
{
	struct hp_segment segment = fake_segment(fake);
	char *names = names_text(fake);
	int fd = file_of("", 0);

	segment.size = fake_header(fake)->used;
	CHECK_EQ(kept_write(fd,
			    &(struct hp_kept_source){ .segment = &segment,
						      .header = fake_header(fake),
						      .fd = -1,
						      .facts = facts },
			    names),
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
	int size;

	lseek(fd, 0, SEEK_SET);
	gzFile in = gzdopen(dup(fd), "rb");
	*bytes = malloc(SIZE);
	size = gzread(in, *bytes, SIZE);
	CHECK(size > 0 && size < SIZE);
	gzclose(in);
	lseek(fd, 0, SEEK_SET);
	return (size_t)size;
}

/* Many threads that called the same functions, with everything that a record can contain. */
static void build_many(struct fake *fake)
{
	fake_init(fake, 4 << 20);
	struct hp_object *object = fake_object(fake, "/nowhere/fake");
	struct hp_process *process = fake_process(fake, FAKE_PID, object);
	struct hp_module *module = fake_module(fake, process, object);

	fake_header(fake)->logs_limit = 7;
	srand(5);
	for (int thread = 0; thread < 30; thread++) {
		struct hp_block *block = fake_block(fake, process);

		for (int i = 0; i < 4 + thread % 2; i++) {
			struct hp_function *f =
				fake_function(fake, block, module, 0x1000 + 64 * (uint64_t)i);
			struct hp_row *row = fake_row(fake, block, NULL, f);
			struct hp_call *ring = fake_take(fake, 7 * sizeof(*ring));

			f->logs = (uint32_t)(fake_at(fake, ring) / HP_LINE);
			for (int call = 0; call < 9; call++) {
				struct hp_call one = { FAKE_START + (uint64_t)rand() % 400,
						       1 + (uint64_t)rand() % 5000,
						       (uint32_t)thread, 0 };

				fake_call(fake, f, row, one.ticks, 0);
				if (call < 7)
					ring[call] = one;
				if (call < HP_SLOWEST)
					f->slowest[call] = one;
			}
			if (i > 1)
				continue;
			/* Together more than a counter holds; and one that has carried already. */
			fake_group(fake, &f->groups[1])[thread] += UINT32_C(0x20000000);
			fake_group(fake, &f->groups[1])[63] += UINT32_C(0x70000000);
			if (thread % 3)
				continue;
			uint32_t *carries = fake_take(fake, HP_GROUP_SIZE * 4);
			f->carries = fake_at(fake, carries);
			fake_group(fake, &carries[1])[62] = 3;
		}
	}
}

/* Table and JSON of the result, joined; NULL with a fault. */
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
	/* No names: programs are not read in either case. */
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

/* As the end of a session keeps it. */
static int keep_thin(const struct fake *fake)
{
	struct hp_segment segment = fake_segment(fake);
	struct hp_model model;
	struct hp_thin thin;
	int fd = file_of("", 0);

	/* The model releases its segment, this one remains. */
	hp_model_init(&model, &segment);
	hp_thin_init(&thin, &model);
	CHECK_EQ(kept_write(fd,
			    &(struct hp_kept_source){ .segment = &model.reader.segment,
						      .header = &model.reader.header,
						      .thin = &thin,
						      .fd = -1,
						      .facts = "" },
			    ""),
		 0);
	hp_thin_release(&thin);
	model.reader.segment = (struct hp_segment)HP_SEGMENT_NONE;
	hp_model_release(&model);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static enum hp_segment_fault fault_of(const void *bytes, size_t size)
{
	int fd = file_of(bytes, size);
	enum hp_segment_fault fault;

	free(report_of(fd, &fault));
	close(fd);
	return fault;
}

/* Special characters at the start, at the end and side by side; bytes of UTF-8. */
TEST(field, any_text_comes_back)
{
	static const char *const texts[] = {
		"", "plain", "\\", "\\x41", "\ta\n", "a\t\t\\b\177", "\001", "\303\244\n\303\244",
	};
	size_t count = sizeof(texts) / sizeof(texts[0]), size;
	char *written, *fields[8];
	FILE *out = open_memstream(&written, &size);

	for (size_t i = 0; i < count; i++) {
		hp_field_write(texts[i], out);
		fputc(i + 1 < count ? '\t' : '\n', out);
	}
	fclose(out);
	for (const char *at = written; *at && *at != '\n'; at++)
		CHECK(*at == '\t' || ((unsigned char)*at >= ' ' && *at != 127));
	char *next = written;
	CHECK_EQ(hp_field_split(&next, fields, count), count);
	for (size_t i = 0; i < count; i++)
		CHECK_STR(fields[i], texts[i]);
	CHECK_STR(next, "");
	free(written);
}

TEST(field, numbers_come_back)
{
	static const uint64_t numbers[] = { 0, 9, 10, 255, 256, UINT64_MAX };
	size_t count = sizeof(numbers) / sizeof(numbers[0]), size;
	char *written, *fields[2];
	FILE *out = open_memstream(&written, &size);

	for (size_t i = 0; i < count; i++) {
		hp_field_write_number(numbers[i], '\t', out);
		hp_field_write_address(numbers[i], 0, out);
		fputc('\n', out);
	}
	fclose(out);
	char *next = written;
	for (size_t i = 0; i < count; i++) {
		CHECK_EQ(hp_field_split(&next, fields, 2), 2);
		CHECK_EQ(hp_field_number(fields[0]), numbers[i]);
		CHECK_EQ(hp_field_address(fields[1]), numbers[i]);
	}
	CHECK_STR(next, "");
	free(written);
}

TEST(kept, has_the_contents_of_the_segment)
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
	CHECK(strstr(text, "cannot be read") == NULL);	/* the program's file is not read */
	free(text);
	close(fd);
}

/* Data that no report shows is left out: so the report is the same, and the file shorter. */
TEST(kept, thinned_it_says_the_same)
{
	enum hp_segment_fault fault;
	struct fake fake;
	char *whole, *thinned;
	int fd;

	build_many(&fake);
	fd = file_of(fake.base, fake_header(&fake)->used);
	whole = report_of(fd, &fault);
	CHECK_EQ(fault, HP_SEGMENT_FINE);
	close(fd);
	fd = keep_thin(&fake);
	thinned = report_of(fd, &fault);
	CHECK_EQ(fault, HP_SEGMENT_FINE);
	CHECK_STR(thinned, whole);
	CHECK(strstr(whole, "\"last_calls\":[{") != NULL);
	free(whole);
	free(thinned);
	size_t all = fake_header(&fake)->used;
	CHECK(unpack(fd, &whole) < all / 2);
	free(whole);
	close(fd);
}

/* A program may have overwritten its segment: it is kept anyway. */
TEST(kept, a_damaged_segment)
{
	struct fake fake;

	build(&fake);
	for (uint64_t i = 40; i < fake_header(&fake)->used; i++) {
		int fd;

		if (i == sizeof(struct hp_header))
			i = HP_PAGE;
		fake.base[i] ^= (char)0xc0;
		fd = keep_thin(&fake);
		close(fd);
		fake.base[i] ^= (char)0xc0;
	}
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

TEST(kept, truncation_is_reported_at_any_length)
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

/*
 * A change is reported, or has no effect: ten bytes of gzip's header reveal nothing of
 * the content.
 */
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

/* A permitted text may be no valid number, or too large a one; lines and fields are missing. */
TEST(kept, texts_of_noise)
{
	static const char pool[] = "ofpklsKLSM~\t\t\t\t\t\n\n\n-m.,0123456789abcdef\\x/";
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
		CHECK_EQ(kept_write(fd,
				    &(struct hp_kept_source){ .segment = &segment,
							      .header = fake_header(&fake),
							      .fd = -1,
							      .facts = text },
				    text),
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
