/* SPDX-License-Identifier: MIT */
/*
 * early.c - IFUNC resolvers that allocate, lock, read files, create pipes and children, and make
 * failing system calls, while the loader relocates.
 * Built as a library with -DPART=library and as the program (-DPART=program), which calls both.
 * Their allocations are resized and freed later.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(what) JOIN(PART, what)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static void *resized, *freed, *mapped;
static int done;	/* the successful checks, one bit each */

static void allocate(void)
{
	void *aligned = NULL;
	char *zeroed = calloc(10, 10);

	freed = malloc(77);
	resized = malloc(100);
	if (freed && resized && zeroed && !zeroed[99] && posix_memalign(&aligned, 256, 10) == 0 &&
	    (resized = realloc(resized, 100000)))
		done |= 1;
	strcpy(resized, "kept");
	free(zeroed);
	free(aligned);
}

static void lock(void)
{
	if (pthread_mutex_lock(&mutex) == 0 && pthread_mutex_trylock(&mutex) != 0 &&
	    pthread_mutex_unlock(&mutex) == 0 && pthread_rwlock_wrlock(&rwlock) == 0 &&
	    pthread_rwlock_unlock(&rwlock) == 0 && sem_init(&semaphore, 0, 1) == 0 &&
	    sem_wait(&semaphore) == 0 && sem_post(&semaphore) == 0)
		done |= 2;
}

static void use_files(void)
{
	char text[64] = "";
	int ends[2], fd = open("/proc/self/maps", O_RDONLY), copy = dup(fd);
	FILE *file = fopen("/proc/self/maps", "r");

	if (fd >= 0 && read(fd, text, 20) == 20 && close(fd) == 0 && close(copy) == 0 && file &&
	    fgets(text, sizeof(text), file) && fclose(file) == 0 && pipe(ends) == 0 &&
	    write(ends[1], "x", 1) == 1 && read(ends[0], text, 1) == 1 && close(ends[0]) == 0 &&
	    close(ends[1]) == 0)
		done |= 4;
}

static void map(void)
{
	mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped != MAP_FAILED && munmap(mapped, 4096) == 0)
		done |= 8;
}

static int ends_with(pid_t child, int code)
{
	int status = 0;

	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == code;
}

static pid_t fork_and(int does_exec)
{
	char *arguments[] = { "true", NULL }, *environment[] = { NULL };
	pid_t child = fork();

	if (child != 0)
		return child;
	if (does_exec) {
		execve("/bin/nothing", arguments, environment);
		execve("/bin/true", arguments, environment);
	}
	free(malloc(10));
	_exit(7);
}

static void make_children(void)
{
	char *arguments[] = { "true", NULL }, *environment[] = { NULL };
	pid_t child = -1;

	if (ends_with(fork_and(0), 7) && ends_with(fork_and(1), 0) &&
	    posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environment) == 0 &&
	    ends_with(child, 0))
		done |= 16;
	child = vfork();
	if (child == 0)
		_exit(8);
	if (!ends_with(child, 8))
		done &= ~16;
}

static void fail(void)
{
	if (syscall(SYS_close, -1) == -1 && syscall(SYS_getpid) == getpid() && close(-1) == -1 &&
	    read(-1, NULL, 0) == -1)
		done |= 32;
}

static int value(void)
{
	return done;
}

static __attribute__((used)) int (*resolve(void))(void)
{
	allocate();
	lock();
	use_files();
	map();
	make_children();
	fail();
	return value;
}

/* Only in this object: the resolver runs last, when its callees are bound. */
static int inner(void) __attribute__((ifunc("resolve")));

int NAME(value)(void);
int NAME(value)(void)
{
	int got = inner();

	resized = realloc(resized, 200000);
	printf("%s\n", (char *)resized);
	free(resized);
	free(freed);
	return got;
}

#ifdef IS_PROGRAM
int library_value(void);

int main(void)
{
	int library = library_value(), program = program_value();

	printf("%d %d\n", library, program);
	return library == 63 && program == 63 ? 0 : 1;
}
#endif
