/* SPDX-License-Identifier: MIT */
/*
 * behind.c - a library to be preloaded behind ours: how functions are called by who stands in for them. Each
 * passes on to the real one, and notes if the stack was not aligned, as the ABI asks (rsp + 8 is a multiple of 16).
 * */
#include <dlfcn.h>
#include <stdint.h>
#include <unistd.h>

/* clang-format off */
#define FUNCTIONS(X) \
	X(malloc) \
	X(free) \
	X(calloc) \
	X(realloc) \
	X(posix_memalign) \
	X(aligned_alloc) \
	X(memalign) \
	X(valloc) \
	X(malloc_usable_size) \
	X(pthread_mutex_init) \
	X(pthread_mutex_lock) \
	X(pthread_mutex_trylock) \
	X(pthread_mutex_timedlock) \
	X(pthread_mutex_unlock) \
	X(pthread_cond_timedwait) \
	X(pthread_cond_signal) \
	X(pthread_cond_broadcast) \
	X(pthread_rwlock_rdlock) \
	X(pthread_rwlock_unlock) \
	X(pthread_spin_lock) \
	X(pthread_spin_unlock) \
	X(sem_wait) \
	X(sem_trywait) \
	X(sem_timedwait) \
	X(sem_post) \
	X(pthread_once) \
	X(pthread_join) \
	X(wait4) \
	X(waitid) \
	X(posix_spawnp) \
	X(execve) \
	X(execvpe) \
	X(prctl) \
	X(fcntl) \
	X(flock) \
	X(mlockall) \
	X(munlockall) \
	X(read) \
	X(write) \
	X(readv) \
	X(send) \
	X(recv) \
	X(sendto) \
	X(recvfrom) \
	X(sendmsg) \
	X(recvmsg) \
	X(poll) \
	X(close) \
	X(dup) \
	X(dup2)
/* clang-format on */

enum {
#define X(name) INDEX_##name,
	FUNCTIONS(X)
#undef X
		INDEX_MOST
};

static const char *const names[] = {
#define X(name) #name,
	FUNCTIONS(X)
#undef X
};

__attribute__((visibility("hidden"))) void *behind_real[INDEX_MOST];
__attribute__((visibility("hidden"))) unsigned behind_misaligned[INDEX_MOST];

__attribute__((visibility("hidden"), used)) void *behind_find(long index)
{
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
	for (int i = 0; i < INDEX_MOST; i++) {
		if (!behind_misaligned[i])
			continue;
		say("stack is not aligned: ");
		say(names[i]);
		say("\n");
	}
}

/* r11 is nobody's at a call; nothing else is touched. */
#define X(name) \
	__attribute__((naked, visibility("default"))) void stub_##name(void) __asm__(#name); \
	__attribute__((naked, visibility("default"))) void stub_##name(void) \
	{ \
		__asm__ volatile( \
			"movq %%rsp, %%r11\n\tandl $15, %%r11d\n\tcmpl $8, %%r11d\n\tje 1f\n\t" \
			"incl behind_misaligned+%c0(%%rip)\n" \
			"1:\tmovq behind_real+%c1(%%rip), %%r11\n\ttestq %%r11, %%r11\n\tjz 2f\n\t" \
			"jmp *%%r11\n" \
			"2:\tmovl %2, %%r11d\n\tjmp behind_slow" \
			: \
			: "i"(4 * INDEX_##name), "i"(8 * INDEX_##name), "i"(INDEX_##name)); \
	}
FUNCTIONS(X)

/* The first call: all that arguments may be in is kept. */
__asm__(".text\nbehind_slow:\n\tpushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\tpushq %rcx\n\tpushq %r8\n\t"
	"pushq %r9\n\tpushq %rax\n\tpushq %rbp\n\tmovq %rsp, %rbp\n\tandq $-16, %rsp\n\t"
	"movq %r11, %rdi\n\tcall behind_find\n\tmovq %rax, %r11\n\tmovq %rbp, %rsp\n\tpopq %rbp\n\t"
	"popq %rax\n\tpopq %r9\n\tpopq %r8\n\tpopq %rcx\n\tpopq %rdx\n\tpopq %rsi\n\tpopq %rdi\n\t"
	"jmp *%r11");
