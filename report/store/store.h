/* SPDX-License-Identifier: MIT */
/*
 * store.h - the folder of kept runs: ${XDG_STATE_HOME:-~/.local/state}/hotpath.
 *
 * Where that cannot be had (no HOME, one of somebody else, nothing can be written there), runs
 * are kept in the spare folder, /var/tmp/hotpath-UID.  It is this user's alone, 0700, or it is not
 * used.  Whoever looks for runs looks in both.
 *
 * Its files are named <time>-<name>-<pid>.hp.gz, time in UTC.  A file is made
 * under a temporary name and renamed when it is complete, so who reads finds
 * whole files only.  Its writer has it locked; a temporary file without a lock is left over
 * from a writer that is gone, and the next run removes it.  What has another name, is a link, or belongs to somebody
 * else is never read as ours, replaced or removed.
 *
 * Folder: report/store - runs that are kept, and where the input of a report
 *   comes from
 * May use: report/section report/section/core report/name report/elf
 *   report/read report/base segment segment/layout
 */
#ifndef HP_REPORT_STORE_STORE_H
#define HP_REPORT_STORE_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define HP_STORE_NAME 128	/* room for a file's name */
#define HP_STORE_BYTES_MOST (UINT64_C(500) << 20)	/* of all files that stay */

struct hp_store {
	int fd;	/* of the folder; -1 = none */
	int spare_fd;	/* of the spare one; -1 = none */
	bool is_moved;	/* the spare folder was just made to take the other one's place */
	char path[PATH_MAX];
	char spare_path[PATH_MAX];
	char failed[PATH_MAX + 128];	/* what is wrong with the usual folder; "" = nothing */
};

struct hp_store_file {
	char name[HP_STORE_NAME];
	bool is_spare;
	uint64_t size;
	struct timespec written;
};

/*
 * To read runs: opens both folders.  Returns 0 if one of them is there, or -errno and then
 * `failed` says why.
 */
int hp_store_open(struct hp_store *store);

/*
 * To keep a run: opens one folder, or makes it, 0700.  The usual one is made if the folder that
 * it is to be in belongs to this user; else it is the spare one.  Returns 0, or -errno and then
 * `failed` says why.
 */
int hp_store_make(struct hp_store *store);
void hp_store_release(struct hp_store *store);

/* The kept runs, the newest first: a fresh array of *count. */
struct hp_store_file *hp_store_list(const struct hp_store *store, size_t *count);

/* True if the name is as those of kept runs are. */
bool hp_store_is_name(const char *name);

/* The parts of such a name. */
uint32_t hp_store_pid(const char *name);
bool hp_store_is_of(const char *name, const char *comm);

/* The name of a run: when it began, its program, its pid. */
void hp_store_name(char name[HP_STORE_NAME], int64_t started_unix_ns, const char *comm,
		   uint32_t pid);

/*
 * A new file, 0600, for what will be `name`; hp_store_finish gives it that name,
 * in place of an earlier file of the same run, or removes it.  Returns a
 * descriptor or -errno, and -errno or 0.
 */
int hp_store_begin(struct hp_store *store, const char *name);
int hp_store_finish(struct hp_store *store, const char *name, int fd, bool is_complete);

/* Removes what is older than the newest `keep` files, or beyond HP_STORE_BYTES_MOST. */
void hp_store_clean(const struct hp_store *store, uint64_t keep, const char *newest);

/* Opens a kept run.  Returns a descriptor or -errno. */
int hp_store_read(const struct hp_store *store, const struct hp_store_file *file);

/* The folder that it is in. */
const char *hp_store_place(const struct hp_store *store, const struct hp_store_file *file);

#endif
