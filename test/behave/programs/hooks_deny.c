/* SPDX-License-Identifier: MIT */
/*
 * hooks_deny.c - starts a program and lets the kernel deny it something:
 *     hooks_deny LIMIT=VALUE... [memfd=ERRNO] [strict] PROGRAM ARGS...
 * LIMIT is as, fsize, nofile, memlock, nproc, stack; a system call is refused
 * by a seccomp filter with that error number.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	int resource;
	int call;
} denials[] = {
	{ "as", RLIMIT_AS, -1 },	  { "fsize", RLIMIT_FSIZE, -1 },
	{ "nofile", RLIMIT_NOFILE, -1 },  { "memlock", RLIMIT_MEMLOCK, -1 },
	{ "memfd", 0, SYS_memfd_create }, { "socket", 0, SYS_socket },
	{ "clone", 0, SYS_clone },	  { "madvise", 0, SYS_madvise },
	{ "futex", 0, SYS_futex },
};

static int filter(int call, unsigned error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int deny(const char *what)
{
	const char *equals = strchr(what, '=');
	long value = atol(equals + 1);

	for (size_t i = 0; i < sizeof(denials) / sizeof(denials[0]); i++) {
		struct rlimit limit = { (rlim_t)value, (rlim_t)value };

		if (strncmp(denials[i].name, what, (size_t)(equals - what)) != 0)
			continue;
		if (denials[i].call >= 0)
			return filter(denials[i].call, (unsigned)value);
		return setrlimit((__rlimit_resource_t)denials[i].resource, &limit);
	}
	return -1;
}

int main(int argc, char **argv)
{
	char *preload = getenv("TARGET_PRELOAD");

	for (argv++; argc > 1 && strchr(*argv, '='); argv++)
		if (deny(*argv) < 0) {
			perror(*argv);
			return 125;
		}
	if (preload)
		setenv("LD_PRELOAD", preload, 1);
	unsetenv("TARGET_PRELOAD");
	execvp(*argv, argv);
	perror(*argv);
	return 127;
}
