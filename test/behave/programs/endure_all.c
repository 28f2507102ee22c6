/* SPDX-License-Identifier: MIT */
/*
 * endure_all.c - continually creates and destroys all kinds of objects of a long-lived program:
 * threads, files, pipes, socket pairs, mutexes, streams, libraries, processes by fork and by
 * posix_spawn. A round is the same each time; at the end it prints how many there were.
 *
 *   endure_all LIBRARY SECONDS LEAST    until SECONDS are over, at least LEAST rounds
 *   endure_all child                    the child that it spawns
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static const char *program, *library;

#define NOINLINE __attribute__((noinline))

static NOINLINE void through(int out, int in)
{
	char text[64] = "what goes through";

	if (write(out, text, sizeof(text)) != sizeof(text) ||
	    read(in, text, sizeof(text)) != sizeof(text))
		exit(2);
	close(out);
	close(in);
}

static NOINLINE void pipes(void)
{
	int ends[2];

	if (pipe(ends))
		exit(2);
	through(ends[1], ends[0]);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(2);
	through(ends[1], ends[0]);
}

static NOINLINE void files(void)
{
	char path[] = "/tmp/hotpath-endure.XXXXXX";
	int fd = mkstemp(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");

	if (!file)
		exit(2);
	fprintf(file, "%s\n", path);
	fclose(file);
	unlink(path);
}

static NOINLINE void locks(void)
{
	pthread_mutex_t *lock = malloc(sizeof(*lock));
	sem_t semaphore;

	pthread_mutex_init(lock, NULL);
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
	pthread_mutex_destroy(lock);
	free(lock);
	sem_init(&semaphore, 0, 1);
	sem_wait(&semaphore);
	sem_destroy(&semaphore);
}

static NOINLINE void *thread(void *arg)
{
	void *volatile block = malloc(1000);

	locks();
	free(block);
	return arg;
}

static NOINLINE void threads(void)
{
	pthread_t each[3];

	for (int i = 0; i < 3; i++)
		if (pthread_create(&each[i], NULL, thread, NULL))
			exit(2);
	for (int i = 0; i < 3; i++)
		pthread_join(each[i], NULL);
}

static NOINLINE void libraries(void)
{
	void *handle = dlopen(library, RTLD_NOW);

	if (!handle)
		exit(2);
	((void (*)(void))dlsym(handle, "entry"))();
	dlclose(handle);
}

static NOINLINE void maps(void)
{
	char *map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	map[0] = 1;
	munmap(map, 65536);
}

static NOINLINE void forked(void)
{
	_exit(0);
}

static NOINLINE void processes(void)
{
	char *argv[] = { (char *)program, "child", NULL };
	pid_t pid = fork();

	if (pid == 0)
		forked();
	waitpid(pid, NULL, 0);
	if (posix_spawn(&pid, program, NULL, NULL, argv, environ))
		exit(2);
	waitpid(pid, NULL, 0);
}

static NOINLINE void round_of_all(long n)
{
	pipes();
	files();
	locks();
	threads();
	libraries();
	maps();
	if (n % 10 == 0)
		processes();
}

int main(int argc, char **argv)
{
	time_t end = argc > 3 ? time(NULL) + atol(argv[2]) : 0;
	long rounds = 0;

	if (argc < 4)
		return 0;
	program = argv[0];
	library = argv[1];
	while (time(NULL) < end || rounds < atol(argv[3]))
		round_of_all(rounds++);
	printf("%ld\n", rounds);
	return 0;
}
