/* SPDX-License-Identifier: MIT */
/*
 * behind.c - a library to be preloaded after ours, with the functions that our stand-ins call.
 * Each calls the real one, and notes if the stack was not aligned as the ABI requires (rsp + 8 is
 * a multiple of 16).
 *
 * behind.h is made by tools.sh: what our library exports and the C library or GLib has, except for
 * our functions that use another one for their work. Processes that end without destructors count
 * in memory that all of them share.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
#define X(name) INDEX_##name,
#include "behind.h"
#undef X
	INDEX_MAX
};

static const char *const names[] = {
#define X(name) #name,
#include "behind.h"
#undef X
};

__attribute__((visibility("hidden"))) void *behind_real[INDEX_MAX];
static unsigned misaligned[INDEX_MAX];
__attribute__((visibility("hidden"))) unsigned *behind_misaligned = misaligned;
static pid_t first;

static __attribute__((constructor)) void share(void)
{
	long shared = syscall(SYS_mmap, 0L, sizeof(misaligned), (long)(PROT_READ | PROT_WRITE),
			      (long)(MAP_SHARED | MAP_ANONYMOUS), -1L, 0L);

	first = (pid_t)syscall(SYS_getpid);
	if (shared == -1)
		return;
	memcpy((void *)shared, misaligned, sizeof(misaligned));
	behind_misaligned = (unsigned *)shared;
}

__attribute__((visibility("hidden"), used)) void *behind_find(long index)
{
	/* A search frees what an earlier, unsuccessful one has left, so this one must be known
	 * before. */
	if (!behind_real[INDEX_free])
		behind_real[INDEX_free] = dlsym(RTLD_NEXT, "free");
	/* These have two versions, and the first one found need not be the current one. An
	 * unsuccessful search allocates. */
	if (strncmp(names[index], "pthread_cond_", 13) == 0 &&
	    strcmp(names[index], "pthread_cond_clockwait") != 0)
		behind_real[index] = dlvsym(RTLD_NEXT, names[index], "GLIBC_2.3.2");
	if (!behind_real[index])
		behind_real[index] = dlsym(RTLD_NEXT, names[index]);
	return behind_real[index];
}

static void say(const char *text)
{
	size_t length = 0;

	while (text[length])
		length++;
	(void)!write(1, text, length);
}

static __attribute__((destructor)) void tell(void)
{
	if (syscall(SYS_getpid) != first)
		return;
	for (int i = 0; i < INDEX_MAX; i++) {
		if (!behind_misaligned[i])
			continue;
		say("stack is not aligned: ");
		say(names[i]);
		say("\n");
	}
}

/* r10 and r11 are free at a call of a C function; nothing else is touched. */
#define X(name) \
	__attribute__((naked, visibility("default"))) void stub_##name(void) __asm__(#name); \
	__attribute__((naked, visibility("default"))) void stub_##name(void) \
	{ \
		__asm__ volatile( \
			"movq %%rsp, %%r11\n\tandl $15, %%r11d\n\tcmpl $8, %%r11d\n\tje 1f\n\t" \
			"movq behind_misaligned(%%rip), %%r10\n\tincl %c0(%%r10)\n" \
			"1:\tmovq behind_real+%c1(%%rip), %%r11\n\ttestq %%r11, %%r11\n\tjz 2f\n\t" \
			"jmp *%%r11\n" \
			"2:\tmovl %2, %%r11d\n\tjmp behind_slow" \
			: \
			: "i"(4 * INDEX_##name), "i"(8 * INDEX_##name), "i"(INDEX_##name)); \
	}
#include "behind.h"
#undef X

/* The first call: every register that may hold arguments is preserved. */
__asm__(".text\nbehind_slow:\n\tpushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\tpushq %rcx\n\tpushq %r8\n\t"
	"pushq %r9\n\tpushq %rax\n\tpushq %rbp\n\tmovq %rsp, %rbp\n\tandq $-16, %rsp\n\t"
	"movq %r11, %rdi\n\tcall behind_find\n\tmovq %rax, %r11\n\tmovq %rbp, %rsp\n\tpopq %rbp\n\t"
	"popq %rax\n\tpopq %r9\n\tpopq %r8\n\tpopq %rcx\n\tpopq %rdx\n\tpopq %rsi\n\tpopq %rdi\n\t"
	"jmp *%r11");
