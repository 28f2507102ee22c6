/* SPDX-License-Identifier: MIT */
/*
 * hook_exit.c - interposes the ways in which a process ends itself, and jumps.
 *
 * They set a mark and call the real function. All counts are already in the
 * segment, and the sampler notices the end. A vfork child runs them in its
 * parent's memory, so marks are only set in the owning process (hp_self_is_me).
 */
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/call/leave.h"
#include "preload/guest/absent.h"
#include "preload/guest/confine.h"
#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/guest/self.h"
#include "preload/hook/start.h"
#include "preload/thread/process.h"

extern char **environ;

/* The prototypes of the C library differ from ours in attributes only. */
#define HP_NORETURN __attribute__((noreturn))

/*
 * In an IFUNC resolver, before the loader has finished (preload/guest/early.h):
 * finds the real function by hand, since even calls between our functions are
 * invalid.
 */
#define EARLY(name, ...) \
	do { \
		if (hp_is_early()) \
			return ((__typeof__(&(name)))hp_early_find(#name, false))(__VA_ARGS__); \
	} while (0)

static void end_early(int code)
{
	void (*real)(int) = (void (*)(int))hp_early_find("_exit", false);

	real(code);
}

HP_EXPORT HP_NORETURN void _exit(int code)
{
	if (hp_is_early())
		end_early(code);
	hp_start_wait_for_finish();
	hp_self_end(HP_ENDING_QUICK, code);
	hp_start_finish_quick();
	if (hp_self_is_me() && hp_segment.header->root_pid != hp_self->pid)
		hp_self_leave();
	if (hp_real()->_exit)
		hp_real()->_exit(code);
	for (;;)
		syscall(SYS_exit_group, code);
}

HP_EXPORT HP_NORETURN void _Exit(int code)
{
	if (hp_is_early())
		end_early(code);
	_exit(code);
}

HP_EXPORT HP_NORETURN void quick_exit(int code)
{
	hp_start_quick_exit(code);
	hp_real()->quick_exit(code);
	__builtin_unreachable();
}

static int came_back(int result)
{
	hp_self_go_on();
	return result;
}

/* The environment for a child, on our caller's stack: it may be a vfork child. */
#define WITH_SESSION(to, from) \
	size_t size_of_##to = hp_start_environment_size(from); \
	char *const *to = hp_start_environment(__builtin_alloca(size_of_##to * sizeof(*(from))), \
					       from, size_of_##to)

HP_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	EARLY(execve, path, argv, envp);
	WITH_SESSION(full, envp);
	hp_self_end(HP_ENDING_EXEC, 0);
	return came_back(hp_real()->execve(path, argv, full));
}

HP_EXPORT int execv(const char *path, char *const argv[])
{
	EARLY(execv, path, argv);
	return execve(path, argv, environ);
}

HP_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	EARLY(execvpe, file, argv, envp);
	WITH_SESSION(full, envp);
	hp_self_end(HP_ENDING_EXEC, 0);
	return came_back(hp_real()->execvpe(file, argv, full));
}

HP_EXPORT int execvp(const char *file, char *const argv[])
{
	EARLY(execvp, file, argv);
	return execvpe(file, argv, environ);
}

HP_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	EARLY(fexecve, fd, argv, envp);
	WITH_SESSION(full, envp);
	hp_self_end(HP_ENDING_EXEC, 0);
	return came_back(hp_real()->fexecve(fd, argv, full));
}

/*
 * Programs linked against glibc before 2.15 expect a shell to run files without
 * a header; this is not supported.
 */
HP_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attributes, char *const argv[],
			  char *const envp[])
{
	EARLY(posix_spawn, pid, path, actions, attributes, argv, envp);
	WITH_SESSION(full, envp);
	return hp_real()->posix_spawn(pid, path, actions, attributes, argv, full);
}

HP_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attributes, char *const argv[],
			   char *const envp[])
{
	EARLY(posix_spawnp, pid, file, actions, attributes, argv, envp);
	WITH_SESSION(full, envp);
	return hp_real()->posix_spawnp(pid, file, actions, attributes, argv, full);
}

/* Number of arguments up to the NULL. */
static size_t count_arguments(va_list list)
{
	size_t count = 1;

	while (va_arg(list, char *))
		count++;
	return count;
}

/*
 * The variadic ones. The argument vector is on the stack, as in the C library,
 * since they may run in a vfork child.
 */
#define COLLECT(first, argv) \
	va_list list; \
	va_start(list, first); \
	size_t count = count_arguments(list); \
	va_end(list); \
	char **argv = __builtin_alloca((count + 1) * sizeof(*argv)); \
	va_start(list, first); \
	argv[0] = (char *)(uintptr_t)first; \
	for (size_t i = 1; i <= count; i++) \
	argv[i] = va_arg(list, char *)

HP_EXPORT int execl(const char *path, const char *arg, ...)
{
	COLLECT(arg, argv);
	va_end(list);
	EARLY(execv, path, argv);
	return execv(path, argv);
}

HP_EXPORT int execlp(const char *file, const char *arg, ...)
{
	COLLECT(arg, argv);
	va_end(list);
	EARLY(execvp, file, argv);
	return execvp(file, argv);
}

HP_EXPORT int execle(const char *path, const char *arg, ...)
{
	char *const *envp;

	COLLECT(arg, argv);
	envp = va_arg(list, char *const *);
	va_end(list);
	EARLY(execve, path, argv, envp);
	return execve(path, argv, envp);
}

/*
 * The target stack pointer of a jump: glibc keeps it in word 6 of a jmp_buf,
 * mixed with a secret of the thread (sysdeps/x86_64/jmpbuf-offsets.h,
 * PTR_DEMANGLE in sysdeps/unix/sysv/linux/x86_64/pointer_guard.h). 0 = unknown;
 * the hooks then find out themselves.
 */
static uintptr_t jump_target(jmp_buf buffer)
{
#if defined(__x86_64__) && defined(__LP64__)
	uintptr_t value = (uintptr_t)buffer[0].__jmpbuf[6];

	__asm__("ror $17, %0\n\txor %%fs:0x30, %0" : "+r"(value) : : "cc");
	return value;
#else
	(void)buffer;
	return 0;
#endif
}

HP_EXPORT HP_NORETURN void longjmp(jmp_buf buffer, int value)
{
	hp_leave_below(jump_target(buffer));
	hp_real()->longjmp(buffer, value);
	__builtin_unreachable();
}

HP_EXPORT HP_NORETURN void _longjmp(jmp_buf buffer, int value)
{
	hp_leave_below(jump_target(buffer));
	hp_real()->_longjmp(buffer, value);
	__builtin_unreachable();
}

HP_EXPORT HP_NORETURN void siglongjmp(sigjmp_buf buffer, int value)
{
	hp_leave_below(jump_target(buffer));
	hp_real()->siglongjmp(buffer, value);
	__builtin_unreachable();
}

/* longjmp with _FORTIFY_SOURCE. */
HP_NORETURN void __longjmp_chk(jmp_buf buffer, int value);
HP_EXPORT HP_NORETURN void __longjmp_chk(jmp_buf buffer, int value)
{
	hp_leave_below(jump_target(buffer));
	hp_real()->__longjmp_chk(buffer, value);
	__builtin_unreachable();
}

/*
 * Of the unwinder, in libgcc_s or libunwind. A frame's personality routine says here where the frame
 * continues: in a handler, or in code that cleans up. The calls below it are gone. gcc's code calls
 * their exit hooks, clang's does not; a callee of the handler's function with a larger frame would
 * then count as a callee of the function that threw.
 */
static struct hp_absent set_ip_real = HP_ABSENT("_Unwind_SetIP");
static struct hp_absent get_cfa_real = HP_ABSENT("_Unwind_GetCFA");

void _Unwind_SetIP(void *context, uintptr_t ip);
HP_EXPORT void _Unwind_SetIP(void *context, uintptr_t ip)
{
	void *real = hp_absent_real(&set_ip_real, HP_CALLER);
	/* The frame's stack pointer. */
	void *get_cfa = real ? hp_absent_beside(&get_cfa_real, real) : NULL;

	if (get_cfa)
		hp_leave_below(((uintptr_t(*)(void *))(uintptr_t)get_cfa)(context));
	if (real)
		((void (*)(void *, uintptr_t))(uintptr_t)real)(context, ip);
}
