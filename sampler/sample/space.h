/* SPDX-License-Identifier: MIT */
/*
 * space.h - the code mapped in each sampled process.
 *
 * Filled from the kernel's records (a mapping made, a process forked, an image
 * started) and, for older state, from /proc/PID/maps.  Files are opened at
 * the first sample in them, through /proc/PID/root, to get the running one:
 * from another mount namespace, or deleted since.
 */
#ifndef HP_SAMPLER_SAMPLE_SPACE_H
#define HP_SAMPLER_SAMPLE_SPACE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampler/sample/tree.h"
#include "unwind/cfi.h"

#define HP_SPACE_BUCKETS 1024
#define HP_CODE_LOADS 16

/* A file with code, the vdso, or code without a file. */
struct hp_code {
	struct hp_code *next;	/* of its bucket */
	char *path;
	uint64_t device;
	uint64_t inode;
	uint32_t object;	/* offset / HP_LINE of its hp_object; 0 = the segment is full */
	uint32_t load_count;	/* 0 = addresses are plain ones */
	Elf64_Phdr loads[HP_CODE_LOADS];
	struct hp_cfi cfi;	/* header NULL = no information */
	uint64_t bias;	/* an address in our process: address + bias */
	void *span;	/* of our address space, as large as the file's code and data */
	size_t span_size;
};

struct hp_map_entry {
	uint64_t begin;
	uint64_t end;
	uint64_t offset;	/* in the file */
	struct hp_code *code;
};

struct hp_space {
	struct hp_space *next;	/* of its bucket */
	uint32_t pid;
	uint32_t count;
	uint32_t room;
	bool is_whole;	/* all mappings are known: from /proc or from records */
	bool is_ended;
	uint64_t foreign_ns;	/* after its end: when it was found not to be of the session; 0 = not asked */
	bool is_ours;	/* we started it, or it is another session's helper: not part of this one */
	bool is_shut;	/* only a record claims that this process exists: nothing of it is read */
	uint64_t mapped;	/* changes with the mappings, and never repeats */
	uint64_t read_again_ns;	/* /proc is not read before */
	uint64_t image;	/* hp_process.start_ticks, if it takes samples itself; else 0 */
	struct hp_map_entry *maps;	/* by address */
};

struct hp_spaces {
	const struct hp_segment *segment;
	uint32_t count;
	uint32_t ended;
	uint64_t mapped;	/* the newest number given to a space */
	uint32_t kernel;	/* its object; 0 = not found yet */
	uint32_t self;	/* our own pid: its children are ours */
	bool has_others;	/* a process with fewer rights than ours was found */
	struct hp_space *buckets[HP_SPACE_BUCKETS];
	struct hp_code *codes[HP_SPACE_BUCKETS];
};

void hp_spaces_init(struct hp_spaces *spaces, const struct hp_segment *segment);
void hp_spaces_release(struct hp_spaces *spaces);

/* The space of a process, found or created (empty); NULL = no memory. */
struct hp_space *hp_space_of(struct hp_spaces *spaces, uint32_t pid);

/* NULL = the process is unknown. */
struct hp_space *hp_space_known(const struct hp_spaces *spaces, uint32_t pid);

/* False for unknown processes, too. */
bool hp_space_is_ours(const struct hp_spaces *spaces, uint32_t pid);

/* Records were lost: processes may have ended without one. */
void hp_spaces_check(struct hp_spaces *spaces);

/* Updates from the kernel's records. */
void hp_space_fork(struct hp_spaces *spaces, uint32_t pid, uint32_t parent);
void hp_space_exec(struct hp_spaces *spaces, uint32_t pid);
void hp_space_end(struct hp_spaces *spaces, uint32_t pid);
void hp_space_map(struct hp_spaces *spaces, uint32_t pid, const struct hp_map_entry *where,
		  const char *path, uint64_t device, uint64_t inode);

/*
 * The mapping at an address; reads /proc/PID/maps if it is unknown. NULL =
 * none.
 */
const struct hp_map_entry *hp_space_find(struct hp_spaces *spaces, struct hp_space *space,
					 uint64_t address);

/* The same from known mappings only: nothing is read. */
const struct hp_map_entry *hp_space_entry(const struct hp_space *space, uint64_t address);

/* The place of an address, with `entry` as found. */
struct hp_place hp_space_place(const struct hp_map_entry *entry, uint64_t address);

/* The user who may have named a file, if the process is unknown. */
struct hp_user hp_spaces_user(const struct hp_spaces *spaces);

/* The object of a file identified by its path and build-id (size 0 = none). */
uint32_t hp_spaces_object(struct hp_spaces *spaces, const char *path, const uint8_t *build_id,
			  size_t size);

/* The object of the kernel's code. */
uint32_t hp_spaces_kernel(struct hp_spaces *spaces);

#endif
