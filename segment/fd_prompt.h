/* SPDX-License-Identifier: MIT */
/*
 * fd_prompt.h - whether the kernel itself answers reads of a file.
 *
 * Another user's file may be on a file system that a process of that user serves
 * (FUSE), or below /proc, where a process that holds a lock may make readers wait:
 * reading it may last forever, and so may fstat(2) and fstatfs(2).
 *
 * System calls only, no malloc.  errno is not kept.
 */
#ifndef HP_SEGMENT_FD_PROMPT_H
#define HP_SEGMENT_FD_PROMPT_H

#include <stdbool.h>
#include <sys/types.h>

/* A regular file of this user's, and no process has to answer for it. Doesn't ask one, either. */
bool hp_fd_is_prompt(int fd, uid_t owner);

#endif
