/* SPDX-License-Identifier: MIT */
/*
 * probe.c - records a process's view of itself: descriptors, signals, environment, limits.
 *
 * As a program it prints that on stdout. Preloaded (after our library, or alone) it writes it into
 * the folder SAME_PROBE for every process that loads it, at its start and at exit. What differs
 * between any two runs (inodes, addresses) is left out, and so are our traces: LD_PRELOAD's entry
 * and the HOTPATH_ variables.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

extern char **environ;

static bool is_program;
static char text[1 << 16];
static size_t used;

/* Nothing here allocates: the program's own allocator may be the subject. */
#define say(...) \
	do { \
		int n_ = snprintf(text + used, sizeof(text) - used, __VA_ARGS__); \
		if (n_ > 0 && used + (size_t)n_ < sizeof(text)) \
			used += (size_t)n_; \
	} while (0)

static void descriptors(void)
{
	for (int fd = 0; fd < 1024; fd++) {
		char link[64], path[512];
		int flags = fcntl(fd, F_GETFD);

		if (flags < 0)
			continue;
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		ssize_t length = readlink(link, path, sizeof(path) - 1);
		path[length > 0 ? length : 0] = 0;
		/* pipe:[123], socket:[123], files of mktemp. */
		char *number = strchr(path, '[');
		if (number && path[0] != '/')
			*number = 0;
		say("fd %d %s flags %x cloexec %d\n", fd, path, fcntl(fd, F_GETFL), flags);
	}
}

static const char *module_of(void *address)
{
	Dl_info info;
	const char *slash;

	if (!dladdr(address, &info) || !info.dli_fname)
		return "?";
	slash = strrchr(info.dli_fname, '/');
	return slash ? slash + 1 : info.dli_fname;
}

static void signal_set(const char *what, const sigset_t *set)
{
	say("%s", what);
	for (int s = 1; s < NSIG; s++)
		if (sigismember(set, s) == 1)
			say(" %d", s);
	say("\n");
}

/* The kernel's view: the C library hides its own signals. */
struct kernel_action {
	void *handler;
	unsigned long flags;
	void *restorer;
	unsigned long mask;
};

static void signals(void)
{
	struct kernel_action action;
	stack_t stack;
	sigset_t set;

	for (int s = 1; s < NSIG; s++) {
		memset(&action, 0, sizeof(action));
		if (syscall(SYS_rt_sigaction, s, NULL, &action, 8) != 0 || !action.handler)
			continue;
		say("signal %d %s flags %lx mask %lx\n", s,
		    action.handler == (void *)SIG_IGN ? "ignored" : module_of(action.handler),
		    action.flags, action.mask);
	}
	sigemptyset(&set);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &set, 8);
	signal_set("blocked", &set);
	sigemptyset(&set);
	sigpending(&set);
	signal_set("pending", &set);
	if (sigaltstack(NULL, &stack) == 0)
		say("signal stack %s %zu\n", stack.ss_flags & SS_DISABLE ? "none" : "set",
		    stack.ss_size);
	for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
		struct itimerval timer;
		if (getitimer(which, &timer) == 0)
			say("timer %d every %ld.%06ld %s\n", which, (long)timer.it_interval.tv_sec,
			    (long)timer.it_interval.tv_usec,
			    timer.it_value.tv_sec || timer.it_value.tv_usec ? "armed" : "off");
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_ours(const char *entry)
{
	return strncmp(entry, "HOTPATH_", 8) == 0 || strncmp(entry, "LD_PRELOAD=", 11) == 0;
}

static void environment(void)
{
	static char *sorted[4096];
	size_t count = 0;

	for (char **e = environ; e && *e && count < 4096; e++)
		if (!is_ours(*e))
			sorted[count++] = *e;
	qsort(sorted, count, sizeof(*sorted), by_text);
	for (size_t i = 0; i < count; i++)
		say("env %s\n", sorted[i]);
}

/* Lines of /proc/self/status that are the same in all runs. */
static void status(void)
{
	static const char *const names[] = {
		"Umask:", "NoNewPrivs:", "Seccomp:",	  "Threads:",	  "CapEff:",	  "CapPrm:",
		"Uid:",	  "Gid:",	 "Cpus_allowed:", "CoreDumping:", "THP_enabled:", "VmLck:"
	};
	static char buffer[8192];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, buffer, sizeof(buffer) - 1);

	if (fd >= 0)
		close(fd);
	buffer[length > 0 ? length : 0] = 0;
	for (char *line = strtok(buffer, "\n"); line; line = strtok(NULL, "\n"))
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (strncmp(line, names[i], strlen(names[i])) == 0)
				say("%s\n", line);
}

static void limits(void)
{
	for (int which = 0; which < RLIM_NLIMITS; which++) {
		struct rlimit limit;
		if (getrlimit(which, &limit) == 0)
			say("limit %d %lx %lx\n", which, (long)limit.rlim_cur,
			    (long)limit.rlim_max);
	}
}

static void rest(void)
{
	char buffer[4096];
	int value = 0;

	say("cwd %s\n", getcwd(buffer, sizeof(buffer)) ? buffer : "?");
	say("nice %d\n", getpriority(PRIO_PROCESS, 0));
	say("policy %d\n", sched_getscheduler(0));
	say("dumpable %d keepcaps %d slack %d securebits %d thp %d\n", prctl(PR_GET_DUMPABLE),
	    prctl(PR_GET_KEEPCAPS), prctl(PR_GET_TIMERSLACK), prctl(PR_GET_SECUREBITS),
	    prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
	prctl(PR_GET_PDEATHSIG, &value);
	say("parent's death %d\n", value);
	prctl(PR_GET_CHILD_SUBREAPER, &value);
	say("subreaper %d\n", value);
	prctl(PR_GET_NAME, buffer);
	say("name %s\n", buffer);
	say("personality %lx\n", syscall(SYS_personality, 0xffffffff));
#ifdef __x86_64__
	unsigned mxcsr;
	unsigned short control;
	__asm__("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(control));
	say("mxcsr %x x87 %x\n", mxcsr & ~0x3fu, control);
#endif
	say("locale %s\n", setlocale(LC_ALL, NULL));
}

static void look(const char *when)
{
	char name[64] = "", path[512];

	prctl(PR_GET_NAME, name);
	/* `hotpath run` is its own program, and has this library, too. */
	if (strncmp(name, "hotpath", 7) == 0)
		return;
	used = 0;
	say("%s\n", when);
	descriptors();
	signals();
	environment();
	status();
	limits();
	rest();
	if (is_program) {
		(void)!write(1, text, used);
		return;
	}
	const char *folder = getenv("SAME_PROBE");
	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/%s-%d", folder, when, (int)syscall(SYS_getpid));
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd >= 0) {
		(void)!write(fd, text, used);
		close(fd);
	}
}

#ifdef PROBE_LIBRARY
/* The program's errno, and its exceptions, are its own. */
static __attribute__((constructor)) void at_start(void)
{
	int saved = errno;
	look("start");
	errno = saved;
}

static __attribute__((destructor)) void at_end(void)
{
	look("end");
}
#else
int main(void)
{
	is_program = true;
	look("now");
	return 0;
}
#endif
