/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - limits of kernel, clock and container. It tries each feature,
 * since versions and settings do not show the effect of a filter or hypervisor.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "report/doctor/check.h"
#include "report/base/format.h"
#include "report/base/memory.h"
#include "segment/clock.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define READINGS 2000
#define ROUNDS 5
#define FIRST_PID_NAMESPACE 4026531836u	/* of the host (PROC_PID_INIT_INO) */

char *hp_first_line(const char *path)
{
	char text[512];
	FILE *file = fopen(path, "re");

	if (!file)
		return NULL;
	bool is_read = fgets(text, sizeof(text), file) != NULL;
	fclose(file);
	return is_read ? hp_xprintf("%.*s", (int)strcspn(text, "\n"), text) : NULL;
}

/* --- kernel --- */

enum { KERNEL_FINE, KERNEL_NO_STATUS, KERNEL_NO_PIDFD, KERNEL_OLD };

static bool can_wipe_on_fork(void)
{
	void *page =
		mmap(NULL, HP_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return false;
	bool can = madvise(page, HP_PAGE, MADV_WIPEONFORK) == 0;
	munmap(page, HP_PAGE);
	return can;
}

/* PIDFD_GET_INFO, with the smallest struct that it accepts. */
static bool can_tell_status(int pidfd)
{
	uint64_t info[8] = { 0 };

	return ioctl(pidfd, _IOWR(0xFF, 11, info), info) == 0;
}

static size_t look_kernel(struct hp_patient *patient, struct hp_finding *finding)
{
	struct utsname name;
	unsigned major = 0, minor = 0;
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	(void)patient;
	uname(&name);
	finding->found = hp_xprintf("Linux %s", name.release);
	bool has_info = pidfd >= 0 && can_tell_status(pidfd);
	if (pidfd >= 0)
		close(pidfd);
	if (!can_wipe_on_fork())
		return KERNEL_OLD;
	if (pidfd < 0)
		return KERNEL_NO_PIDFD;
	/* 6.13 has the ioctl, 6.15 the exit status. */
	sscanf(name.release, "%u.%u", &major, &minor);
	return has_info && (major > 6 || (major == 6 && minor >= 15)) ? KERNEL_FINE
								      : KERNEL_NO_STATUS;
}

enum { PROC_FINE, PROC_NONE };

static size_t look_proc(struct hp_patient *patient, struct hp_finding *finding)
{
	bool is_there = access("/proc/self/exe", F_OK) == 0;

	(void)patient;
	finding->found = hp_xstrdup(is_there ? "/proc is mounted" : "/proc is not mounted");
	return is_there ? PROC_FINE : PROC_NONE;
}

/* --- clock --- */

enum { CLOCK_COUNTER, CLOCK_KERNEL };

/* ns of one reading: the shortest of several rounds. */
static double cost_of(uint32_t kind)
{
	double least = 1e9;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = hp_clock_raw_ns();

		for (int i = 0; i < READINGS; i++)
			(void)*(volatile uint64_t *)&(uint64_t){ hp_clock_read(kind) };
		double each = (double)(hp_clock_raw_ns() - start) / READINGS;
		least = each < least ? each : least;
	}
	return least;
}

static double ns_per_tick(uint32_t kind)
{
	struct timespec pause = { 0, 5000000 };
	struct hp_moment first = hp_clock_moment(kind), second;

	nanosleep(&pause, NULL);
	second = hp_clock_moment(kind);
	return second.ticks > first.ticks
		       ? (double)(second.ns - first.ns) / (double)(second.ticks - first.ticks)
		       : 1;
}

static size_t look_clock(struct hp_patient *patient, struct hp_finding *finding)
{
	uint32_t kind = hp_clock_choose();
	char *source =
		hp_first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
	double grain = (double)hp_clock_grain(kind) * ns_per_tick(kind);

	(void)patient;
	finding->found = hp_xprintf("%s, %.0f ns a reading, grain %.*f ns%s%s",
				    kind == HP_CLOCK_MONOTONIC_RAW ? "CLOCK_MONOTONIC_RAW"
								   : "the processor's counter",
				    cost_of(kind), grain < 10, grain,
				    source ? "; the kernel uses " : "", source ? source : "");
	free(source);
	return kind == HP_CLOCK_MONOTONIC_RAW ? CLOCK_KERNEL : CLOCK_COUNTER;
}

enum { RSEQ_FINE, RSEQ_NONE };

extern const unsigned int __rseq_size __attribute__((weak));
extern const char *gnu_get_libc_version(void) __attribute__((weak));

static size_t look_rseq(struct hp_patient *patient, struct hp_finding *finding)
{
	bool is_there = false;

	(void)patient;
#if defined(__x86_64__)
	is_there = &__rseq_size && __rseq_size > 0;
#endif
	finding->found =
		hp_xprintf("rseq %s by glibc %s", is_there ? "is registered" : "is not registered",
			   gnu_get_libc_version ? gnu_get_libc_version() : "?");
	return is_there ? RSEQ_FINE : RSEQ_NONE;
}

/* --- container --- */

enum { SECCOMP_NONE, SECCOMP_LETS, SECCOMP_REFUSES };

static void refused_add(char **list, bool is_refused, const char *name)
{
	if (!is_refused)
		return;
	char *longer = hp_xprintf("%s%s%s", *list ? *list : "", *list ? ", " : "", name);
	free(*list);
	*list = longer;
}

/* True if the call was denied; closes anything that it opened. */
static bool is_refused(long fd)
{
	bool is = fd < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS);

	if (fd >= 0)
		close((int)fd);
	return is;
}

/* NULL = everything needed is allowed. */
static char *refused_calls(void)
{
	char *list = NULL;

	refused_add(&list, is_refused(syscall(SYS_memfd_create, "hotpath", MFD_CLOEXEC)),
		    "memfd_create");
	refused_add(&list, is_refused(syscall(SYS_pidfd_open, getpid(), 0)), "pidfd_open");
	refused_add(&list, is_refused(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)), "socket");
	return list;
}

static int seccomp_mode(void)
{
	char line[256];
	int mode = -1;
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			break;
	if (file)
		fclose(file);
	return mode;
}

static size_t look_seccomp(struct hp_patient *patient, struct hp_finding *finding)
{
	int mode = seccomp_mode();
	char *refused = refused_calls();

	(void)patient;
	finding->found = hp_xprintf("%s%s%s",
				    mode == 0	? "no filter"
				    : mode == 2 ? "a filter"
						: "it is unknown whether there is a filter",
				    refused ? "; refused: " : "", refused ? refused : "");
	if (!refused)
		return mode == 0 ? SECCOMP_NONE : SECCOMP_LETS;
	free(refused);
	return SECCOMP_REFUSES;
}

enum { INIT_FINE, INIT_NONE };

/* Programs meant to run as process 1, which are not profiled themselves. */
static bool is_init(const char *comm)
{
	static const char names[] = " systemd init tini tini-static dumb-init docker-init "
				    "podman-init catatonit s6-svscan runit runsvdir openrc-init "
				    "pause finit dinit hotpath hotpath-run ";
	char framed[64];

	snprintf(framed, sizeof(framed), " %s ", comm);
	return strstr(names, framed) != NULL;
}

static size_t look_init(struct hp_patient *patient, struct hp_finding *finding)
{
	struct stat space;
	char *comm = hp_first_line("/proc/1/comm");
	bool is_machine =
		stat("/proc/self/ns/pid", &space) == 0 && space.st_ino == FIRST_PID_NAMESPACE;
	bool is_fine = is_machine || (comm && is_init(comm));

	(void)patient;
	finding->found = hp_xprintf("process 1 is %s%s", comm ? comm : "unknown",
				    is_machine ? ", of the machine itself" : "");
	free(comm);
	return is_fine ? INIT_FINE : INIT_NONE;
}

static const struct hp_check checks[] = {
	{ "kernel",
	  look_kernel,
	  { [KERNEL_FINE] = { HP_LEVEL_OK, "the cause of a program's end is always known", NULL,
			      NULL },
	    [KERNEL_NO_STATUS] = { HP_LEVEL_OK,
				   "the cause of a program's end is known under hotpath run",
				   "exit status and signal with LD_PRELOAD alone",
				   "hotpath run; Linux 6.15 or later" },
	    [KERNEL_NO_PIDFD] = { HP_LEVEL_LIMITED, "functions, call tree, threads",
				  "the exact time of a process's death: the next scan notices it",
				  "Linux 5.3 or later, and a filter that permits pidfd_open" },
	    [KERNEL_OLD] = { HP_LEVEL_FAILED, NULL, "every profile: needs MADV_WIPEONFORK",
			     "Linux 4.14 or later" } } },
	{ "proc",
	  look_proc,
	  { [PROC_FINE] = { HP_LEVEL_OK, "threads; hotpath finds its own parts", NULL, NULL },
	    [PROC_NONE] = { HP_LEVEL_FAILED, NULL, "threads; hotpath does not find its own parts",
			    "mount -t proc proc /proc" } } },
	{ "clock",
	  look_clock,
	  { [CLOCK_COUNTER] = { HP_LEVEL_OK, "times as exact as the grain, at the lowest cost",
				NULL, NULL },
	    [CLOCK_KERNEL] = { HP_LEVEL_LIMITED, "all times, at a higher cost for each timed call",
			       "times of functions shorter than some clock readings",
			       "on a virtual machine: let the host expose the invariant counter; "
			       "otherwise none" } } },
	{ "rseq",
	  look_rseq,
	  { [RSEQ_FINE] = { HP_LEVEL_OK, "stalls in short functions, though not every call is timed",
			    NULL, NULL },
	    [RSEQ_NONE] = { HP_LEVEL_LIMITED, "counts and times",
			    "stalls in calls of short functions that were only counted",
			    "x86-64, glibc 2.35 or later, and no "
			    "GLIBC_TUNABLES=glibc.pthread.rseq=0" } } },
	{ "seccomp",
	  look_seccomp,
	  { [SECCOMP_NONE] = { HP_LEVEL_OK, "every system call that hotpath needs", NULL, NULL },
	    [SECCOMP_LETS] = { HP_LEVEL_OK, "memfd_create, pidfd_open, socket: permitted", NULL,
			       NULL },
	    [SECCOMP_REFUSES] = { HP_LEVEL_LIMITED, "everything that works without them",
				  "see the checks run, preload and kernel",
				  "a filter that permits them: docker run --security-opt "
				  "seccomp=unconfined" } } },
	{ "process-1",
	  look_init,
	  { [INIT_FINE] = { HP_LEVEL_OK, "the report, however a program ends", NULL, NULL },
	    [INIT_NONE] = { HP_LEVEL_LIMITED, "the report of every program but process 1",
			    "the report of process 1, if a signal ends it, since the kernel ends all others with it",
			    "docker run --init, or hotpath-run as the container's entry point" } } },
};

const struct hp_check_group hp_check_kernel = { "kernel, clock and container", checks,
						COUNT(checks) };
