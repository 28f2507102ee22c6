/* SPDX-License-Identifier: MIT */
/*
 * uv.h - the functions of libuv that we interpose: those that start a request and call back.  Its
 * headers are not needed: objects are addresses here.
 *
 * X(result, name, types); in HP_UV_FS_LIST also the parameters and arguments between the request
 * and the callback.
 */
#ifndef HP_PRELOAD_FUTURE_UV_H
#define HP_PRELOAD_FUTURE_UV_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hp_uv_loop;
struct hp_uv_request;

#define HP_UV_ENOSYS (-38)
#define HP_UV_ECANCELED (-125)

typedef void (*hp_uv_work)(struct hp_uv_request *);
typedef void (*hp_uv_after_work)(struct hp_uv_request *, int status);
typedef void (*hp_uv_fs_done)(struct hp_uv_request *);
typedef void (*hp_uv_address_done)(struct hp_uv_request *, int status, void *found);
typedef void (*hp_uv_name_done)(struct hp_uv_request *, int status, const char *host,
				const char *service);
typedef void (*hp_uv_random_done)(struct hp_uv_request *, int status, void *bytes, size_t size);

#define HP_UV_LIST(X) \
	X(int, uv_queue_work, \
	  (struct hp_uv_loop *, struct hp_uv_request *, hp_uv_work, hp_uv_after_work)) \
	X(int, uv_getaddrinfo, \
	  (struct hp_uv_loop *, struct hp_uv_request *, hp_uv_address_done, const char *, \
	   const char *, const void *)) \
	X(int, uv_getnameinfo, \
	  (struct hp_uv_loop *, struct hp_uv_request *, hp_uv_name_done, const void *, int)) \
	X(int, uv_random, \
	  (struct hp_uv_loop *, struct hp_uv_request *, void *, size_t, unsigned, \
	   hp_uv_random_done))

/* The functions of files: all take loop, request, their own arguments, callback. */
#define HP_UV_FS_LIST(X) \
	X(int, uv_fs_access, (const char *path, int mode), (path, mode)) \
	X(int, uv_fs_chmod, (const char *path, int mode), (path, mode)) \
	X(int, uv_fs_chown, (const char *path, uid_t user, gid_t group), (path, user, group)) \
	X(int, uv_fs_close, (int fd), (fd)) \
	X(int, uv_fs_closedir, (void *folder), (folder)) \
	X(int, uv_fs_copyfile, (const char *path, const char *to, int flags), (path, to, flags)) \
	X(int, uv_fs_fchmod, (int fd, int mode), (fd, mode)) \
	X(int, uv_fs_fchown, (int fd, uid_t user, gid_t group), (fd, user, group)) \
	X(int, uv_fs_fdatasync, (int fd), (fd)) \
	X(int, uv_fs_fstat, (int fd), (fd)) \
	X(int, uv_fs_fsync, (int fd), (fd)) \
	X(int, uv_fs_ftruncate, (int fd, int64_t size), (fd, size)) \
	X(int, uv_fs_futime, (int fd, double accessed, double modified), (fd, accessed, modified)) \
	X(int, uv_fs_lchown, (const char *path, uid_t user, gid_t group), (path, user, group)) \
	X(int, uv_fs_link, (const char *path, const char *to), (path, to)) \
	X(int, uv_fs_lstat, (const char *path), (path)) \
	X(int, uv_fs_lutime, (const char *path, double accessed, double modified), \
	  (path, accessed, modified)) \
	X(int, uv_fs_mkdir, (const char *path, int mode), (path, mode)) \
	X(int, uv_fs_mkdtemp, (const char *name), (name)) \
	X(int, uv_fs_mkstemp, (const char *name), (name)) \
	X(int, uv_fs_open, (const char *path, int flags, int mode), (path, flags, mode)) \
	X(int, uv_fs_opendir, (const char *path), (path)) \
	X(int, uv_fs_read, (int fd, const void *parts, unsigned count, int64_t at), \
	  (fd, parts, count, at)) \
	X(int, uv_fs_readdir, (void *folder), (folder)) \
	X(int, uv_fs_readlink, (const char *path), (path)) \
	X(int, uv_fs_realpath, (const char *path), (path)) \
	X(int, uv_fs_rename, (const char *path, const char *to), (path, to)) \
	X(int, uv_fs_rmdir, (const char *path), (path)) \
	X(int, uv_fs_scandir, (const char *path, int flags), (path, flags)) \
	X(int, uv_fs_sendfile, (int to, int from, int64_t at, size_t size), (to, from, at, size)) \
	X(int, uv_fs_stat, (const char *path), (path)) \
	X(int, uv_fs_statfs, (const char *path), (path)) \
	X(int, uv_fs_symlink, (const char *path, const char *to, int flags), (path, to, flags)) \
	X(int, uv_fs_unlink, (const char *path), (path)) \
	X(int, uv_fs_utime, (const char *path, double accessed, double modified), \
	  (path, accessed, modified)) \
	X(int, uv_fs_write, (int fd, const void *parts, unsigned count, int64_t at), \
	  (fd, parts, count, at))

#endif
