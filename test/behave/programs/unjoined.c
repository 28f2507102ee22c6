/* SPDX-License-Identifier: MIT */
/*
 * unjoined.c USER WAY... - starts children as root that drop their rights before anything is
 * recorded about them.  The parent prints "root PID INODE" first, then each child "WAY PID INODE":
 * INODE is the segment that it has mapped writable at its end.  For trust.bats.
 *
 * WAY:
 *   stay    the child of fork() drops, calls `worked` 7 times, and exits
 *   quiet   it drops and calls _exit: nothing else
 *   killed  it drops and is killed
 *   busy    the same after 200 ms of CPU time
 *   exec    it drops, and becomes this program again, which calls `worked` 7 times
 *   vfork   the same by vfork()
 *   later   the child of fork() becomes this program again, which drops before its first function
 */
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNSEEN __attribute__((no_instrument_function)) static

static volatile unsigned long work;
static unsigned user;

__attribute__((noinline)) static void worked(void)
{
	for (int i = 0; i < 100; i++)
		work++;
}

/* Without the C library's files, which allocate. */
UNSEEN void segment_print(const char *way)
{
	static char text[1 << 20];
	size_t size = 0;
	ssize_t got;
	unsigned long inode = 0;
	char access[8];
	int fd = open("/proc/self/maps", O_RDONLY);

	while ((got = read(fd, text + size, sizeof(text) - 1 - size)) > 0)
		size += (size_t)got;
	close(fd);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (strstr(line, "memfd:hotpath") &&
		    (sscanf(line, "%*s %7s %*s %*s %lu", access, &inode) != 2 ||
		     strcmp(access, "rw-s") != 0))
			inode = 0;
		else if (inode)
			break;
	dprintf(1, "%s %d %lu\n", way, (int)getpid(), inode);
}

UNSEEN int drop(void)
{
	return setgid(user) || initgroups("nobody", user) || setuid(user) || setuid(0) == 0;
}

UNSEEN void burn(void)
{
	struct timespec now = { 0, 0 };

	while (now.tv_sec == 0 && now.tv_nsec < 200000000)
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
}

UNSEEN int works(const char *way)
{
	for (int i = 0; i < 7; i++)
		worked();
	segment_print(way);
	return 0;
}

UNSEEN void again(char *number, char *way, const char *word)
{
	execl("/proc/self/exe", "unjoined", number, way, word, (char *)NULL);
	_exit(8);
}

UNSEEN int child(char *number, char *way)
{
	if (strcmp(way, "later") == 0)
		again(number, way, "drops");
	if (drop())
		return 9;
	if (strcmp(way, "exec") == 0 || strcmp(way, "vfork") == 0)
		again(number, way, "works");
	if (strcmp(way, "busy") == 0)
		burn();
	if (strcmp(way, "stay") != 0)
		segment_print(way);
	if (strcmp(way, "killed") == 0 || strcmp(way, "busy") == 0)
		kill(getpid(), SIGKILL);
	return strcmp(way, "stay") == 0 ? works(way) : 0;
}

__attribute__((no_instrument_function)) int main(int argc, char **argv)
{
	int status;

	user = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
	if (argc == 4 && strcmp(argv[3], "works") == 0)
		return works(argv[2]);
	if (argc == 4 && strcmp(argv[3], "drops") == 0)
		return drop() ? 9 : works(argv[2]);
	worked();
	segment_print("root");
	for (int i = 2; i < argc; i++) {
		pid_t pid = strcmp(argv[i], "vfork") == 0 ? vfork() : fork();

		if (pid == 0) {
			status = child(argv[1], argv[i]);
			if (strcmp(argv[i], "stay") == 0)
				exit(status);
			_exit(status);
		}
		if (waitpid(pid, &status, 0) != pid)
			return 3;
		if (status != 0 && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
			return 4;
	}
	return 0;
}
