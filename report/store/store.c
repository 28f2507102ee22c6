/* SPDX-License-Identifier: MIT */
/*
 * store.c - see store.h.
 *
 * Several sessions may end at once: each cleans up the files that it finds, and
 * a file removed by another one counts as removed. Temporary files of killed
 * writers are removed after a day.
 *
 * The profiled program may have run as root with a user's HOME (sudo -E, a
 * service).  A folder created there by root would lock the user out, so a
 * folder is only created in one that we own.
 */
#include "report/store/store.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/memory.h"

#define SUFFIX ".hp.gz"
#define STAMP_SIZE 16	/* 20261121T210138Z */
#define STALE_S (24 * 3600)
#define COMM_MAX 40
#define SPARE "/var/tmp"
#define BEGIN_TRIES 10

/* --- names --- */

static bool is_stamp(const char *name)
{
	static const char form[] = "ddddddddTddddddZ";

	for (int i = 0; i < STAMP_SIZE; i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)name[i]) : name[i] != form[i])
			return false;
	return name[STAMP_SIZE] == '-';
}

/* The pid in a kept run's name; NULL = not such a name. */
static const char *pid_at(const char *name)
{
	size_t length = strlen(name), suffix = sizeof(SUFFIX) - 1;
	const char *dash;
	size_t digits;

	if (length < STAMP_SIZE + suffix || length >= HP_STORE_NAME || !is_stamp(name) ||
	    strcmp(name + length - suffix, SUFFIX) != 0)
		return NULL;
	dash = strrchr(name, '-');
	digits = strspn(dash + 1, "0123456789");
	return dash > name + STAMP_SIZE && digits && digits <= 10 &&
			       dash + 1 + digits == name + length - suffix
		       ? dash + 1
		       : NULL;
}

bool hp_store_is_name(const char *name)
{
	return pid_at(name) != NULL;
}

uint32_t hp_store_pid(const char *name)
{
	const char *at = pid_at(name);

	return at ? (uint32_t)strtoul(at, NULL, 10) : 0;
}

/* A program's name as used in a file's name. */
static void comm_clean(char clean[COMM_MAX + 1], const char *comm)
{
	size_t i = 0;

	for (; comm[i] && i < COMM_MAX; i++) {
		unsigned char c = (unsigned char)comm[i];

		clean[i] = isalnum(c) || c == '.' || c == '_' || c == '+' ? (char)c : '_';
	}
	clean[i] = 0;
}

bool hp_store_is_of(const char *name, const char *comm)
{
	const char *at = pid_at(name), *start = name + STAMP_SIZE + 1;
	char clean[COMM_MAX + 1];
	size_t length;

	comm_clean(clean, comm);
	length = strlen(clean);
	return at && (size_t)(at - start) == length + 1 && memcmp(start, clean, length) == 0;
}

void hp_store_name(char name[HP_STORE_NAME], int64_t started_unix_ns, const char *comm,
		   uint32_t pid)
{
	time_t seconds = (time_t)(started_unix_ns / 1000000000);
	struct tm parts = { 0 };
	char clean[COMM_MAX + 1];

	comm_clean(clean, comm);
	gmtime_r(&seconds, &parts);
	snprintf(name, HP_STORE_NAME, "%04u%02u%02uT%02u%02u%02uZ-%s-%u" SUFFIX,
		 (unsigned)(parts.tm_year + 1900) % 10000, (unsigned)(parts.tm_mon + 1) % 100,
		 (unsigned)parts.tm_mday % 100, (unsigned)parts.tm_hour % 100,
		 (unsigned)parts.tm_min % 100, (unsigned)parts.tm_sec % 100, clean[0] ? clean : "_",
		 pid);
}

/* A temporary name is hidden by a dot and contains its owner. */
static void temporary_name(char to[HP_STORE_NAME + 16], const char *name)
{
	snprintf(to, HP_STORE_NAME + 16, ".%s.%u", name, (unsigned)getpid());
}

static bool is_temporary(const char *name)
{
	char whole[HP_STORE_NAME];
	const char *dot = strrchr(name, '.');

	if (name[0] != '.' || !dot || dot == name || (size_t)(dot - name) > sizeof(whole))
		return false;
	memcpy(whole, name + 1, (size_t)(dot - name) - 1);
	whole[dot - name - 1] = 0;
	return hp_store_is_name(whole) && dot[1] && !dot[1 + strspn(dot + 1, "0123456789")];
}

/* --- the folder --- */

static int fail(struct hp_store *store, const char *path, const char *why, int error)
{
	snprintf(store->failed, sizeof(store->failed), "%s: %s", path, why ? why : strerror(error));
	hp_store_release(store);
	return -error;
}

/*
 * Sets `path`; false = the environment names none. Only absolute paths count,
 * as in the XDG rules.
 */
static bool find_path(struct hp_store *store)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	int size;

	if (state && *state == '/')
		size = snprintf(store->path, sizeof(store->path), "%s/hotpath", state);
	else if (home && *home == '/')
		size = snprintf(store->path, sizeof(store->path), "%s/.local/state/hotpath", home);
	else
		return false;
	return size < (int)sizeof(store->path);
}

/* `forbidden`: of its mode.  Returns a descriptor, or -errno after `failed` was set. */
static int open_folder(struct hp_store *store, const char *path, mode_t forbidden)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const char *why = NULL;
	struct stat status;
	int error = errno;

	if (fd < 0)
		return fail(store, path,
			    error == ELOOP || error == ENOTDIR ? "is a link or not a folder" : NULL,
			    error);
	if (fstat(fd, &status) < 0)
		error = errno;
	else if (status.st_uid != geteuid())
		why = "belongs to another user";
	else if (status.st_mode & forbidden)
		why = "may be written by others; chmod 700";
	else
		return fd;
	close(fd);
	return fail(store, path, why, why ? EPERM : error);
}

static int open_usual(struct hp_store *store)
{
	store->fd = open_folder(store, store->path, S_IWGRP | S_IWOTH);
	return store->fd < 0 ? store->fd : 0;
}

/* Its name is predictable, so it may belong to another user or be a link. */
static int open_spare(struct hp_store *store)
{
	store->spare_fd = open_folder(store, store->spare_path, S_IRWXG | S_IRWXO);
	return store->spare_fd < 0 ? store->spare_fd : 0;
}

/* Another one is for tests. */
static void store_init(struct hp_store *store)
{
	const char *test = getenv("HOTPATH_TEST_SPARE");

	*store = (struct hp_store){ .fd = -1, .spare_fd = -1 };
	snprintf(store->spare_path, sizeof(store->spare_path), "%s/hotpath-%u", test ? test : SPARE,
		 (unsigned)geteuid());
}

static int init_usual(struct hp_store *store)
{
	store_init(store);
	return find_path(store) ? open_usual(store)
				: fail(store, "HOME", "is not set to an absolute path", ENOENT);
}

int hp_store_open(struct hp_store *store)
{
	int error = init_usual(store), fd = store->fd;
	char failed[sizeof(store->failed)];

	memcpy(failed, store->failed, sizeof(failed));
	store->fd = -1;	/* must not be closed without a fallback folder */
	open_spare(store);
	store->fd = fd;
	memcpy(store->failed, failed, sizeof(failed));
	return store->spare_fd < 0 ? error : 0;
}

/* The nearest existing folder above `path` must be ours. */
static int check_above(struct hp_store *store)
{
	char above[PATH_MAX];
	struct stat status;
	char *slash;

	strcpy(above, store->path);
	for (;;) {
		slash = strrchr(above, '/');
		slash[slash == above] = 0;
		if (stat(above, &status) == 0)
			break;
		if (errno != ENOENT || slash == above)
			return fail(store, above, NULL, errno);
	}
	if (status.st_uid != geteuid())
		return fail(store, above, "belongs to another user", EPERM);
	return 0;
}

static int make_folders(struct hp_store *store)
{
	int error = 0;

	for (char *slash = store->path + 1; !error && slash; slash = strchr(slash + 1, '/')) {
		char kept = *slash;

		if (kept != '/')
			continue;
		*slash = 0;
		if (mkdir(store->path, 0700) < 0 && errno != EEXIST && errno != EROFS)
			error = errno;
		*slash = kept;
	}
	if (!error && mkdir(store->path, 0700) < 0 && errno != EEXIST)
		error = errno;
	return error ? fail(store, store->path, NULL, error) : 0;
}

static int make_usual(struct hp_store *store)
{
	int error = init_usual(store);
	mode_t mask;

	if (error == -ENOENT && store->path[0]) {
		error = check_above(store);
		if (error)
			return error;
		mask = umask(077);
		error = make_folders(store);
		umask(mask);
		error = error ? error : open_usual(store);
	}
	if (!error && faccessat(store->fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return fail(store, store->path, NULL, errno);
	return error;
}

/* The reason against the usual folder is reported in any case. */
static int make_spare(struct hp_store *store, int error)
{
	char first[sizeof(store->failed)];
	size_t length = strlen(store->failed);

	memcpy(first, store->failed, sizeof(first));
	store->is_moved = mkdir(store->spare_path, 0700) == 0;
	if (open_spare(store) == 0) {
		store->fd = store->spare_fd;
		store->spare_fd = -1;
		strcpy(store->path, store->spare_path);
		error = 0;
	} else {
		snprintf(first + length, sizeof(first) - length, "; %.*s",
			 (int)(sizeof(first) - length - 3), store->failed);
	}
	memcpy(store->failed, first, sizeof(first));
	return error;
}

int hp_store_make(struct hp_store *store)
{
	int error = make_usual(store);

	if (error)
		return make_spare(store, error);
	store->failed[0] = 0;	/* it was missing, and now exists */
	return 0;
}

void hp_store_release(struct hp_store *store)
{
	if (store->fd >= 0)
		close(store->fd);
	if (store->spare_fd >= 0)
		close(store->spare_fd);
	store->fd = store->spare_fd = -1;
}

/* --- the files --- */

/* Newest first; for equal times the one that started later. */
static int compare_files(const void *left, const void *right)
{
	const struct hp_store_file *a = left, *b = right;

	if (a->written.tv_sec != b->written.tv_sec)
		return a->written.tv_sec > b->written.tv_sec ? -1 : 1;
	if (a->written.tv_nsec != b->written.tv_nsec)
		return a->written.tv_nsec > b->written.tv_nsec ? -1 : 1;
	return strcmp(b->name, a->name);
}

static bool is_ours(int folder, const char *name, struct stat *status)
{
	return fstatat(folder, name, status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(status->st_mode) && status->st_uid == geteuid();
}

static DIR *open_list(int folder)
{
	/* Not dup: the copies would share their read position. */
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list && fd >= 0)
		close(fd);
	return list;
}

/* True if the writer is gone, and `fd` keeps others from its file. */
static bool is_left(int fd, const struct stat *status)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return true;
	return errno != EWOULDBLOCK && status->st_mtim.tv_sec < time(NULL) - STALE_S;
}

static void clean_temporary(int folder, const char *name)
{
	struct stat status;
	int fd;

	if (!is_temporary(name) || !is_ours(folder, name, &status))
		return;
	fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (is_left(fd, &status))
		unlinkat(folder, name, 0);
	close(fd);
}

static void clean_temporaries(int folder)
{
	DIR *list = open_list(folder);
	struct dirent *entry;

	while (list && (entry = readdir(list)))
		clean_temporary(folder, entry->d_name);
	if (list)
		closedir(list);
}

struct files {
	struct hp_store_file *at;
	size_t count;
	size_t room;
};

static void files_add(struct files *files, int folder, bool is_spare)
{
	DIR *list = folder < 0 ? NULL : open_list(folder);
	struct dirent *entry;

	while (list && (entry = readdir(list))) {
		struct stat status;

		if (!hp_store_is_name(entry->d_name) || !is_ours(folder, entry->d_name, &status))
			continue;
		files->at = hp_xgrow(files->at, files->count, &files->room, sizeof(*files->at));
		files->at[files->count] = (struct hp_store_file){ .is_spare = is_spare,
								  .size = (uint64_t)status.st_size,
								  .written = status.st_mtim };
		strcpy(files->at[files->count++].name, entry->d_name);
	}
	if (list)
		closedir(list);
}

struct hp_store_file *hp_store_list(const struct hp_store *store, size_t *count)
{
	struct files files = { .at = NULL };

	files_add(&files, store->fd, false);
	files_add(&files, store->spare_fd, true);
	if (files.count)
		qsort(files.at, files.count, sizeof(*files.at), compare_files);
	*count = files.count;
	return files.at;
}

/* False if a cleanup was faster and the file is already unlinked. */
static bool lock(int fd)
{
	struct stat status;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return false;
	return fstat(fd, &status) < 0 || status.st_nlink > 0;
}

static int open_new(const struct hp_store *store, const char *temporary)
{
	for (int i = 0; i < BEGIN_TRIES; i++) {
		unlinkat(store->fd, temporary, 0);	/* of a process that had our pid */
		int fd = openat(store->fd, temporary,
				O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
				0600);

		if (fd < 0 || lock(fd))
			return fd;
		close(fd);
	}
	errno = EBUSY;
	return -1;
}

int hp_store_begin(struct hp_store *store, const char *name)
{
	char temporary[HP_STORE_NAME + 16];
	mode_t mask = umask(077);
	int fd;

	clean_temporaries(store->fd);	/* first, since they may be filling the disk */
	temporary_name(temporary, name);
	fd = open_new(store, temporary);
	if (fd < 0)
		fd = fail(store, store->path, NULL, errno);
	umask(mask);
	return fd;
}

int hp_store_finish(struct hp_store *store, const char *name, int fd, bool is_complete)
{
	char temporary[HP_STORE_NAME + 16];
	int held = dup(fd);	/* the lock, until the file has its name */
	int error = 0;

	temporary_name(temporary, name);
	if (close(fd) < 0)
		error = -errno;
	if (is_complete && !error && renameat(store->fd, temporary, store->fd, name) < 0)
		error = -errno;
	if (!is_complete || error)
		unlinkat(store->fd, temporary, 0);
	if (held >= 0)
		close(held);
	return error;
}

void hp_store_clean(const struct hp_store *store, uint64_t keep, const char *newest)
{
	size_t count;
	struct hp_store_file *files = hp_store_list(store, &count);
	uint64_t bytes = 0, kept = 0;

	for (size_t i = 0; i < count; i++) {
		bytes += files[i].size;
		if ((kept < keep && bytes <= HP_STORE_BYTES_MAX) ||
		    strcmp(files[i].name, newest) == 0)
			kept++;
		else
			unlinkat(store->fd, files[i].name, 0);
	}
	free(files);
}

int hp_store_read(const struct hp_store *store, const struct hp_store_file *file)
{
	int fd = openat(file->is_spare ? store->spare_fd : store->fd, file->name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

const char *hp_store_place(const struct hp_store *store, const struct hp_store_file *file)
{
	return file->is_spare ? store->spare_path : store->path;
}
