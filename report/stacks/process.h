/* SPDX-License-Identifier: MIT */
/*
 * process.h - the address space of a running process: its mappings and the files
 * in them.
 *
 * Folder: report/stacks - the stacks of all threads of a running process: stops each briefly,
 *   unwinds copies of the stacks, merges equal ones
 * May use: report/base report/elf report/name report/read report/section report/section/core
 *   report/section/wait report/store report/view segment segment/layout util
 *
 * Call frame information is read from the file, not from the process, so the
 * process may continue or end meanwhile. The kernel's vdso has no file and is
 * read from the process at once.
 */
#ifndef HP_REPORT_STACKS_PROCESS_H
#define HP_REPORT_STACKS_PROCESS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/user.h"

#define HP_LOADS_MAX 16

/* A file mapped at one place of the address space. */
struct hp_stack_object {
	char *path;	/* as the process knows it */
	char *file;	/* our path to it, through /proc/PID/root if necessary; NULL = none */
	uint64_t device;
	uint64_t inode;
	int fd;	/* -1 = not open */
	uint64_t size;	/* of the file, bytes */
	uint8_t **pages;	/* pages read so far, by page number */
	uint64_t bias;	/* address in the process = address in the file + bias */
	Elf64_Phdr loads[HP_LOADS_MAX];
	uint32_t load_count;	/* 0 = not an ELF file */
	uint64_t eh_frame_hdr;	/* address in the file; 0 = none */
	uint64_t table;	/* its sorted table: address in the file; 0 = none */
	uint64_t table_count;	/* entries */
	bool is_ours;	/* libhotpath.so */
};

struct hp_stack_map {
	uint64_t begin;
	uint64_t end;
	uint64_t offset;	/* in the file */
	uint32_t object;	/* place in objects, or UINT32_MAX */
	bool is_readable;
	bool is_writable;
	bool is_code;
	bool is_main_stack;
};

/* What changes if the process becomes another program, or another user. */
struct hp_stack_identity {
	uint64_t started;	/* field 22 of /proc/PID/stat: clock ticks since the boot */
	uint64_t stack;	/* field 28: where the main stack begins, which exec changes; 0 = not told, or the first thread has ended */
	struct hp_credentials ids;
};

struct hp_stack_process {
	pid_t pid;
	pid_t mapped;	/* a thread with the memory: the first one may have ended before others */
	int folder;	/* /proc/PID: the kernel never lets it refer to a later process; -1 = not open */
	struct hp_stack_identity identity;
	struct hp_user user;	/* its files are opened with the rights of this user */
	char comm[20];
	struct hp_stack_map *maps;	/* by address */
	size_t map_count;
	struct hp_stack_object *objects;
	size_t object_count;
	size_t object_room;
};

/*
 * `started`: the process's start time; 0 = any. With another one the pid belongs to a later process.
 * Returns 0 or -errno (EACCES, EPERM: not allowed; ESRCH, ENOENT: no such process), then *process holds nothing.
 */
int hp_stack_process_init(struct hp_stack_process *process, pid_t pid, uint64_t started);

/* Rereads the mappings. Objects keep their places. -ESRCH: the process has ended, or is another program or user now. */
int hp_stack_process_refresh(struct hp_stack_process *process);

/*
 * True if the process has not ended, and has neither become another program (exec) nor another
 * user since hp_stack_process_init.
 */
bool hp_stack_process_is_same(const struct hp_stack_process *process);

/*
 * True if `tid` is a thread of this process. While we trace that thread its tid is not given to
 * another one, so the answer remains true.
 */
bool hp_stack_process_has(const struct hp_stack_process *process, pid_t tid);
void hp_stack_process_release(struct hp_stack_process *process);

/* The mapping that contains an address; NULL = none. */
const struct hp_stack_map *hp_stack_process_at(const struct hp_stack_process *process,
					       uint64_t address);

/*
 * Reads from an object's file the `size` bytes mapped at an address of the
 * process. False = not in the file.
 */
bool hp_stack_object_read(struct hp_stack_object *object, uint64_t address, void *bytes,
			  size_t size);

/* Reads bytes of another process. Returns the number up to the first unreadable one, or -errno. */
ssize_t hp_stack_memory_read(pid_t pid, uint64_t address, void *bytes, size_t size);

#endif
