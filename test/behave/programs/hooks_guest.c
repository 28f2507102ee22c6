/* SPDX-License-Identifier: MIT */
/*
 * hooks_guest.c - prints a program's view of itself: descriptors, signal mask
 * and actions, environment, working directory, limits, timers; the library
 * must not change a byte. With "registers", it calls the hooks as a compiler
 * would not: every register that a call preserves must be unchanged.
 */
#include "hooks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

extern char **environ;

COUNTER(leaf);
SEEN static void leaf(void)
{
	CALLED(leaf);
}

static void show_descriptors(void)
{
	for (int fd = 0; fd < 256; fd++) {
		struct stat status;

		if (fstat(fd, &status) == 0)
			printf("fd %d: mode %o, flags %x, %x\n", fd, status.st_mode & S_IFMT,
			       fcntl(fd, F_GETFD), fcntl(fd, F_GETFL));
	}
	printf("next fd: %d\n", dup(0));
}

static void show_signals(void)
{
	sigset_t set;

	sigprocmask(SIG_SETMASK, NULL, &set);
	for (int i = 1; i < 65; i++) {
		struct sigaction action;

		printf("%d", sigismember(&set, i));
		if (sigaction(i, NULL, &action) == 0)
			printf("%s", action.sa_handler == SIG_DFL   ? "d"
				     : action.sa_handler == SIG_IGN ? "i"
								    : "h");
	}
	sigpending(&set);
	printf("\npending %d, alarm %u\n", sigismember(&set, SIGCHLD), alarm(0));
}

/* HOTPATH_SESSION is ours, and HOTPATH_ and LD_PRELOAD the test's. */
static void show_environment(char **from, const char *name)
{
	int count = 0;

	for (char **e = from; *e; e++) {
		if (strncmp(*e, "HOTPATH_", 8) == 0 || strncmp(*e, "LD_PRELOAD", 10) == 0)
			continue;
		printf("%s %d: %s\n", name, count++, *e);
	}
}

static void show_rest(void)
{
	char path[4096];
	struct itimerval timer;
	int status;

	printf("cwd %s, umask %o, dumpable %d, subreaper", getcwd(path, sizeof(path)), umask(022),
	       prctl(PR_GET_DUMPABLE));
	prctl(PR_GET_CHILD_SUBREAPER, &status);
	printf(" %d, locale %s, nice %d\n", status, setlocale(LC_ALL, NULL),
	       getpriority(PRIO_PROCESS, 0));
	for (int i = 0; i < 3; i++) {
		getitimer((__itimer_which_t)i, &timer);
		printf("timer %d: %ld\n", i, (long)timer.it_value.tv_sec);
	}
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit limit;

		getrlimit((__rlimit_resource_t)i, &limit);
		printf("limit %d: %lx\n", i, (unsigned long)limit.rlim_cur);
	}
	printf("children: %d", (int)waitpid(-1, NULL, __WALL | WNOHANG));
	printf(" %m\n");
}

static char **main_environment;

static void show(long unused)
{
	(void)unused;
	leaf();
	show_descriptors();
	show_signals();
	show_environment(environ, "environ");
	show_environment(main_environment, "main's");
	show_rest();
	setenv("ADDED", "1", 1);
	unsetenv("HOME");
	show_environment(environ, "changed");
}

/* ---- registers ---- */

#ifdef __x86_64__
void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);
int call_kept(void (*hook)(void *, void *), void *function, void *site);

/* Sets the preserved registers, calls, compares: bits of the result are the differences. */
__asm__(".text\n.globl call_kept\n.type call_kept, @function\ncall_kept:\n"
	"\tpush %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n"
	"\tsub $24, %rsp\n\tmov %rdi, %rax\n\tmov %rsi, %rdi\n\tmov %rdx, %rsi\n"
	"\tstmxcsr (%rsp)\n\tfnstcw 4(%rsp)\n"
	"\tmovl $0x7f80, 8(%rsp)\n\tldmxcsr 8(%rsp)\n"	/* round to zero */
	"\tmovw $0x0f7f, 12(%rsp)\n\tfldcw 12(%rsp)\n"
	"\tmov $0x1111, %rbx\n\tmov $0x2222, %rbp\n\tmov $0x3333, %r12\n\tmov $0x4444, %r13\n"
	"\tmov $0x5555, %r14\n\tmov %rsp, %r15\n"
	"\tcall *%rax\n"
	"\txor %eax, %eax\n"
	"\tcmp $0x1111, %rbx\n\tje 1f\n\tor $1, %eax\n1:\tcmp $0x2222, %rbp\n\tje 1f\n\tor $2, %eax\n"
	"1:\tcmp $0x3333, %r12\n\tje 1f\n\tor $4, %eax\n1:\tcmp $0x4444, %r13\n\tje 1f\n\tor $8, %eax\n"
	"1:\tcmp $0x5555, %r14\n\tje 1f\n\tor $16, %eax\n1:\tcmp %rsp, %r15\n\tje 1f\n\tor $32, %eax\n"
	"1:\tstmxcsr 16(%rsp)\n\tmov 16(%rsp), %ecx\n\tand $0xffc0, %ecx\n\tcmp $0x7f80, %ecx\n\tje 1f\n"
	"\tor $64, %eax\n1:\tfnstcw 16(%rsp)\n\tcmpw $0x0f7f, 16(%rsp)\n\tje 1f\n\tor $128, %eax\n"
	"1:\tpushf\n\ttestl $0x400, (%rsp)\n\tpopf\n\tje 1f\n\tor $256, %eax\n"	/* direction flag */
	"1:\tldmxcsr (%rsp)\n\tfldcw 4(%rsp)\n"
	"\tadd $24, %rsp\n\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\tret\n"
	".size call_kept, .-call_kept\n");

static char many[100000];

/* New functions, known ones, timed, sampled and counted calls, deep and flat. */
static void registers(long count)
{
	for (long i = 0; i < count; i++) {
		void *function = many + i * 7919 % 1000 * 16;
		int wrong;

		errno = 1234;
		wrong = call_kept(__cyg_profile_func_enter, function, many);
		if (i % 3)
			wrong |= call_kept(__cyg_profile_func_enter, many + 1, many);
		if (i % 3)
			wrong |= call_kept(__cyg_profile_func_exit, many + 1, many);
		wrong |= call_kept(__cyg_profile_func_exit, function, many);
		if (wrong || errno != 1234) {
			printf("call %ld: %x, errno %d\n", i, wrong, errno);
			exit(1);
		}
	}
	leaf();
}
#endif

int main(int argc, char **argv, char **envp)
{
	static const struct scene scenes[] = {
		{ "show", show },
#ifdef __x86_64__
		{ "registers", registers },
#endif
		{ NULL, NULL },
	};

	main_environment = envp;
	return scene_run(scenes, argc, argv);
}
