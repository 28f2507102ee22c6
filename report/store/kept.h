/* SPDX-License-Identifier: MIT */
/*
 * kept.h - one run in one file: its segment, the names of its addresses and the
 * facts about the run, so that it reads the same after the program was rebuilt
 * or on another machine.
 *
 * doc/internals/files.md has the format by the byte.  It is a gzip stream:
 * zlib's checksum detects corruption, and everything is packed and unpacked in
 * one pass.
 */
#ifndef HP_REPORT_STORE_KEPT_H
#define HP_REPORT_STORE_KEPT_H

#include <stddef.h>
#include <stdint.h>

#include "report/store/thin.h"
#include "segment/segment.h"

#define HP_KEPT_MAGIC UINT64_C(0x31305450454b5048)	/* "HPKEPT01", little endian */
#define HP_KEPT_VERSION 1
#define HP_KEPT_BYTES_MAX (UINT64_C(2) << 30)	/* unpacked, of the segment */
#define HP_KEPT_NAMES_MAX (UINT64_C(256) << 20)
#define HP_KEPT_FACTS_MAX (UINT64_C(1) << 20)

enum hp_kept_kind {
	HP_KEPT_FACTS = 1,	/* text: lines of fields, see report/section/core/facts.h */
	HP_KEPT_NAMES = 2,	/* text: lines of fields, see report/name/legend.h */
	HP_KEPT_BYTES = 3,	/* of the segment; bytes in no piece are 0 */
	HP_KEPT_END = 4,	/* the last piece; without it the file is truncated */
	HP_KEPT_MAY_SKIP = 256,	/* kinds from here on may be skipped by a reader */
};

/* Each piece of the file: this, then `size` bytes. */
struct hp_kept_piece {
	uint32_t kind;	/* enum hp_kept_kind */
	uint32_t size;
};

/* The data to write. */
struct hp_kept_source {
	const struct hp_segment *segment;	/* its used part */
	const struct hp_header *header;	/* written instead of the existing one */
	const struct hp_thin *thin;	/* omitted lines; NULL = none */
	int fd;	/* of the segment, to find holes; -1 = none */
	const char *facts;
};

/* The data read. For a plain segment `facts` and `names` are NULL. */
struct hp_kept {
	struct hp_segment segment;	/* in private memory */
	char *facts;
	char *names;
};

struct hp_kept_writer;

/*
 * Writes facts, segment and names to `fd` at its current position, and does not
 * close it. Another thread may write the segment. The caller keeps `source`.
 * NULL = no memory or no descriptor.
 */
struct hp_kept_writer *hp_kept_begin(int fd, const struct hp_kept_source *source);
void hp_kept_segment(struct hp_kept_writer *writer);

/* Frees the writer.  Returns 0 or the first -errno. */
int hp_kept_end(struct hp_kept_writer *writer, const char *names);

/*
 * Reads a kept file, or a whole segment from a pipe, packed or not. The caller
 * keeps the descriptor. On a fault `kept` holds nothing.
 */
enum hp_segment_fault hp_kept_read(struct hp_kept *kept, int fd);

/* Reads only the facts, which come first: a fresh text; NULL = not a kept file. */
char *hp_kept_facts(int fd);

void hp_kept_release(struct hp_kept *kept);

#endif
