/* SPDX-License-Identifier: MIT */
/*
 * tools.c - other software: the library that reads names, the folder of kept
 * runs, the kernel's CPU samples, and other profilers.
 *
 * Functions, call tree and threads need none of the privileges of perf, and the
 * texts mention it: nobody should weaken a machine's security for nothing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "report/base/capture.h"
#include "report/doctor/check.h"
#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/base/place.h"
#include "report/store/store.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RING (4096 + (256 << 10))	/* the sampler's size, including its control page */

/* --- libraries --- */

enum { LIBRARY_FINE, LIBRARY_LOST };

static size_t look_library(const char *name, struct hp_finding *finding)
{
	void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);

	finding->found = hp_xprintf("%s %s", name, handle ? "is installed" : "is missing");
	if (handle)
		dlclose(handle);
	return handle ? LIBRARY_FINE : LIBRARY_LOST;
}

static size_t look_libdw(struct hp_patient *patient, struct hp_finding *finding)
{
	(void)patient;
	return look_library("libdw.so.1", finding);
}

static size_t look_libunwind(struct hp_patient *patient, struct hp_finding *finding)
{
	(void)patient;
	return look_library("libunwind.so.8", finding);
}

enum { DEBUG_FILES_HERE, DEBUG_FILES_SERVER };

static size_t look_debug_files(struct hp_patient *patient, struct hp_finding *finding)
{
	const char *server = getenv("DEBUGINFOD_URLS");

	(void)patient;
	if (server && *server) {
		finding->found = hp_xprintf("DEBUGINFOD_URLS is set: %s", server);
		return DEBUG_FILES_SERVER;
	}
	finding->found = hp_xstrdup(access("/usr/lib/debug", X_OK) == 0 ? "/usr/lib/debug is there"
									: "no /usr/lib/debug");
	return DEBUG_FILES_HERE;
}

/* --- the folder of kept runs --- */

enum { STATE_FINE, STATE_SPARE, STATE_REFUSED };

/*
 * Could the store create the folder? Creates missing folders and removes them
 * again. Returns 0 or errno.
 */
static int try_folder(const char *folder)
{
	char path[PATH_MAX], *slash;
	struct stat status;
	size_t length = 0;

	snprintf(path, sizeof(path), "%s", folder);
	/* Starts at the missing folder nearest to the root. */
	while (access(path, F_OK) < 0 && (slash = strrchr(path, '/')) > path) {
		length = (size_t)(slash - path);
		*slash = '\0';
	}
	if (stat(path, &status) == 0 && status.st_uid != geteuid())
		return EPERM;
	path[length] = '/';
	if (mkdir(path, 0700) < 0)
		return errno;
	rmdir(path);
	return 0;
}

/* 0, or errno and sets `failed` to why the usual folder is unusable. */
static int check_usual(struct hp_store *store)
{
	int error = 0;

	if (store->fd >= 0)
		error = faccessat(store->fd, ".", W_OK | X_OK, 0) < 0 ? errno : 0;
	else if (store->path[0] && access(store->path, F_OK) < 0 && errno == ENOENT)
		error = try_folder(store->path);
	else
		return EPERM;
	if (error)
		snprintf(store->failed, sizeof(store->failed), "%s: %s", store->path,
			 strerror(error));
	return error;
}

static bool has_spare(const struct hp_store *store)
{
	return store->spare_fd >= 0 ||
	       (access(store->spare_path, F_OK) < 0 && try_folder(store->spare_path) == 0);
}

static size_t look_state(struct hp_patient *patient, struct hp_finding *finding)
{
	struct hp_store store;
	size_t state = STATE_FINE;

	(void)patient;
	hp_store_open(&store);
	if (!check_usual(&store)) {
		finding->found = hp_xprintf("%s can be written", store.path);
	} else if (has_spare(&store)) {
		state = STATE_SPARE;
		finding->found = hp_xprintf("%s; there is %s", store.failed, store.spare_path);
	} else {
		state = STATE_REFUSED;
		finding->found = hp_xstrdup(store.failed);
	}
	hp_store_release(&store);
	return state;
}

/* --- other profilers --- */

enum { PERF_ALL, PERF_USER, PERF_NONE };

/* Opens a sampling event on ourselves, as the sampler does.  Returns a descriptor or -errno. */
static int open_event(bool has_kernel)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
		.sample_type = PERF_SAMPLE_IP,
		.disabled = 1,
		.exclude_kernel = !has_kernel,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Returns 0 or errno. */
static int try_event(bool has_kernel)
{
	int fd = open_event(has_kernel);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -fd : 0;
}

static size_t look_perf(struct hp_patient *patient, struct hp_finding *finding)
{
	char *level = hp_first_line("/proc/sys/kernel/perf_event_paranoid");
	int user = try_event(false), all = try_event(true);

	(void)patient;
	finding->found = hp_xprintf("perf_event_paranoid = %s; perf_event_open: %s",
				    level ? level : "unknown",
				    user  ? strerror(user)
				    : all ? "of user code only"
					  : "of user and kernel code");
	free(level);
	return user ? PERF_NONE : all ? PERF_USER : PERF_ALL;
}

enum { COUNTERS_FINE, COUNTERS_NONE };

/* Opens the counters that the sampler uses besides cycle samples. Returns 0 or errno. */
static int try_counter(uint64_t config)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.read_format = PERF_FORMAT_GROUP,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_READ,
		.sample_period = 1000000,
		.inherit = 1,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? errno : 0;
}

static size_t look_counters(struct hp_patient *patient, struct hp_finding *finding)
{
	static const struct {
		uint64_t config;
		const char *name;
	} counters[] = { { PERF_COUNT_HW_CPU_CYCLES, "cycles" },
			 { PERF_COUNT_HW_INSTRUCTIONS, "instructions" },
			 { PERF_COUNT_HW_CACHE_MISSES, "cache misses" } };

	(void)patient;
	for (size_t i = 0; i < COUNT(counters); i++) {
		int error = try_counter(counters[i].config);

		if (!error)
			continue;
		finding->found = hp_xprintf("no hardware counters: %s: %s", counters[i].name,
					    error == EINVAL ? "not of threads that inherit them"
							    : strerror(error));
		return COUNTERS_NONE;
	}
	finding->found = hp_xstrdup("cycles, instructions, cache misses");
	return COUNTERS_FINE;
}

enum { KALLSYMS_SEEN, KALLSYMS_HIDDEN };

static size_t look_kptr(struct hp_patient *patient, struct hp_finding *finding)
{
	char *level = hp_first_line("/proc/sys/kernel/kptr_restrict");
	char *first = hp_first_line("/proc/kallsyms");
	bool is_seen = first && first[strspn(first, "0")] != ' ';

	(void)patient;
	finding->found = hp_xprintf("kptr_restrict = %s; addresses in /proc/kallsyms are %s",
				    level ? level : "unknown", is_seen ? "shown" : "hidden");
	free(level);
	free(first);
	return is_seen ? KALLSYMS_SEEN : KALLSYMS_HIDDEN;
}

enum { PTRACE_FREE, PTRACE_CHILDREN, PTRACE_NONE };

static size_t look_ptrace(struct hp_patient *patient, struct hp_finding *finding)
{
	char *level = hp_first_line("/proc/sys/kernel/yama/ptrace_scope");
	int scope = level ? atoi(level) : 0;

	(void)patient;
	finding->found = level ? hp_xprintf("yama.ptrace_scope = %s", level)
			       : hp_xstrdup("no yama.ptrace_scope");
	free(level);
	if (scope == 0 || geteuid() == 0)
		return scope < 3 ? PTRACE_FREE : PTRACE_NONE;
	return scope == 1 ? PTRACE_CHILDREN : PTRACE_NONE;
}

enum { MEMLOCK_FINE, MEMLOCK_SMALL };

/* Maps a sample ring for one CPU, as the sampler does. Returns 0 or errno. */
static int try_ring(void)
{
	int fd = open_event(false);

	if (fd < 0)
		return 0;	/* covered by another check */
	void *ring = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int error = ring == MAP_FAILED ? errno : 0;
	if (!error)
		munmap(ring, RING);
	close(fd);
	return error;
}

static size_t look_memlock(struct hp_patient *patient, struct hp_finding *finding)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	char *free_kb = hp_first_line("/proc/sys/kernel/perf_event_mlock_kb");
	struct hp_text_cell cell;
	int error = try_ring();

	(void)patient;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	finding->found =
		hp_xprintf("RLIMIT_MEMLOCK (ulimit -l): %s; perf_event_mlock_kb = %s%s%s",
			   limit.rlim_cur == RLIM_INFINITY ? "no limit"
							   : hp_format_bytes(&cell, limit.rlim_cur),
			   free_kb ? free_kb : "unknown", error ? "; a ring of 256 KiB: " : "",
			   error ? strerror(error) : "");
	free(free_kb);
	return error ? MEMLOCK_SMALL : MEMLOCK_FINE;
}

enum { VALGRIND_FINE, VALGRIND_ALONE };

static size_t look_valgrind(struct hp_patient *patient, struct hp_finding *finding)
{
	char *file;

	if (!hp_place_has_program("valgrind"))
		return HP_NO_OUTCOME;
	file = hp_place_suppressions(patient->folder);
	if (!file) {
		finding->found = hp_xstrdup("hotpath.supp is not installed");
		return VALGRIND_ALONE;
	}
	finding->found = hp_xprintf("suppressions: %s", file);
	finding->remedy = hp_xprintf("valgrind --tool=helgrind --suppressions=%s", file);
	free(file);
	return VALGRIND_FINE;
}

#define WITHOUT "functions, call tree, threads: they do not need it"

static const struct hp_check checks[] = {
	{ "libdw",
	  look_libdw,
	  { [LIBRARY_FINE] = { HP_LEVEL_OK, "names, files and lines in reports", NULL, NULL },
	    [LIBRARY_LOST] = { HP_LEVEL_LIMITED, "counts and times, by module+offset",
			       "names, files and lines in reports", "apt-get install libdw1" } } },
	{ "debug-files",
	  look_debug_files,
	  { [DEBUG_FILES_HERE] = { HP_LEVEL_OK,
				   "debug information in programs, beside them, in /usr/lib/debug",
				   NULL, NULL },
	    [DEBUG_FILES_SERVER] = { HP_LEVEL_OK,
				     "debug information in programs, beside them, in /usr/lib/debug",
				     "debug information of the server in the report at a program's end, and live",
				     "hotpath report asks the server; or install packages with debug files "
				     "(-dbgsym, -debuginfo)" } } },
	{ "state",
	  look_state,
	  { [STATE_FINE] = { HP_LEVEL_OK, "hotpath list and hotpath report: runs are kept", NULL,
			     NULL },
	    [STATE_SPARE] = { HP_LEVEL_LIMITED, "runs are kept in a folder below /var/tmp", NULL,
			      "XDG_STATE_HOME=/a/folder/of/yours" },
	    [STATE_REFUSED] = { HP_LEVEL_LIMITED, "the report at the end of each run",
				"hotpath list, hotpath report without FILE",
				"XDG_STATE_HOME=/a/folder/of/yours" } } },
	{ "perf-events",
	  look_perf,
	  { [PERF_ALL] = { HP_LEVEL_OK, "CPU samples, of user and kernel code", NULL, NULL },
	    [PERF_USER] = { HP_LEVEL_OK, "CPU samples, of user code",
			    "samples of the kernel's code on its behalf",
			    "sysctl kernel.perf_event_paranoid=1" },
	    [PERF_NONE] = { HP_LEVEL_LIMITED, WITHOUT, "CPU samples",
			    "sysctl kernel.perf_event_paranoid=1; in a container also docker run "
			    "--cap-add PERFMON; without any of it HOTPATH_CPU=timer" } } },
	{ "counters",
	  look_counters,
	  { [COUNTERS_FINE] = { HP_LEVEL_OK, "bound: memory-bound, where functions wait for memory",
				NULL, NULL },
	    [COUNTERS_NONE] = { HP_LEVEL_OK, "bound, all other words",
				"memory-bound is never reported",
				"a machine, or a host, that exposes its counters (PMU); Linux 6.12 or later" } } },
	{ "kptr",
	  look_kptr,
	  { [KALLSYMS_SEEN] = { HP_LEVEL_OK, "names of the kernel's functions in samples", NULL,
				NULL },
	    [KALLSYMS_HIDDEN] = { HP_LEVEL_OK, WITHOUT, "names of the kernel's functions in samples",
				  "sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1" } } },
	{ "ptrace",
	  look_ptrace,
	  { [PTRACE_FREE] = { HP_LEVEL_OK, "gdb -p and strace -p beside a profile", NULL, NULL },
	    [PTRACE_CHILDREN] = { HP_LEVEL_OK, WITHOUT,
				  "gdb -p and strace -p on processes other than their children",
				  "sysctl kernel.yama.ptrace_scope=0" },
	    [PTRACE_NONE] = { HP_LEVEL_OK, WITHOUT, "gdb -p and strace -p",
			      "sysctl kernel.yama.ptrace_scope=0; 3 stays until the next boot" } } },
	{ "memlock",
	  look_memlock,
	  { [MEMLOCK_FINE] = { HP_LEVEL_OK, "rings for CPU samples", NULL, NULL },
	    [MEMLOCK_SMALL] = { HP_LEVEL_LIMITED, WITHOUT, "CPU samples",
				"ulimit -l $(ulimit -H -l); or sysctl "
				"kernel.perf_event_mlock_kb=516" } } },
	{ "valgrind",
	  look_valgrind,
	  { [VALGRIND_FINE] = { HP_LEVEL_OK, "memcheck; helgrind and drd with this file",
				"without it they report the library's own atomic accesses as races",
				NULL },
	    [VALGRIND_ALONE] = { HP_LEVEL_OK, "memcheck",
				 "helgrind and drd report the library's own atomic accesses as races",
				 "make install" } } },
	{ "libunwind",
	  look_libunwind,
	  { [LIBRARY_FINE] = { HP_LEVEL_OK, "nothing here needs it", NULL, NULL },
	    [LIBRARY_LOST] = { HP_LEVEL_OK, "nothing here needs it", NULL, NULL } } },
};

const struct hp_check_group hp_check_tools = { "names, kept runs, samples", checks, COUNT(checks) };
