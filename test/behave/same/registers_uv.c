/* SPDX-License-Identifier: MIT */
/*
 * registers_uv.c - libuv's functions, called with patterns in the registers: see registers.c. It is not loaded, so
 * each returns UV_ENOSYS: arguments do not matter.
 */
#include "registers.h"

#define EACH(X) \
	X(uv_queue_work) \
	X(uv_getaddrinfo) \
	X(uv_getnameinfo) \
	X(uv_random) \
	X(uv_fs_access) \
	X(uv_fs_chmod) \
	X(uv_fs_chown) \
	X(uv_fs_close) \
	X(uv_fs_closedir) \
	X(uv_fs_copyfile) \
	X(uv_fs_fchmod) \
	X(uv_fs_fchown) \
	X(uv_fs_fdatasync) \
	X(uv_fs_fstat) \
	X(uv_fs_fsync) \
	X(uv_fs_ftruncate) \
	X(uv_fs_futime) \
	X(uv_fs_lchown) \
	X(uv_fs_link) \
	X(uv_fs_lstat) \
	X(uv_fs_lutime) \
	X(uv_fs_mkdir) \
	X(uv_fs_mkdtemp) \
	X(uv_fs_mkstemp) \
	X(uv_fs_open) \
	X(uv_fs_opendir) \
	X(uv_fs_read) \
	X(uv_fs_readdir) \
	X(uv_fs_readlink) \
	X(uv_fs_realpath) \
	X(uv_fs_rename) \
	X(uv_fs_rmdir) \
	X(uv_fs_scandir) \
	X(uv_fs_sendfile) \
	X(uv_fs_stat) \
	X(uv_fs_statfs) \
	X(uv_fs_symlink) \
	X(uv_fs_unlink) \
	X(uv_fs_utime) \
	X(uv_fs_write)

#define DECLARE(name) int name(void) __attribute__((weak));
EACH(DECLARE)

void uv(void)
{
#define ONE(name) CALL(name, 0);
	EACH(ONE)
}
