/* SPDX-License-Identifier: MIT */
/*
 * locks_reuse.c - locks files whose descriptors have mostly the same number, since each was closed
 * or replaced in another way.  Prints how often each was locked.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int next;
static int files[64];	/* by descriptor: the number of its file */
static int counts[64];	/* by file */

static int opened(void)
{
	char path[16];
	int fd;

	snprintf(path, sizeof(path), "file%02d", next);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	files[fd] = next++;
	return fd;
}

static void lock(int fd, int times)
{
	for (int i = 0; i < times; i++)
		if (flock(fd, LOCK_EX) || flock(fd, LOCK_UN))
			exit(1);
	counts[files[fd]] += times;
}

static void copies(int fd)
{
	int other = opened();

	lock(other, 10);
	dup2(other, fd);
	files[fd] = files[other];
	lock(fd, 10);
	close(other);
	other = opened();
	dup3(other, fd, O_CLOEXEC);
	files[fd] = files[other];
	lock(fd, 10);
	close(other);
}

static int streams(int fd)
{
	FILE *file = fdopen(fd, "r+");
	DIR *dir;

	fclose(file);
	fd = opened();
	lock(fd, 10);
	file = fdopen(fd, "r+");
	file = freopen("file31", "w+", file);
	files[fileno(file)] = 31;
	lock(fileno(file), 10);
	fclose(file);
	mkdir("file32", 0700);
	dir = opendir("file32");
	files[dirfd(dir)] = 32;
	lock(dirfd(dir), 10);
	closedir(dir);
	return opened();
}

/* Each has descriptors of its own; the first one also memory. */
static void children(int fd)
{
	int other;

	if (fork() == 0) {
		lock(fd, 10);
		close(fd);
		fd = open("file33", O_RDWR | O_CREAT, 0600);
		lock(fd, 10);
		_exit(0);
	}
	wait(NULL);
	counts[files[fd]] += 10;
	counts[33] += 10;
	lock(fd, 10);
	other = opened();
	lock(other, 10);
	if (vfork() == 0) {
		close(other);
		open("file34", O_RDWR | O_CREAT, 0600);
		lock(other, 10);
		_exit(0);
	}
	wait(NULL);
	counts[files[other]] -= 10;
	counts[34] += 10;
	lock(other, 10);
}

/* Nobody sees that. */
static int closed_by_instruction(int fd)
{
#ifdef __x86_64__
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_close), "D"(fd)
			 : "rcx", "r11", "memory");
	fd = opened();
#endif
	return fd;
}

int main(void)
{
	int fd = opened();

	lock(fd, 100);
	close(fd), fd = opened();
	lock(fd, 10);
	syscall(SYS_close, fd), fd = opened();
	lock(fd, 10);
	close_range(fd, fd, 0), fd = opened();
	lock(fd, 10);
	closefrom(fd), fd = opened();
	lock(fd, 10);
	copies(fd);
	fd = streams(fd);
	children(fd);
	next = 40;
	close(fd), fd = opened();
	lock(fd, 10);
	fd = closed_by_instruction(fd);
	lock(fd, 100);
	fd = closed_by_instruction(fd);
	lock(fd, 10);
	for (int i = 0; i < 64; i++)
		if (counts[i])
			printf("file%02d %d\n", i, counts[i]);
	return 0;
}
