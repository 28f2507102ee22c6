/* SPDX-License-Identifier: MIT */
/*
 * real.h - what we stand in for.  A new one: add a line here, write the stand-in.
 */
#ifndef HP_PRELOAD_REAL_H
#define HP_PRELOAD_REAL_H

#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>

#define HP_REAL_LIST(X) \
	X(int, dlclose, (void *)) \
	X(int, execve, (const char *, char *const[], char *const[])) \
	X(int, execvpe, (const char *, char *const[], char *const[])) \
	X(int, fexecve, (int, char *const[], char *const[])) \
	X(int, posix_spawn, \
	  (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, \
	   char *const[], char *const[])) \
	X(int, posix_spawnp, \
	  (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, \
	   char *const[], char *const[])) \
	X(pid_t, wait4, (pid_t, int *, int, struct rusage *)) \
	X(int, waitid, (idtype_t, id_t, siginfo_t *, int)) \
	X(int, prctl, (int, ...)) \
	X(long, syscall, (long, ...)) \
	X(void, _exit, (int)) \
	X(void, _Exit, (int)) \
	X(void, quick_exit, (int)) \
	X(int, swapcontext, (ucontext_t *, const ucontext_t *)) \
	X(int, setcontext, (const ucontext_t *)) \
	X(void, longjmp, (jmp_buf, int)) \
	X(void, _longjmp, (jmp_buf, int)) \
	X(void, siglongjmp, (sigjmp_buf, int)) \
	X(void, __longjmp_chk, (jmp_buf, int))

struct hp_real {
#define X(ret, name, args) ret(*name) args;
	HP_REAL_LIST(X)
#undef X
};

/* Looks all of them up the first time. */
const struct hp_real *hp_real(void);

#endif
