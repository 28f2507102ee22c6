// SPDX-License-Identifier: MIT
//
// refuse.c - runs a command under a filter that refuses some system calls, like a
// container's does: refuse NUMBER[,NUMBER]... COMMAND [ARGUMENTS]

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define STEPS 64

static struct sock_filter steps[STEPS];
static unsigned short count;

static void step(unsigned short code, unsigned value, unsigned char if_true, unsigned char if_false)
{
	if (count < STEPS)
		steps[count++] = (struct sock_filter){ code, if_true, if_false, value };
}

int main(int argc, char **argv)
{
	struct sock_fprog program = { .filter = steps };

	if (argc < 3)
		return 125;
	step(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	for (char *at = argv[1]; *at; at += *at == ',') {
		step(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)strtoul(at, &at, 10), 0, 1);
		step(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
	}
	step(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	program.len = count;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("refuse");
		return 125;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
