// SPDX-License-Identifier: MIT
/*
 * fault.c - lets calls of ours fail, in builds for tests.
 *
 * fault.S asks here before each call that wrap.list names.  The file $HP_FAULT/PART, shared with
 * the test (sites.py), says which of them fail, and records which were made: a slot for each byte
 * of the part's code that a call may return to. This file makes only direct system calls, once for
 * each image of a process: the call in question may be the very first one.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <unistd.h>

#define SLOTS_AT 4096
#define DIES UINT64_C(0xDEAD)	/* for an error: the process is killed instead, before the call */

struct slot {	/* of calls that return to this place */
	uint32_t calls;
	uint32_t failed;
	uint32_t function;	/* line of wrap.list */
	uint32_t argument;	/* the first one: the number of a system call */
};

struct plan {
	uint64_t size;	/* of the file */
	uint64_t site;	/* offset in the part; 0 = all calls that take memory */
	uint64_t from;	/* first call that fails, from 0 */
	uint64_t to;	/* first call that succeeds again */
	uint64_t error;
	uint64_t seen;	/* calls that take memory */
	uint64_t failed;
};

struct verdict {
	long fails;	/* 0 = the real one is called */
	long result;	/* its replacement result; or the replacement for its second argument, 0 = unchanged */
};

enum kind { HP_int, HP_null, HP_err };

static const unsigned char kinds[] = {
#define X(number, name, kind) [number] = HP_##kind,
#include FAULT_LIST
#undef X
};

enum {
#define X(number, name, kind) AT_##name = number,
#include FAULT_LIST
#undef X
};

extern const char base[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern char **environ;
void hp_refused(void) __attribute__((weak, visibility("hidden")));
static struct plan *plan;

static long raw(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static const char *folder(void)
{
	static const char name[] = "HP_FAULT=";

	for (char **line = environ; line && *line; line++) {
		size_t i = 0;

		while (i < sizeof(name) - 1 && (*line)[i] == name[i])
			i++;
		if (i == sizeof(name) - 1)
			return *line + i;
	}
	return NULL;
}

static struct plan *open_plan(void)
{
	static bool is_tried;
	const char *from = is_tried ? NULL : folder(), *part = "/" FAULT_PART;
	char path[512];
	size_t size = 0;

	if (!from)
		return NULL;
	is_tried = true;
	while (*from && size < sizeof(path) - 64)
		path[size++] = *from++;
	while (*part)
		path[size++] = *part++;
	path[size] = '\0';
	long fd = raw(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return NULL;
	uint64_t bytes = 0;
	raw(SYS_pread64, fd, (long)&bytes, sizeof(bytes), 0, 0, 0);
	long at = raw(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	raw(SYS_close, fd, 0, 0, 0, 0, 0);
	return at < 0 ? NULL : (struct plan *)at;
}

static bool takes_memory(unsigned function, long argument)
{
	switch (function) {
	case AT_syscall:
		return argument == SYS_mmap || argument == SYS_mremap || argument == SYS_mprotect;
	case AT_mmap:
	case AT_malloc:
	case AT_calloc:
	case AT_realloc:
	case AT_reallocarray:
	case AT_strdup:
	case AT_strndup:
	case AT_hp_segment_take:
	case AT_hp_confine_pages:
	case AT_hp_confine_pages_wiped:
		return true;
	default:
		return false;
	}
}

struct verdict hp_fault(unsigned function, uintptr_t to, long argument);

struct verdict hp_fault(unsigned function, uintptr_t to, long argument)
{
	struct verdict verdict = { 0, 0 };
	uint64_t site = to - (uintptr_t)base, number;

	if (!plan)
		plan = open_plan();
	if (!plan || SLOTS_AT + (site + 1) * sizeof(struct slot) > plan->size)
		return verdict;
	struct slot *slot = (struct slot *)((char *)plan + SLOTS_AT) + site;
	slot->function = function;
	slot->argument = (uint32_t)argument;
	number = __atomic_fetch_add(&slot->calls, 1, __ATOMIC_RELAXED);
	if (plan->site == 0) {
		if (!takes_memory(function, argument))
			return verdict;
		number = __atomic_fetch_add(&plan->seen, 1, __ATOMIC_RELAXED);
	} else if (plan->site != site) {
		return verdict;
	}
	if (number < plan->from || number >= plan->to)
		return verdict;
	__atomic_fetch_add(&slot->failed, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&plan->failed, 1, __ATOMIC_RELAXED);
	if (plan->error == DIES)
		raw(SYS_kill, raw(SYS_getpid, 0, 0, 0, 0, 0, 0), SIGKILL, 0, 0, 0, 0);
	/* It counts its refusals itself, so the limit is larger than any possible number. */
	if (function == AT_hp_segment_take) {
		verdict.result = 1L << 60;
		return verdict;
	}
	/* The result of these if they refuse. */
	if (kinds[function] == HP_null && function != AT_hp_memlock_map && hp_refused &&
	    function >= AT_hp_memlock_map)
		hp_refused();
	verdict.fails = 1;
	if (kinds[function] == HP_err) {
		verdict.result = (long)plan->error;
		return verdict;
	}
	verdict.result = kinds[function] == HP_int ? -1 : 0;
	errno = (int)plan->error;
	return verdict;
}
