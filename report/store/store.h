/* SPDX-License-Identifier: MIT */
/*
 * store.h - the folder of kept runs: ${XDG_STATE_HOME:-~/.local/state}/hotpath.
 *
 * If that is impossible (no HOME, another user's HOME, read-only), runs are
 * kept in the fallback folder, /var/tmp/hotpath-UID. It is only used if this
 * user owns it with mode 0700. Readers search both.
 *
 * Its files are named <time>-<name>-<pid>.hp.gz, time in UTC. A file is created
 * under a temporary name and renamed when complete, so readers only find
 * complete files.  Its writer holds a lock; an unlocked temporary file is left
 * over from a dead writer, and the next run removes it.  Files with other
 * names, links and other users' files are never read as ours, replaced or
 * removed.
 *
 * Folder: report/store - kept runs, and the input of a report
 * May use: report/section report/section/core report/name report/elf report/read report/base
 *   segment segment/layout
 */
#ifndef HP_REPORT_STORE_STORE_H
#define HP_REPORT_STORE_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define HP_STORE_NAME 128	/* most bytes of a file's name */
#define HP_STORE_BYTES_MAX (UINT64_C(500) << 20)	/* of all files that are kept */

struct hp_store {
	int fd;	/* of the folder; -1 = none */
	int spare_fd;	/* of the fallback folder; -1 = none */
	bool is_moved;	/* the fallback folder was just created */
	char path[PATH_MAX];
	char spare_path[PATH_MAX];
	char failed[PATH_MAX + 128];	/* why the usual folder is not used; "" = it is */
};

struct hp_store_file {
	char name[HP_STORE_NAME];
	bool is_spare;
	uint64_t size;
	struct timespec written;
};

/*
 * For reading runs: opens both folders. Returns 0 if one of them exists, or
 * -errno and sets `failed`.
 */
int hp_store_open(struct hp_store *store);

/*
 * For keeping a run: opens one folder or creates it with mode 0700. The usual
 * one is created if this user owns its parent; otherwise the fallback is used.
 * Returns 0, or -errno and sets `failed`.
 */
int hp_store_make(struct hp_store *store);
void hp_store_release(struct hp_store *store);

/* The kept runs, newest first: a fresh array of *count. */
struct hp_store_file *hp_store_list(const struct hp_store *store, size_t *count);

/* True if the name has the form of a kept run's. */
bool hp_store_is_name(const char *name);

/* The parts of such a name. */
uint32_t hp_store_pid(const char *name);
bool hp_store_is_of(const char *name, const char *comm);

/* The name of a run: start time, program, pid. */
void hp_store_name(char name[HP_STORE_NAME], int64_t started_unix_ns, const char *comm,
		   uint32_t pid);

/*
 * A new file, 0600, which will become `name`; hp_store_finish gives it that
 * name, replacing an earlier file of the same run, or removes it.  Returns a
 * descriptor or -errno, and -errno or 0.
 */
int hp_store_begin(struct hp_store *store, const char *name);
int hp_store_finish(struct hp_store *store, const char *name, int fd, bool is_complete);

/* Removes all but the newest `keep` files, and old files beyond HP_STORE_BYTES_MAX in total. */
void hp_store_clean(const struct hp_store *store, uint64_t keep, const char *newest);

/* Opens a kept run.  Returns a descriptor or -errno. */
int hp_store_read(const struct hp_store *store, const struct hp_store_file *file);

/* The run's folder. */
const char *hp_store_place(const struct hp_store *store, const struct hp_store_file *file);

#endif
