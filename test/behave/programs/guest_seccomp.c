/* SPDX-License-Identifier: MIT */
/*
 * guest_seccomp.c HOW END - forbids itself all system calls except write
 * and exit_group (by prctl, by syscall, by seccomp's strict mode), calls functions
 * a million times, new ones and deep ones among them, and ends.  `thread`: a
 * looser filter; a thread and a child created later make the calls.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALLOW(number) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL(number) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static volatile unsigned worked;

static __attribute__((noinline)) void work(void)
{
	worked++;
}

static __attribute__((noinline)) unsigned deep(unsigned levels)
{
	return levels ? deep(levels - 1) + 1 : worked;
}

/* 64 functions that were never called before, each a caller of work. */
#define ONE(a, b) \
	static __attribute__((noinline)) void later_##a##b(void) \
	{ \
		worked += a * 8 + b; \
		work(); \
	}
#define EIGHT(a) ONE(a, 0) ONE(a, 1) ONE(a, 2) ONE(a, 3) ONE(a, 4) ONE(a, 5) ONE(a, 6) ONE(a, 7)
/* clang-format off */
EIGHT(0) EIGHT(1) EIGHT(2) EIGHT(3) EIGHT(4) EIGHT(5) EIGHT(6) EIGHT(7)
/* clang-format on */
#define CALL(a) \
	later_##a##0(), later_##a##1(), later_##a##2(), later_##a##3(), later_##a##4(), \
		later_##a##5(), later_##a##6(), later_##a##7()

	static __attribute__((noinline)) void work_hard(void)
{
	CALL(0), CALL(1), CALL(2), CALL(3), CALL(4), CALL(5), CALL(6), CALL(7);
	deep(5000);
	for (int i = 0; i < 1000000 - 64; i++)
		work();
}

static __attribute__((no_instrument_function)) void confine(const char *how)
{
	static struct sock_filter tight[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_write),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	static struct sock_filter loose[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILL(SYS_getpid),
		KILL(SYS_gettid),
		KILL(SYS_getppid),
		KILL(SYS_getrusage),
		KILL(SYS_socket),
		KILL(SYS_readlink),
		KILL(SYS_clock_gettime),
		KILL(SYS_sched_yield),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(tight) / sizeof(tight[0]), tight };

	if (strcmp(how, "thread") == 0)
		program = (struct sock_fprog){ sizeof(loose) / sizeof(loose[0]), loose };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (strcmp(how, "syscall") == 0)
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	else if (strcmp(how, "strict") == 0)
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	else if (strcmp(how, "none") != 0)
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void *in_thread(void *argument)
{
	work_hard();
	return argument;
}

static void in_others(void)
{
	pthread_t thread;
	int status = -1;
	pid_t pid;

	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	pid = fork();
	if (pid == 0) {
		work_hard();
		_exit(7);
	}
	waitpid(pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
		abort();
	/* A child may exec as it could without the library. */
	pid = vfork();
	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	if (status != 0)
		abort();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "none", *end = argc > 2 ? argv[2] : "exit";

	confine(how);
	if (strcmp(how, "thread") == 0)
		in_others();
	work_hard();
	if (write(1, "done\n", 5) != 5)
		return 1;
	if (strcmp(end, "_exit") == 0)
		_exit(3);
	if (strcmp(end, "thread_exit") == 0)
		syscall(SYS_exit, 3);
	exit(3);
}
