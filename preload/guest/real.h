/* SPDX-License-Identifier: MIT */
/*
 * real.h - the functions that we interpose. For a new one, add a line here and
 * write the function.
 */
#ifndef HP_PRELOAD_GUEST_REAL_H
#define HP_PRELOAD_GUEST_REAL_H

#include <dirent.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>

/* Descriptors and I/O. */
#define HP_REAL_CHANNELS(X) \
	X(int, pipe, (int[2])) \
	X(int, pipe2, (int[2], int)) \
	X(int, dup, (int)) \
	X(int, dup2, (int, int)) \
	X(int, dup3, (int, int, int)) \
	X(int, close, (int)) \
	X(int, close_range, (unsigned, unsigned, int)) \
	X(void, closefrom, (int)) \
	X(pid_t, fork, (void)) \
	X(ssize_t, read, (int, void *, size_t)) \
	X(ssize_t, __read_chk, (int, void *, size_t, size_t)) \
	X(ssize_t, write, (int, const void *, size_t)) \
	X(ssize_t, readv, (int, const struct iovec *, int)) \
	X(ssize_t, writev, (int, const struct iovec *, int)) \
	X(ssize_t, preadv2, (int, const struct iovec *, int, off_t, int)) \
	X(ssize_t, preadv64v2, (int, const struct iovec *, int, off64_t, int)) \
	X(ssize_t, pwritev2, (int, const struct iovec *, int, off_t, int)) \
	X(ssize_t, pwritev64v2, (int, const struct iovec *, int, off64_t, int)) \
	X(ssize_t, splice, (int, off64_t *, int, off64_t *, size_t, unsigned)) \
	X(ssize_t, tee, (int, int, size_t, unsigned)) \
	X(ssize_t, vmsplice, (int, const struct iovec *, size_t, unsigned)) \
	X(ssize_t, sendfile, (int, int, off_t *, size_t)) \
	X(ssize_t, sendfile64, (int, int, off64_t *, size_t)) \
	X(int, daemon, (int, int)) \
	X(int, eventfd, (unsigned, int)) \
	X(int, poll, (struct pollfd *, nfds_t, int)) \
	X(int, __poll_chk, (struct pollfd *, nfds_t, int, size_t)) \
	X(int, ppoll, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *)) \
	X(int, __ppoll_chk, \
	  (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t)) \
	X(int, select, (int, fd_set *, fd_set *, fd_set *, struct timeval *)) \
	X(int, pselect, \
	  (int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *)) \
	X(int, epoll_wait, (int, struct epoll_event *, int, int)) \
	X(int, epoll_pwait, (int, struct epoll_event *, int, int, const sigset_t *)) \
	X(int, epoll_pwait2, \
	  (int, struct epoll_event *, int, const struct timespec *, const sigset_t *)) \
	X(int, epoll_ctl, (int, int, int, struct epoll_event *)) \
	X(int, socket, (int, int, int)) \
	X(int, connect, (int, const struct sockaddr *, socklen_t)) \
	X(int, getsockopt, (int, int, int, void *, socklen_t *)) \
	X(int, socketpair, (int, int, int, int[2])) \
	X(int, shutdown, (int, int)) \
	X(ssize_t, send, (int, const void *, size_t, int)) \
	X(ssize_t, recv, (int, void *, size_t, int)) \
	X(ssize_t, __recv_chk, (int, void *, size_t, size_t, int)) \
	X(ssize_t, sendto, (int, const void *, size_t, int, const struct sockaddr *, socklen_t)) \
	X(ssize_t, recvfrom, (int, void *, size_t, int, struct sockaddr *, socklen_t *)) \
	X(ssize_t, __recvfrom_chk, \
	  (int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *)) \
	X(ssize_t, sendmsg, (int, const struct msghdr *, int)) \
	X(ssize_t, recvmsg, (int, struct msghdr *, int)) \
	X(int, sendmmsg, (int, struct mmsghdr *, unsigned, int)) \
	X(int, recvmmsg, (int, struct mmsghdr *, unsigned, int, struct timespec *)) \
	X(mqd_t, mq_open, (const char *, int, ...)) \
	X(mqd_t, __mq_open_2, (const char *, int)) \
	X(int, mq_close, (mqd_t)) \
	X(int, mq_send, (mqd_t, const char *, size_t, unsigned)) \
	X(int, mq_timedsend, (mqd_t, const char *, size_t, unsigned, const struct timespec *)) \
	X(ssize_t, mq_receive, (mqd_t, char *, size_t, unsigned *)) \
	X(ssize_t, mq_timedreceive, (mqd_t, char *, size_t, unsigned *, const struct timespec *)) \
	X(int, msgget, (key_t, int)) \
	X(int, msgctl, (int, int, struct msqid_ds *)) \
	X(int, msgsnd, (int, const void *, size_t, int)) \
	X(ssize_t, msgrcv, (int, void *, size_t, long, int))

/* stdio, as far as it reads. */
#define HP_REAL_FILES(X) \
	X(FILE *, fopen, (const char *, const char *)) \
	X(FILE *, fopen64, (const char *, const char *)) \
	X(FILE *, popen, (const char *, const char *)) \
	X(FILE *, fdopen, (int, const char *)) \
	X(FILE *, freopen, (const char *, const char *, FILE *)) \
	X(FILE *, freopen64, (const char *, const char *, FILE *)) \
	X(int, fclose, (FILE *)) \
	X(int, pclose, (FILE *)) \
	X(char *, fgets, (char *, int, FILE *)) \
	X(char *, fgets_unlocked, (char *, int, FILE *)) \
	X(char *, __fgets_chk, (char *, size_t, int, FILE *)) \
	X(char *, __fgets_unlocked_chk, (char *, size_t, int, FILE *)) \
	X(ssize_t, __getdelim, (char **, size_t *, int, FILE *)) \
	X(ssize_t, getdelim, (char **, size_t *, int, FILE *)) \
	X(ssize_t, getline, (char **, size_t *, FILE *)) \
	X(size_t, fread, (void *, size_t, size_t, FILE *)) \
	X(size_t, fread_unlocked, (void *, size_t, size_t, FILE *)) \
	X(size_t, __fread_chk, (void *, size_t, size_t, size_t, FILE *)) \
	X(size_t, __fread_unlocked_chk, (void *, size_t, size_t, size_t, FILE *)) \
	X(int, getc, (FILE *)) \
	X(int, fgetc, (FILE *)) \
	X(int, _IO_getc, (FILE *)) \
	X(int, getc_unlocked, (FILE *)) \
	X(int, fgetc_unlocked, (FILE *)) \
	X(int, __uflow, (FILE *)) \
	X(int, getchar, (void)) \
	X(int, getchar_unlocked, (void)) \
	X(int, fseek, (FILE *, long, int)) \
	X(int, fseeko, (FILE *, off_t, int)) \
	X(int, fseeko64, (FILE *, off64_t, int)) \
	X(void, rewind, (FILE *)) \
	X(int, fsetpos, (FILE *, const fpos_t *)) \
	X(int, fsetpos64, (FILE *, const fpos64_t *))

/* Directories, and listening sockets. */
#define HP_REAL_STREAMS(X) \
	X(DIR *, opendir, (const char *)) \
	X(DIR *, fdopendir, (int)) \
	X(int, closedir, (DIR *)) \
	X(struct dirent *, readdir, (DIR *)) \
	X(struct dirent64 *, readdir64, (DIR *)) \
	X(int, scandir, \
	  (const char *, struct dirent ***, int (*)(const struct dirent *), \
	   int (*)(const struct dirent **, const struct dirent **))) \
	X(int, scandir64, \
	  (const char *, struct dirent64 ***, int (*)(const struct dirent64 *), \
	   int (*)(const struct dirent64 **, const struct dirent64 **))) \
	X(int, timerfd_create, (int, int)) \
	X(int, timerfd_settime, (int, int, const struct itimerspec *, struct itimerspec *)) \
	X(int, signalfd, (int, const sigset_t *, int)) \
	X(int, inotify_init, (void)) \
	X(int, inotify_init1, (int)) \
	X(int, accept, (int, struct sockaddr *, socklen_t *)) \
	X(int, accept4, (int, struct sockaddr *, socklen_t *, int))

/* Memory mappings. */
#define HP_REAL_MAPS(X) \
	X(void *, mmap, (void *, size_t, int, int, int, off_t)) \
	X(void *, mmap64, (void *, size_t, int, int, int, off64_t)) \
	X(int, munmap, (void *, size_t)) \
	X(void *, mremap, (void *, size_t, size_t, int, ...)) \
	X(int, brk, (void *)) \
	X(void *, sbrk, (intptr_t))

/* Pure waits. */
#define HP_REAL_PAUSES(X) \
	X(int, nanosleep, (const struct timespec *, struct timespec *)) \
	X(int, clock_nanosleep, (clockid_t, int, const struct timespec *, struct timespec *)) \
	X(int, usleep, (useconds_t)) \
	X(unsigned, sleep, (unsigned)) \
	X(int, thrd_sleep, (const struct timespec *, struct timespec *)) \
	X(int, fsync, (int)) \
	X(int, fdatasync, (int)) \
	X(int, syncfs, (int)) \
	X(void, sync, (void)) \
	X(int, sync_file_range, (int, off64_t, off64_t, unsigned)) \
	X(int, msync, (void *, size_t, int))

/* Changes of credentials. */
#define HP_REAL_RIGHTS(X) \
	X(int, setuid, (uid_t)) \
	X(int, setgid, (gid_t)) \
	X(int, seteuid, (uid_t)) \
	X(int, setegid, (gid_t)) \
	X(int, setreuid, (uid_t, uid_t)) \
	X(int, setregid, (gid_t, gid_t)) \
	X(int, setresuid, (uid_t, uid_t, uid_t)) \
	X(int, setresgid, (gid_t, gid_t, gid_t)) \
	X(int, capset, (void *, const void *)) \
	X(int, unshare, (int)) \
	X(int, setns, (int, int))

#define HP_REAL_LIST(X) \
	HP_REAL_MAPS(X) \
	HP_REAL_RIGHTS(X) \
	HP_REAL_PAUSES(X) \
	X(int, dlclose, (void *)) \
	X(void, __cxa_finalize, (void *)) \
	X(int, execve, (const char *, char *const[], char *const[])) \
	X(int, execvpe, (const char *, char *const[], char *const[])) \
	X(int, fexecve, (int, char *const[], char *const[])) \
	X(int, posix_spawn, \
	  (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, \
	   char *const[], char *const[])) \
	X(int, posix_spawnp, \
	  (pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, \
	   char *const[], char *const[])) \
	X(pid_t, wait4, (pid_t, int *, int, struct rusage *)) \
	X(int, waitid, (idtype_t, id_t, siginfo_t *, int)) \
	X(int, getrusage, (__rusage_who_t, struct rusage *)) \
	X(clock_t, times, (struct tms *)) \
	X(int, mlockall, (int)) \
	X(int, munlockall, (void)) \
	X(int, setrlimit, (__rlimit_resource_t, const struct rlimit *)) \
	X(int, setrlimit64, (__rlimit_resource_t, const struct rlimit64 *)) \
	X(int, prlimit, (pid_t, enum __rlimit_resource, const struct rlimit *, struct rlimit *)) \
	X(int, prlimit64, \
	  (pid_t, enum __rlimit_resource, const struct rlimit64 *, struct rlimit64 *)) \
	X(int, prctl, (int, ...)) \
	X(long, syscall, (long, ...)) \
	X(void, _exit, (int)) \
	X(void, _Exit, (int)) \
	X(void, quick_exit, (int)) \
	X(void, makecontext, (ucontext_t *, void (*)(void), int, ...)) \
	X(int, swapcontext, (ucontext_t *, const ucontext_t *)) \
	X(int, setcontext, (const ucontext_t *)) \
	X(void, longjmp, (jmp_buf, int)) \
	X(void, _longjmp, (jmp_buf, int)) \
	X(void, siglongjmp, (sigjmp_buf, int)) \
	X(void, __longjmp_chk, (jmp_buf, int)) \
	X(int, pthread_mutex_init, (pthread_mutex_t *, const pthread_mutexattr_t *)) \
	X(int, pthread_mutex_destroy, (pthread_mutex_t *)) \
	X(int, pthread_mutex_lock, (pthread_mutex_t *)) \
	X(int, pthread_mutex_trylock, (pthread_mutex_t *)) \
	X(int, pthread_mutex_timedlock, (pthread_mutex_t *, const struct timespec *)) \
	X(int, pthread_mutex_clocklock, (pthread_mutex_t *, clockid_t, const struct timespec *)) \
	X(int, pthread_mutex_unlock, (pthread_mutex_t *)) \
	X(int, mtx_init, (mtx_t *, int)) \
	X(void, mtx_destroy, (mtx_t *)) \
	X(int, mtx_lock, (mtx_t *)) \
	X(int, mtx_trylock, (mtx_t *)) \
	X(int, mtx_timedlock, (mtx_t *, const struct timespec *)) \
	X(int, mtx_unlock, (mtx_t *)) \
	X(int, pthread_cond_clockwait, \
	  (pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *)) \
	X(int, cnd_init, (cnd_t *)) \
	X(void, cnd_destroy, (cnd_t *)) \
	X(int, cnd_wait, (cnd_t *, mtx_t *)) \
	X(int, cnd_timedwait, (cnd_t *, mtx_t *, const struct timespec *)) \
	X(int, cnd_signal, (cnd_t *)) \
	X(int, cnd_broadcast, (cnd_t *)) \
	X(int, pthread_rwlock_init, (pthread_rwlock_t *, const pthread_rwlockattr_t *)) \
	X(int, pthread_rwlock_destroy, (pthread_rwlock_t *)) \
	X(int, pthread_rwlock_rdlock, (pthread_rwlock_t *)) \
	X(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t *)) \
	X(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t *, const struct timespec *)) \
	X(int, pthread_rwlock_clockrdlock, \
	  (pthread_rwlock_t *, clockid_t, const struct timespec *)) \
	X(int, pthread_rwlock_wrlock, (pthread_rwlock_t *)) \
	X(int, pthread_rwlock_trywrlock, (pthread_rwlock_t *)) \
	X(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t *, const struct timespec *)) \
	X(int, pthread_rwlock_clockwrlock, \
	  (pthread_rwlock_t *, clockid_t, const struct timespec *)) \
	X(int, pthread_rwlock_unlock, (pthread_rwlock_t *)) \
	X(int, pthread_spin_init, (pthread_spinlock_t *, int)) \
	X(int, pthread_spin_destroy, (pthread_spinlock_t *)) \
	X(int, pthread_spin_lock, (pthread_spinlock_t *)) \
	X(int, pthread_spin_trylock, (pthread_spinlock_t *)) \
	X(int, pthread_spin_unlock, (pthread_spinlock_t *)) \
	X(int, sem_init, (sem_t *, int, unsigned)) \
	X(int, sem_destroy, (sem_t *)) \
	X(int, sem_wait, (sem_t *)) \
	X(int, sem_trywait, (sem_t *)) \
	X(int, sem_timedwait, (sem_t *, const struct timespec *)) \
	X(int, sem_clockwait, (sem_t *, clockid_t, const struct timespec *)) \
	X(int, sem_post, (sem_t *)) \
	X(int, pthread_barrier_init, \
	  (pthread_barrier_t *, const pthread_barrierattr_t *, unsigned)) \
	X(int, pthread_barrier_destroy, (pthread_barrier_t *)) \
	X(int, pthread_barrier_wait, (pthread_barrier_t *)) \
	X(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)) \
	X(int, thrd_create, (thrd_t *, thrd_start_t, void *)) \
	X(int, pthread_join, (pthread_t, void **)) \
	X(int, pthread_timedjoin_np, (pthread_t, void **, const struct timespec *)) \
	X(int, pthread_clockjoin_np, (pthread_t, void **, clockid_t, const struct timespec *)) \
	X(int, thrd_join, (thrd_t, int *)) \
	X(int, pthread_once, (pthread_once_t *, void (*)(void))) \
	X(int, pthread_key_create, (pthread_key_t *, void (*)(void *))) \
	X(int, __pthread_key_create, (pthread_key_t *, void (*)(void *))) \
	X(int, tss_create, (tss_t *, tss_dtor_t)) \
	X(void, call_once, (once_flag *, void (*)(void))) \
	X(int, flock, (int, int)) \
	X(int, lockf, (int, int, off_t)) \
	X(int, lockf64, (int, int, off64_t)) \
	X(int, fcntl, (int, int, ...)) \
	X(int, fcntl64, (int, int, ...)) \
	X(void, flockfile, (FILE *)) \
	X(int, ftrylockfile, (FILE *)) \
	X(void, funlockfile, (FILE *)) \
	X(int, bind, (int, const struct sockaddr *, socklen_t)) \
	X(int, listen, (int, int)) \
	HP_REAL_FILES(X) \
	HP_REAL_STREAMS(X) \
	HP_REAL_CHANNELS(X)

/* Called but not interposed. */
#define HP_REAL_CALLED(Y) \
	Y(void, pthread_testcancel, (void)) \
	Y(int, mq_getattr, (mqd_t, struct mq_attr *))

/* Functions with two versions in the C library on x86-64; the first is the current one. */
#define HP_REAL_VERSIONS(X) \
	X(int, pthread_cond_wait, old_cond_wait, (pthread_cond_t *, pthread_mutex_t *)) \
	X(int, pthread_cond_timedwait, old_cond_timedwait, \
	  (pthread_cond_t *, pthread_mutex_t *, const struct timespec *)) \
	X(int, pthread_cond_signal, old_cond_signal, (pthread_cond_t *)) \
	X(int, pthread_cond_broadcast, old_cond_broadcast, (pthread_cond_t *)) \
	X(int, pthread_cond_init, old_cond_init, (pthread_cond_t *, const pthread_condattr_t *)) \
	X(int, pthread_cond_destroy, old_cond_destroy, (pthread_cond_t *))

struct hp_real {
#define X(ret, name, args) ret(*name) args;
	HP_REAL_LIST(X)
	HP_REAL_CALLED(X)
#undef X
#define X(ret, name, old, args) \
	ret(*name) args; \
	ret(*old) args;
	HP_REAL_VERSIONS(X)
#undef X
};

/* The result of hp_real(), for hot paths that only run after it. */
extern struct hp_real hp_real_table __attribute__((visibility("hidden")));
extern _Atomic int hp_real_is_filled __attribute__((visibility("hidden")));
/* For assembler; NULL = not filled yet. */
extern long (*hp_real_syscall)(long, ...) __attribute__((visibility("hidden")));

const struct hp_real *hp_real_fill(void);

/* Where the objects begin that were loaded behind ours with the program, up to libc. 0 = no further one. */
uintptr_t hp_real_object(uint32_t i);

/*
 * Resolves all of them on first use. Acquire: a thread that finds the table
 * filled finds all entries.
 */
static inline const struct hp_real *hp_real(void)
{
	if (__builtin_expect(atomic_load_explicit(&hp_real_is_filled, memory_order_acquire) != 0,
			     1))
		return &hp_real_table;
	return hp_real_fill();
}

#endif
