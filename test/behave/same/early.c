/* SPDX-License-Identifier: MIT */
/*
 * early.c - IFUNC resolvers that allocate, lock, read files, make pipes and children, while the loader relocates.
 * Built as a library with -DPART=library and as the program (-DPART=program), which calls both.  What they allocated
 * then is resized and freed later.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(what) JOIN(PART, what)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static void *resized, *freed, *mapped;
static int done;	/* what went as it should, a bit each */

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
	return value;
}

/* Of this object alone: the resolver is asked last, when what it calls is bound. */
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
	return library == 15 && program == 15 ? 0 : 1;
}
#endif
