// SPDX-License-Identifier: MIT
/*
 * faults_more.c - more cases of faults.c: tables that grow, blocks, inherited pipes, a helper that
 * is gone, a namespace without its socket, clients of the live figures.
 *
 *     faults_more PART...
 *
 * The output is always the same, and the status 3, whatever fails below us.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <hotpath.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char **arguments;

static void is(bool claim, int line)
{
	if (!claim) {
		printf("line %d\n", line);
		fflush(stdout);
		_exit(1);
	}
}

#define IS(claim) is(claim, __LINE__)

static void nap(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

/* --- more call paths, functions and locks than the first tables hold --- */

static void *one(unsigned way, int depth);

static __attribute__((noinline)) void *other(unsigned way, int depth)
{
	void *block = one(way, depth);

	__asm__ volatile("" : "+r"(block));
	return block;
}

static __attribute__((noinline)) void *one(unsigned way, int depth)
{
	void *block = depth ? (way & 1 ? one : other)(way >> 1, depth - 1) : malloc(16);

	__asm__ volatile("" : "+r"(block));
	return block;
}

static void paths(void)
{
	for (unsigned way = 0; way < 16384; way++)
		free(one(way, 14));
	printf("paths\n");
}

// clang-format off
#define F(n) static __attribute__((noinline)) int f##n(int i) { return i + 1; }
#define F4(n) F(n##0) F(n##1) F(n##2) F(n##3)
#define F16(n) F4(n##0) F4(n##1) F4(n##2) F4(n##3)
#define F64(n) F16(n##0) F16(n##1) F16(n##2) F16(n##3)
#define F256(n) F64(n##0) F64(n##1) F64(n##2) F64(n##3)
F256(a) F256(b) F256(c)

#define G(n) sum = f##n(sum);
#define G4(n) G(n##0) G(n##1) G(n##2) G(n##3)
#define G16(n) G4(n##0) G4(n##1) G4(n##2) G4(n##3)
#define G64(n) G16(n##0) G16(n##1) G16(n##2) G16(n##3)
#define G256(n) G64(n##0) G64(n##1) G64(n##2) G64(n##3)

static void functions(void)
{
	int sum = 0;

	G256(a) G256(b) G256(c)
	printf("functions %d\n", sum);
}
// clang-format on

static void many(void)
{
	static pthread_mutex_t locks[40000];

	for (int i = 0; i < 40000; i++) {
		pthread_mutex_init(&locks[i], NULL);
		pthread_mutex_lock(&locks[i]);
		pthread_mutex_unlock(&locks[i]);
	}
	printf("many\n");
}

/* --- hotpath.h --- */

static void text(int i)
{
	char line[32];

	HOTPATH_BLOCK("text");
	snprintf(line, sizeof(line), "result %d", i);
	HOTPATH_RESULT(line);
}

static void blocks(void)
{
	for (int i = 0; i < 100; i++)
		text(i);
	printf("blocks\n");
}

/* --- the state of a process at its start, and files with names --- */

static int child_of(pid_t child)
{
	int status = -1;

	IS(child > 0 && waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Executed with a pipe as its input. */
static void reads(void)
{
	char byte[8];

	while (read(0, byte, sizeof(byte)) > 0)
		;
}

static void pipes(void)
{
	char *again[] = { arguments[0], "reads", NULL }, name[] = "/tmp/faults.XXXXXX", path[64];
	char text[8];
	int ends[2];
	pid_t child;

	fflush(stdout);
	IS(pipe(ends) == 0);
	if ((child = fork()) == 0) {
		dup2(ends[0], 0);
		close(ends[1]);
		execv(arguments[0], again);
		_exit(9);
	}
	for (int i = 0; i < 10; i++)
		IS(write(ends[1], "hello", 5) == 5);
	close(ends[0]);
	close(ends[1]);
	IS(child_of(child) == 3 && mkdtemp(name));
	snprintf(path, sizeof(path), "%s/fifo", name);
	IS(mkfifo(path, 0600) == 0);
	int both = open(path, O_RDWR | O_CLOEXEC);
	IS(both >= 0 && write(both, "abc", 3) == 3 && read(both, text, 8) == 3 && close(both) == 0);
	unlink(path);
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/socket", name);
	int to = socket(AF_UNIX, SOCK_DGRAM, 0), from = socket(AF_UNIX, SOCK_DGRAM, 0);
	IS(bind(to, (struct sockaddr *)&at, sizeof(at)) == 0);
	IS(sendto(from, "xyz", 3, 0, (struct sockaddr *)&at, sizeof(at)) == 3 &&
	   recv(to, text, 8, 0) == 3);
	IS(close(to) == 0 && close(from) == 0 && unlink(at.sun_path) == 0 && rmdir(name) == 0);
	printf("pipes\n");
}

/* A child that cannot see the session's socket. */
static void elsewhere(void)
{
	char *again[] = { arguments[0], "blocks", NULL };
	pid_t child;

	fflush(stdout);
	if ((child = fork()) == 0) {
		if (unshare(CLONE_NEWNET) != 0)
			_exit(3);
		freopen("/dev/null", "w", stdout);
		execv(arguments[0], again);
		_exit(9);
	}
	IS(child_of(child) == 3);
	printf("elsewhere\n");
}

/* A program of another name, which HOTPATH_ONLY may leave out. */
static void another(void)
{
	char *program[] = { "true", NULL };
	pid_t child;

	fflush(stdout);
	if ((child = fork()) == 0) {
		execvp("true", program);
		_exit(9);
	}
	IS(child_of(child) == 0);
	printf("another\n");
}

/* The children of a program that waits for any child. */
static void waits(void)
{
	int count = 0;

	fflush(stdout);
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			_exit(0);
	while (wait(NULL) > 0)
		count++;
	printf("waits %d\n", count);
}

/* --- the helper --- */

static void widow(void)
{
	const char *session = getenv("HOTPATH_SESSION"),
		   *pid = session ? strchr(session, ':') : NULL;

	if (pid) {
		kill((pid_t)atoi(pid + 1), SIGKILL);
		nap(20);
	}
	for (int i = 0; i < 10; i++)
		text(i);
	printf("widow\n");
}

static void nothing(int number)
{
	(void)number;
}

/* HOTPATH_SHUTDOWN_MS ends it; if that is refused it continues. */
static void shut(void)
{
	struct sigaction action = { .sa_handler = nothing };

	sigaction(SIGTERM, &action, NULL);
	if (getenv("HOTPATH_SHUTDOWN_MS") && getenv("HP_FAULT"))
		nap(1500);
	printf("shut\n");
}

/* The server's answer does not matter here. */
static void ask(const char *path)
{
	const char *port = getenv("HOTPATH_METRICS_PORT");
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)atoi(port ? port : "0")),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval patience = { 3, 0 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char line[4096];

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (port && connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0) {
		int size = snprintf(line, sizeof(line), "GET %s HTTP/1.0\r\n\r\n", path);

		if (send(fd, line, (size_t)size, MSG_NOSIGNAL) == size)
			while (recv(fd, line, sizeof(line), 0) > 0)
				;
	}
	close(fd);
}

static void visit(void)
{
	static const char *const paths[] = { "/functions_timing",
					     "/functions_alloc",
					     "/threads",
					     "/metrics",
					     "/profiler_status",
					     "/",
					     "/none" };

	nap(200);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		ask(paths[i]);
	printf("visit\n");
}

int main(int count, char **values)
{
	static const struct part {
		const char *name;
		void (*run)(void);
	} parts[] = {
		{ "paths", paths },	    { "functions", functions }, { "many", many },
		{ "blocks", blocks },	    { "reads", reads },		{ "pipes", pipes },
		{ "elsewhere", elsewhere }, { "another", another },	{ "waits", waits },
		{ "widow", widow },	    { "shut", shut },		{ "visit", visit },
	};
	char *self = realpath("/proc/self/exe", NULL);

	arguments = values;
	arguments[0] = self ? self : values[0];
	for (int i = 1; i < count; i++)
		for (size_t j = 0; j < sizeof(parts) / sizeof(parts[0]); j++)
			if (!strcmp(values[i], parts[j].name))
				parts[j].run();
	fflush(stdout);
	return 3;
}
