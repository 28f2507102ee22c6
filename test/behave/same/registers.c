/* SPDX-License-Identifier: MIT */
/*
 * registers.c - registers across a call: rbx, rbp, r12 to r15, rsp, the direction flag, rounding
 * and exception masks of SSE and x87; and errno, which is printed where it changes.  Each function
 * that may be interposed is called with patterns in all of them, with al = 0 and 8 as callers of
 * variadic functions may have it. This file calls all functions; behind.c checks the other end.
 *
 * exports.h lists the library's exports (tools.sh asks nm): an export that is not called here
 * is an error.
 */
#include "registers.h"

#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

void __cxa_finalize(void *object);

/* The call's state, by offsets that the code below knows. */
static struct {
	uint64_t function;	/* 0 */
	uint64_t args[6];	/* 8 */
	uint64_t al;	/* 56 */
	uint64_t saved[7];	/* 64: rbx rbp r12 r13 r14 r15 rsp of the caller */
	uint64_t found[7];	/* 120: after the call */
	uint64_t result;	/* 176 */
	uint32_t mxcsr, mxcsr_found;	/* 184, 188 */
	uint16_t control, control_found;	/* 192, 194 */
	uint32_t mxcsr_saved;	/* 196 */
	uint16_t control_saved, unused;	/* 200 */
	uint32_t unused2;
	uint64_t flags;	/* 208; for a jump: the function that saves */
	uint64_t buffer;	/* 216: where to */
} state;

static const uint64_t patterns[6] = { 0x1111111111111111, 0x2222222222222222, 0x3333333333333333,
				      0x4444444444444444, 0x5555555555555555, 0x6666666666666666 };

/* Our own state is at a fixed address, so nothing is needed in registers across the call. */
static __attribute__((noinline, naked)) void call_with_patterns(void)
{
	__asm__ volatile(
		"movq %%rbx, 64+%0\n\tmovq %%rbp, 72+%0\n\tmovq %%r12, 80+%0\n\t"
		"movq %%r13, 88+%0\n\tmovq %%r14, 96+%0\n\tmovq %%r15, 104+%0\n\t"
		"movq %%rsp, 112+%0\n\t"
		"stmxcsr 196+%0\n\tfnstcw 200+%0\n\tldmxcsr 184+%0\n\tfldcw 192+%0\n\t"
		"movq 8+%0, %%rdi\n\tmovq 16+%0, %%rsi\n\tmovq 24+%0, %%rdx\n\t"
		"movq 32+%0, %%rcx\n\tmovq 40+%0, %%r8\n\tmovq 48+%0, %%r9\n\t"
		"movq 56+%0, %%rax\n\t"
		"movabsq $0x1111111111111111, %%rbx\n\tmovabsq $0x2222222222222222, %%rbp\n\t"
		"movabsq $0x3333333333333333, %%r12\n\tmovabsq $0x4444444444444444, %%r13\n\t"
		"movabsq $0x5555555555555555, %%r14\n\tmovabsq $0x6666666666666666, %%r15\n\t"
		"subq $8, %%rsp\n\t"
		"call *%0\n\t"
		"pushfq\n\tpopq 208+%0\n\tcld\n\t"
		"addq $8, %%rsp\n\t"
		"movq %%rbx, 120+%0\n\tmovq %%rbp, 128+%0\n\tmovq %%r12, 136+%0\n\t"
		"movq %%r13, 144+%0\n\tmovq %%r14, 152+%0\n\tmovq %%r15, 160+%0\n\t"
		"movq %%rsp, 168+%0\n\tmovq %%rax, 176+%0\n\t"
		"stmxcsr 188+%0\n\tfnstcw 194+%0\n\tldmxcsr 196+%0\n\tfldcw 200+%0\n\t"
		"movq 64+%0, %%rbx\n\tmovq 72+%0, %%rbp\n\tmovq 80+%0, %%r12\n\t"
		"movq 88+%0, %%r13\n\tmovq 96+%0, %%r14\n\tmovq 104+%0, %%r15\n\t"
		"movq 112+%0, %%rsp\n\tret"
		:
		: "m"(state));
}

/*
 * The library's exports, and whether they were called; other symbols are not looked
 * up.
 */
static struct {
	const char *name;
	int is_called;
} exports[] = {
#define X(name) { #name, 0 },
#include "exports.h"
#undef X
};

static int calls, bad;

int wrong_calls(void)
{
	return bad;
}

static void mark(const char *name)
{
	calls++;
	for (unsigned i = 0; i < sizeof(exports) / sizeof(*exports); i++)
		if (strcmp(exports[i].name, name) == 0)
			exports[i].is_called = 1;
}

static int not_called(void)
{
	int count = 0;

	for (unsigned i = 0; i < sizeof(exports) / sizeof(*exports); i++) {
		if (exports[i].is_called)
			continue;
		printf("not called here: %s\n", exports[i].name);
		count++;
	}
	return count;
}

static void prepare(void *function, const long *args)
{
	memset(&state, 0, sizeof(state));
	state.function = (uint64_t)(uintptr_t)function;
	for (int i = 0; i < 6; i++)
		state.args[i] = (uint64_t)args[i];
	state.mxcsr = 0x1f80 | 0x6000;	/* towards zero */
	state.control = 0x0f7f;	/* the same, in double precision */
	errno = 77;
}

long call(const char *name, void *function, const long *args, int al)
{
	int error, wrong;

	mark(name);
	if (!function)
		return 0;
	prepare(function, args);
	state.al = (uint64_t)al;
	call_with_patterns();
	error = errno;
	wrong = memcmp(state.found, patterns, sizeof(patterns)) != 0;
	wrong |= (state.found[6] != state.saved[6]) << 1;
	wrong |=
		((state.mxcsr_found & ~0x3fu) != state.mxcsr || state.control_found != state.control)
		<< 2;
	wrong |= ((state.flags & 0x400) != 0) << 3;
	if (error != 77)
		printf("%s: errno %d\n", name, error);
	if (wrong) {
		bad++;
		printf("%s:%s%s%s%s is lost\n", name, wrong & 1 ? " a register" : "",
		       wrong & 2 ? " rsp" : "", wrong & 4 ? " a control word" : "",
		       wrong & 8 ? " the direction" : "");
	}
	return (long)state.result;
}

/*
 * After the jump, registers have their values from the call of `save`, as the ABI
 * says; the control words need not.
 */
static __attribute__((noinline, naked)) void jump_with_patterns(void)
{
	__asm__ volatile(
		"movq %%rbx, 64+%0\n\tmovq %%rbp, 72+%0\n\tmovq %%r12, 80+%0\n\t"
		"movq %%r13, 88+%0\n\tmovq %%r14, 96+%0\n\tmovq %%r15, 104+%0\n\t"
		"movq %%rsp, 112+%0\n\t"
		"movabsq $0x1111111111111111, %%rbx\n\tmovabsq $0x2222222222222222, %%rbp\n\t"
		"movabsq $0x3333333333333333, %%r12\n\tmovabsq $0x4444444444444444, %%r13\n\t"
		"movabsq $0x5555555555555555, %%r14\n\tmovabsq $0x6666666666666666, %%r15\n\t"
		"subq $8, %%rsp\n\t"
		"movq 216+%0, %%rdi\n\txorl %%esi, %%esi\n\tcall *208+%0\n\t"
		"cmpq $0, 56+%0\n\tjne 1f\n\tincq 56+%0\n\t"
		"movq 8+%0, %%rdi\n\tmovq 16+%0, %%rsi\n\tcall *%0\n\tud2\n"
		"1:\taddq $8, %%rsp\n\t"
		"movq %%rbx, 120+%0\n\tmovq %%rbp, 128+%0\n\tmovq %%r12, 136+%0\n\t"
		"movq %%r13, 144+%0\n\tmovq %%r14, 152+%0\n\tmovq %%r15, 160+%0\n\t"
		"movq %%rsp, 168+%0\n\tmovq %%rax, 176+%0\n\t"
		"movq 64+%0, %%rbx\n\tmovq 72+%0, %%rbp\n\tmovq 80+%0, %%r12\n\t"
		"movq 88+%0, %%r13\n\tmovq 96+%0, %%r14\n\tmovq 104+%0, %%r15\n\t"
		"movq 112+%0, %%rsp\n\tret"
		:
		: "m"(state));
}

void call_jump(const char *name, void *function, const long *args, void *save, void *buffer)
{
	mark(name);
	prepare(function, args);
	state.flags = (uint64_t)(uintptr_t)save;
	state.buffer = (uint64_t)(uintptr_t)buffer;
	jump_with_patterns();
	if (memcmp(state.found, patterns, sizeof(patterns)) == 0 &&
	    state.found[6] == state.saved[6])
		return;
	bad++;
	printf("%s: a register is not what it was\n", name);
}

void call_end(const char *name, void *function, int status)
{
	pid_t pid;
	int how;

	mark(name);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		prepare(function, (const long[6]){ status });
		call_with_patterns();
		abort();
	}
	if (waitpid(pid, &how, 0) == pid && WIFEXITED(how) && WEXITSTATUS(how) == status)
		return;
	bad++;
	printf("%s: the child's status is %x\n", name, how);
}

void count_child(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) == pid && status != 0)
		bad++;
}

/* The C library has none of these. */
void cfree(void *block) __attribute__((weak));
void free_sized(void *block, size_t size) __attribute__((weak));
void free_aligned_sized(void *block, size_t align, size_t size) __attribute__((weak));

static void rare_allocations(void)
{
	CALL(cfree, cfree ? P(malloc(10)) : 0);
	CALL(free_sized, free_sized ? P(malloc(10)) : 0, 10);
	CALL(free_aligned_sized, free_aligned_sized ? P(aligned_alloc(64, 64)) : 0, 64, 64);
}

static void allocations(void)
{
	static void *block;

	CALL(free, CALL(malloc, 100));
	CALL(free, CALL(malloc, 10000000));
	CALL(free, CALL(realloc, CALL(calloc, 10, 30), 2000));
	CALL(free, CALL(reallocarray, 0, 10, 30));
	CALL(free, CALL(aligned_alloc, 64, 640));
	CALL(free, CALL(memalign, 128, 10));
	CALL(free, CALL(valloc, 10));
	CALL(free, CALL(pvalloc, 10));
	CALL(posix_memalign, P(&block), 256, 10);
	CALL(malloc_usable_size, P(block));
	CALL(free, P(block));
	CALL(free, 0);
}

/* operator new and delete, as g++ names them; libstdc++ has them. */
#define NEWS(X) X(_Znwm) X(_Znam)
#define NOTHROW_NEWS(X) X(_ZnwmRKSt9nothrow_t) X(_ZnamRKSt9nothrow_t)
#define ALIGNED_NEWS(X) X(_ZnwmSt11align_val_t) X(_ZnamSt11align_val_t)
#define ALIGNED_NOTHROW_NEWS(X) \
	X(_ZnwmSt11align_val_tRKSt9nothrow_t) X(_ZnamSt11align_val_tRKSt9nothrow_t)
#define DELETES(X) \
	X(_ZdlPv) X(_ZdaPv) X(_ZdlPvm) X(_ZdaPvm) X(_ZdlPvRKSt9nothrow_t) X(_ZdaPvRKSt9nothrow_t)
#define ALIGNED_DELETES(X) \
	X(_ZdlPvSt11align_val_t) \
	X(_ZdaPvSt11align_val_t) \
	X(_ZdlPvSt11align_val_tRKSt9nothrow_t) X(_ZdaPvSt11align_val_tRKSt9nothrow_t)
#define ALIGNED_SIZED_DELETES(X) X(_ZdlPvmSt11align_val_t) X(_ZdaPvmSt11align_val_t)
#define ALL_NEWS(X) NEWS(X) NOTHROW_NEWS(X) ALIGNED_NEWS(X) ALIGNED_NOTHROW_NEWS(X)
#define ALL_DELETES(X) DELETES(X) ALIGNED_DELETES(X) ALIGNED_SIZED_DELETES(X)
#define X(name) void *name(size_t size);
ALL_NEWS(X)
#undef X
#define X(name) void name(void *block);
ALL_DELETES(X)
#undef X

static void operators(void)
{
	static const char tag;
	long blocks[14];
	int next = 0;

#define X(name) blocks[next++] = CALL(name, 24);
	NEWS(X)
	NEWS(X)
	NEWS(X)
#undef X
#define X(name) blocks[next++] = CALL(name, 24, P(&tag));
	NOTHROW_NEWS(X)
#undef X
#define X(name) blocks[next++] = CALL(name, 64, 64);
	ALIGNED_NEWS(X)
	ALIGNED_NEWS(X)
#undef X
#define X(name) blocks[next++] = CALL(name, 64, 64, P(&tag));
	ALIGNED_NOTHROW_NEWS(X)
#undef X
	next = 0;
	/* Arguments that a form lacks (the size, or the tag) are not checked. */
#define X(name) CALL(name, blocks[next++], 24);
	DELETES(X)
#undef X
	CALL(_ZdlPv, blocks[next++]);
	CALL(_ZdlPv, blocks[next++]);
#define X(name) CALL(name, blocks[next++], 64, P(&tag));
	ALIGNED_DELETES(X)
#undef X
#define X(name) CALL(name, blocks[next++], 64, 64);
	ALIGNED_SIZED_DELETES(X)
#undef X
}

static void mutexes(void)
{
	static pthread_mutex_t mutex;
	static mtx_t mtx;
	static struct timespec past = { 1, 0 };

	CALL(pthread_mutex_init, P(&mutex), 0);
	CALL(pthread_mutex_lock, P(&mutex));
	CALL(pthread_mutex_trylock, P(&mutex));
	CALL(pthread_mutex_timedlock, P(&mutex), P(&past));
	CALL(pthread_mutex_clocklock, P(&mutex), CLOCK_MONOTONIC, P(&past));
	CALL(pthread_mutex_unlock, P(&mutex));
	CALL(pthread_mutex_destroy, P(&mutex));
	CALL(mtx_init, P(&mtx), mtx_timed);
	CALL(mtx_lock, P(&mtx));
	CALL(mtx_trylock, P(&mtx));
	CALL(mtx_unlock, P(&mtx));
	CALL(mtx_timedlock, P(&mtx), P(&past));
	CALL(mtx_destroy, P(&mtx));
}

/* Acquires the lock once the other one waits. */
static void *wake(void *arg)
{
	void **three = arg;	/* lock, condition, and which kind */

	if (three[2]) {
		mtx_lock(three[0]);
		cnd_signal(three[1]);
		mtx_unlock(three[0]);
	} else {
		pthread_mutex_lock(three[0]);
		pthread_cond_signal(three[1]);
		pthread_mutex_unlock(three[0]);
	}
	return NULL;
}

static void conditions(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t cond;
	static cnd_t cnd;
	static mtx_t mtx;
	static struct timespec past = { 1, 0 };
	pthread_t thread;

	CALL(pthread_cond_init, P(&cond), 0);
	pthread_mutex_lock(&mutex);
	pthread_create(&thread, NULL, wake, (void *[]){ &mutex, &cond, NULL });
	CALL(pthread_cond_wait, P(&cond), P(&mutex));
	CALL(pthread_cond_timedwait, P(&cond), P(&mutex), P(&past));
	CALL(pthread_cond_clockwait, P(&cond), P(&mutex), CLOCK_MONOTONIC, P(&past));
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	CALL(pthread_cond_signal, P(&cond));
	CALL(pthread_cond_broadcast, P(&cond));
	CALL(pthread_cond_destroy, P(&cond));
	mtx_init(&mtx, mtx_plain);
	CALL(cnd_init, P(&cnd));
	mtx_lock(&mtx);
	pthread_create(&thread, NULL, wake, (void *[]){ &mtx, &cnd, &cnd });
	CALL(cnd_wait, P(&cnd), P(&mtx));
	CALL(cnd_timedwait, P(&cnd), P(&mtx), P(&past));
	mtx_unlock(&mtx);
	pthread_join(thread, NULL);
	CALL(cnd_signal, P(&cnd));
	CALL(cnd_broadcast, P(&cnd));
	CALL(cnd_destroy, P(&cnd));
}

static void other_locks(void)
{
	static pthread_rwlock_t lock;
	static pthread_spinlock_t spin;
	static pthread_barrier_t barrier;
	static sem_t sem;
	static struct timespec past = { 1, 0 };

	CALL(pthread_rwlock_init, P(&lock), 0);
	CALL(pthread_rwlock_rdlock, P(&lock));
	CALL(pthread_rwlock_trywrlock, P(&lock));
	CALL(pthread_rwlock_timedwrlock, P(&lock), P(&past));
	CALL(pthread_rwlock_clockwrlock, P(&lock), CLOCK_MONOTONIC, P(&past));
	CALL(pthread_rwlock_tryrdlock, P(&lock));
	CALL(pthread_rwlock_unlock, P(&lock));
	CALL(pthread_rwlock_unlock, P(&lock));
	CALL(pthread_rwlock_timedrdlock, P(&lock), P(&past));
	CALL(pthread_rwlock_unlock, P(&lock));
	CALL(pthread_rwlock_clockrdlock, P(&lock), CLOCK_MONOTONIC, P(&past));
	CALL(pthread_rwlock_unlock, P(&lock));
	CALL(pthread_rwlock_wrlock, P(&lock));
	CALL(pthread_rwlock_unlock, P(&lock));
	CALL(pthread_rwlock_destroy, P(&lock));
	CALL(pthread_spin_init, P(&spin), 0);
	CALL(pthread_spin_lock, P(&spin));
	CALL(pthread_spin_trylock, P(&spin));
	CALL(pthread_spin_unlock, P(&spin));
	CALL(pthread_spin_destroy, P(&spin));
	CALL(pthread_barrier_init, P(&barrier), 0, 1);
	CALL(pthread_barrier_wait, P(&barrier));
	CALL(pthread_barrier_destroy, P(&barrier));
	CALL(sem_init, P(&sem), 0, 1);
	CALL(sem_wait, P(&sem));
	CALL(sem_trywait, P(&sem));
	CALL(sem_timedwait, P(&sem), P(&past));
	CALL(sem_clockwait, P(&sem), CLOCK_MONOTONIC, P(&past));
	CALL(sem_post, P(&sem));
	CALL(sem_destroy, P(&sem));
	CALL(flockfile, P(stdout));
	CALL(ftrylockfile, P(stdout));
	CALL(funlockfile, P(stdout));
	CALL(funlockfile, P(stdout));
}

static void nothing(void)
{
}

static void *thread_nothing(void *arg)
{
	return arg;
}

/* In no header of the C library. */
int __pthread_key_create(pthread_key_t *key, void (*end)(void *));

static void threads(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static once_flag flag = ONCE_FLAG_INIT;
	static struct timespec late = { INT32_MAX, 0 };
	static pthread_t thread;
	static thrd_t thrd;

	static pthread_key_t key;
	static tss_t tss;
	CALL(pthread_key_create, P(&key), 0);
	CALL(__pthread_key_create, P(&key), 0);
	CALL(tss_create, P(&tss), 0);
	CALL(pthread_once, P(&once), P(nothing));
	CALL(call_once, P(&flag), P(nothing));
	CALL(pthread_create, P(&thread), 0, P(thread_nothing), 0);
	CALL(pthread_join, P(thread), 0);
	CALL(pthread_create, P(&thread), 0, P(thread_nothing), 0);
	CALL(pthread_timedjoin_np, P(thread), 0, P(&late));
	CALL(pthread_create, P(&thread), 0, P(thread_nothing), 0);
	CALL(pthread_clockjoin_np, P(thread), 0, CLOCK_REALTIME, P(&late));
	CALL(thrd_create, P(&thrd), P(thread_nothing), 0);
	CALL(thrd_join, P(thrd), 0);
}

static pid_t child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(3);
	return pid;
}

static void processes(void)
{
	static char *argv[] = { "true", NULL };
	static siginfo_t info;
	static pid_t pid;
	static int status;

	CALL(wait4, child(), P(&status), 0, 0);
	CALL(waitpid, child(), P(&status), 0);
	child();
	CALL(wait, P(&status));
	child();
	CALL(wait3, P(&status), 0, 0);
	child();
	CALL(waitid, P_ALL, 0, P(&info), WEXITED);
	CALL(posix_spawnp, P(&pid), P("true"), 0, 0, P(argv), P(environ));
	waitpid(pid, NULL, 0);
	CALL(execve, P("/nowhere"), P(argv), P(environ));
	CALL(execvp, P("/nowhere"), P(argv));
	CALL(posix_spawn, P(&pid), P("/bin/true"), 0, 0, P(argv), P(environ));
	waitpid(pid, NULL, 0);
	CALL(execv, P("/nowhere"), P(argv));
	CALL(execvpe, P("/nowhere"), P(argv), P(environ));
	CALL(fexecve, -1, P(argv), P(environ));
	for (int al = 0; al <= 8; al += 8) {
		CALL_AL(al, execl, P("/nowhere"), P("x"), 0);
		CALL_AL(al, execlp, P("/nowhere"), P("x"), 0);
		CALL_AL(al, execle, P("/nowhere"), P("x"), 0, P(environ));
	}
}

static void variadic(void)
{
	static struct rusage usage;
	static struct tms spent;
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int al = 0; al <= 8; al += 8) {
		CALL_AL(al, prctl, PR_GET_DUMPABLE, 0, 0, 0, 0);
		CALL_AL(al, syscall, SYS_getppid);
		CALL_AL(al, syscall, SYS_mmap, 0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
		CALL_AL(al, fcntl, fd, F_GETFD);
		CALL_AL(al, fcntl, fd, F_SETFD, FD_CLOEXEC);
		CALL_AL(al, fcntl64, fd, F_SETFD, FD_CLOEXEC);
	}
	CALL(flock, fd, LOCK_EX);
	CALL(flock, fd, LOCK_UN);
	CALL(mlockall, MCL_FUTURE | MCL_ONFAULT);
	CALL(munlockall, 0);
	CALL(getrusage, RUSAGE_CHILDREN, P(&usage));
	CALL(times, P(&spent));
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	getrlimit(RLIMIT_NOFILE, &limit);
	CALL(setrlimit, RLIMIT_NOFILE, P(&limit));
	CALL(setrlimit64, RLIMIT_NOFILE, P(&limit));
	CALL(prlimit, 0, RLIMIT_NOFILE, P(&limit), 0);
	CALL(prlimit64, 0, RLIMIT_NOFILE, P(&limit), P(&limit));
	close(fd);
}

/* Calls without an effect: the ids as they are, and refused ones. */
int capset(void *header, const void *data);

static void rights(void)
{
	CALL(setuid, getuid());
	CALL(setgid, getgid());
	CALL(seteuid, geteuid());
	CALL(setegid, getegid());
	CALL(setreuid, -1, -1);
	CALL(setregid, -1, -1);
	CALL(setresuid, -1, -1, -1);
	CALL(setresgid, -1, -1, -1);
	CALL(capset, 0, 0);
	CALL(unshare, 0);
	CALL(setns, -1, 0);
}

static void maps(void)
{
	long map = CALL(mmap, 0, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CALL(munmap, map, 8192);
	for (int al = 0; al <= 8; al += 8) {
		map = CALL(mmap64, 0, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		map = CALL_AL(al, mremap, map, 8192, 65536, MREMAP_MAYMOVE, 0);
		CALL(munmap, map, 65536);
	}
	CALL(brk, P(sbrk(0)));
	CALL(sbrk, 0);
	CALL(dlclose, P(dlopen("libm.so.6", RTLD_LAZY)));
	CALL(__cxa_finalize, P(&state));
}

static void transfers(void)
{
	static char text[16] = "some text";
	static struct iovec part = { text, 4 };
	static struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	static int ends[2], pair[2], error;
	static socklen_t error_size = sizeof(error);

	if (pipe(ends) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		exit(2);
	CALL(write, ends[1], P(text), 8);
	CALL(read, ends[0], P(text), 4);
	CALL(writev, ends[1], P(&part), 1);
	CALL(readv, ends[0], P(&part), 1);
	CALL(send, pair[0], P(text), 8, 0);
	CALL(recv, pair[1], P(text), 4, 0);
	CALL(sendto, pair[0], P(text), 8, 0, 0, 0);
	CALL(recvfrom, pair[1], P(text), 4, 0, 0, 0);
	CALL(sendmsg, pair[0], P(&message), 0);
	CALL(socket, AF_UNIX, SOCK_DGRAM, 0);
	CALL(connect, pair[0], P(text), sizeof(text));
	CALL(getsockopt, pair[0], SOL_SOCKET, SO_ERROR, P(&error), P(&error_size));
	CALL(recvmsg, pair[1], P(&message), 0);
	CALL(shutdown, pair[0], SHUT_WR);
	struct pollfd polled = { ends[0], POLLIN, 0 };
	CALL(poll, P(&polled), 1, 0);
	int copy = (int)CALL(dup, ends[0]);
	CALL(dup2, ends[1], copy);
	CALL(close, copy);
	CALL(close, -1);
	CALL(usleep, 1);
	CALL(sched_yield, 0);
}

/* Requests that are refused: a negative priority, no descriptor, an empty list. */
static void requests(void)
{
	static struct aiocb request = { .aio_fildes = -1, .aio_reqprio = -1 };
	static struct aiocb64 request64 = { .aio_fildes = -1, .aio_reqprio = -1 };
	static struct aiocb *const list[1];
	static struct aiocb64 *const list64[1];

	CALL(aio_read, P(&request));
	CALL(aio_read64, P(&request64));
	CALL(aio_write, P(&request));
	CALL(aio_write64, P(&request64));
	CALL(aio_fsync, O_SYNC, P(&request));
	CALL(aio_fsync64, O_SYNC, P(&request64));
	CALL(aio_error, P(&request));
	CALL(aio_error64, P(&request64));
	CALL(aio_return, P(&request));
	CALL(aio_return64, P(&request64));
	CALL(aio_cancel, -1, 0);
	CALL(aio_cancel64, -1, 0);
	CALL(lio_listio, LIO_NOWAIT, P(list), 0, 0);
	CALL(lio_listio64, LIO_NOWAIT, P(list64), 0, 0);
}

/* The hooks of functions; the address is some function's. */
void __cyg_profile_func_enter(void *function, void *site) __attribute__((weak));
void __cyg_profile_func_exit(void *function, void *site) __attribute__((weak));

static void hooks(void)
{
	for (int i = 0; i < 100; i++) {
		CALL(__cyg_profile_func_enter, P(nothing), P(hooks));
		CALL(__cyg_profile_func_exit, P(nothing), P(hooks));
	}
}

static _Unwind_Reason_Code continue_here(struct _Unwind_Context *context, void *unused)
{
	(void)unused;
	CALL(_Unwind_SetIP, P(context), _Unwind_GetIP(context));
	return _URC_END_OF_STACK;
}

/* The report of behind.c. */
static void misaligned(void)
{
	__asm__ volatile(
		"pushq %%rbp\n\tmovq %%rsp, %%rbp\n\tandq $-16, %%rsp\n\tsubq $8, %%rsp\n\t"
		"xorl %%edi, %%edi\n\tcall *%0\n\tmovq %%rbp, %%rsp\n\tpopq %%rbp"
		:
		: "r"(free)
		: "memory", "cc", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
}

/* First the slow ways, then the usual ones. */
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		misaligned();
	for (int i = 0; i < 3; i++) {
		hooks();
		own();
		allocations();
		rare_allocations();
		operators();
		maps();
		mutexes();
		conditions();
		other_locks();
		threads();
		processes();
		variadic();
		rights();
		transfers();
		requests();
		descriptors();
		messages();
		jumps();
		_Unwind_Backtrace(continue_here, NULL);
		endings();
		glib();
		uring();
		uv();
		old_conditions();
	}
	bad += not_called();
	printf("%d calls, %d wrong\n", calls, bad);
	return bad != 0;
}
