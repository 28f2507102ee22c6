/* SPDX-License-Identifier: MIT */
/*
 * trust.c ATTACK [ARGUMENT] - starts as root with the library in it; a child drops privileges
 * without exec, and attacks.  For trust.bats.
 *
 * ATTACK `everywhere`: it calls setuid(), and then writes everything that it can. Its parent
 * continues meanwhile, and finally prints "parent N", the number of calls of `parent_works`. The
 * others make the system calls directly, which are invisible, and keep the segment.
 *
 * Numbers are offsets of the format (segment/FORMAT.md), not names: an attacker does not have our
 * headers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534
#define LINE 64
#define LOOKS 4

static char *segment;
static size_t segment_size;

/* A direct system call: it calls nothing that has a hook or a stand-in. */
#define UNSEEN __attribute__((no_instrument_function)) static

UNSEEN long by_instruction(long number, long a, long b, long c, long d)
{
	long result = number;

#if defined(__x86_64__)
	register long fourth __asm__("r10") = d;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(a), "S"(b), "d"(c), "r"(fourth)
			 : "rcx", "r11", "memory");
#else
	result = syscall(number, a, b, c, d);
#endif
	return result;
}

static void segment_find(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;

		if (!strstr(line, "memfd:hotpath") || !strstr(line, " rw-s ") ||
		    sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		segment = (char *)from;
		segment_size = to - from;
	}
	if (maps)
		fclose(maps);
}

static uint64_t *word(uint64_t offset)
{
	return (uint64_t *)(segment + offset);
}

static uint64_t take(uint64_t size)
{
	return atomic_fetch_add((_Atomic uint64_t *)word(64), (size + LINE - 1) & -(uint64_t)LINE);
}

/* header.defaults has the program's HOTPATH_DEFAULTS. */
static int attack_defaults(const char *text)
{
	uint64_t offset = take(4096);
	uint32_t length = (uint32_t)strlen(text);
	uint16_t place = (uint16_t)(offset / LINE);

	if (offset / LINE > UINT16_MAX)
		return 3;
	memcpy(segment + offset, &length, sizeof(length));
	memcpy(segment + offset + sizeof(length), text, length + 1);
	memcpy(segment + 58, &place, sizeof(place));
	return 0;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* Messages of the helper to its members; it first has to learn that this is one. */
static int descriptor_ask(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	int fd = -1, server = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "hotpath-%.16s",
		 segment + 240);
	if (connect(server, (struct sockaddr *)&address,
		    offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address.sun_path + 1)) ==
		    0 &&
	    recvmsg(server, &message, 0) > 0 && CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	close(server);
	return fd;
}

static int attack_size(void)
{
	int fd;

	for (int i = 0; (fd = descriptor_ask()) < 0; i++) {
		if (i == 1000)
			return 8;
		pause_ms(20);
	}
	if (ftruncate(fd, 4096) == 0 || errno != EPERM)
		return 9;
	return ftruncate(fd, (off_t)segment_size * 2) == 0 || errno != EPERM ? 10 : 0;
}

static uint32_t *half(uint64_t offset)
{
	return (uint32_t *)(segment + offset);
}

/* the helper's struct hp_watch; 0 = not created yet. */
static uint64_t watch_place(void)
{
	return *(volatile uint64_t *)word(232);
}

static uint64_t looks(void)
{
	return *(volatile uint64_t *)word(watch_place() + 24);
}

static void *idle(void *unused)
{
	for (;;)
		pause_ms(1000);
	return unused;
}

/* The helper needs a row, a point, or an event to write. */
static void give_work(void)
{
	static volatile uint64_t work;
	pthread_t thread;

	if (pthread_create(&thread, NULL, idle, NULL) == 0)
		pthread_detach(thread);
	for (int i = 0; i < 10000000; i++)
		work++;
}

/* The location of the helper's numbers that it used to read again before writing. False = not
 * yet. */
static bool spoil(const char *what)
{
	uint64_t watch = watch_place();
	uint64_t sampling = *word(watch + 56), sizes = (uint64_t)*half(watch + 20) * LINE;
	uint64_t events = sampling ? *word(sampling + 96) : 0;

	if (strcmp(what, "rows") == 0) {
		*half(watch + 12) = 0x0fffffff;
		*half(watch + 16) = 0x10000000;
	} else if (strcmp(what, "sizes") == 0 && sizes) {
		*half(sizes) = 0x10000000;
		*half(sizes + 4) = 0x0fffffff;
		*half(sizes + 8) = 0;
	} else if (strcmp(what, "events") == 0 && events) {
		*half(events + 8) = 0x10000000;
		*half(events + 12) = 0x0fffffff;
	} else {
		return false;
	}
	return true;
}

/* Until the helper has scanned some times since, or is gone. */
static int attack_numbers(const char *what)
{
	pid_t helper = (pid_t)*half(200);
	uint64_t until = 0;

	for (int i = 0; i < 1000 && !watch_place(); i++)
		pause_ms(20);
	if (!watch_place())
		return 8;
	for (int i = 0; i < 1000 && (!until || looks() < until); i++) {
		if (kill(helper, 0) < 0 && errno == ESRCH)
			return 9;
		if (spoil(what) && !until)
			until = looks() + LOOKS;
		give_work();
	}
	return !until || looks() < until ? 10 : 0;
}

/* A kept run's file name is made of its start, its first process, and that process's name. */
static int attack_begin(const char *argument)
{
	unsigned long long created;
	unsigned pid;
	uint64_t record = *word(80);

	if (sscanf(argument, "%llu %u", &created, &pid) != 2)
		return 8;
	*word(48) = created;
	*half(192) = pid;
	for (; record; record = *word(record))
		*half(record + 12) = pid;
	return 0;
}

/* Field 22 of its stat file. */
static uint64_t start_time(const char *pid)
{
	char path[64], text[1024] = "";
	unsigned long long ticks = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	file = fopen(path, "r");
	if (file && fgets(text, sizeof(text), file) && strrchr(text, ')'))
		sscanf(strrchr(text, ')') + 1,
		       " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
		       "%*d %llu",
		       &ticks);
	if (file)
		fclose(file);
	return ticks;
}

/* A record of a process that was never of this session; then waits for the session's end. */
static int attack_pid(const char *pid)
{
	uint64_t record = *word(80), forged = take(192);

	if (!record || !start_time(pid))
		return 8;
	memcpy(segment + forged, segment + record, 192);
	*half(forged + 12) = (uint32_t)atoi(pid);
	*word(forged + 56) = 0;
	*word(forged + 136) = start_time(pid);
	*word(forged) = record;
	*word(80) = forged;
	for (;;)
		pause_ms(1000);
}

static int attack(const char *what, const char *argument)
{
	if (strcmp(what, "defaults") == 0)
		return attack_defaults(argument);
	if (strcmp(what, "size") == 0)
		return attack_size();
	if (strcmp(what, "begin") == 0)
		return attack_begin(argument);
	if (strcmp(what, "numbers") == 0)
		return attack_numbers(argument);
	if (strcmp(what, "pid") == 0)
		return attack_pid(argument);
	return 4;
}

/* ---- everywhere ---- */

/* Everything that a process of this user can read of another, or do to it. */
static int others_are_out_of_reach(pid_t pid)
{
	char path[64];
	int fd;

	if (kill(pid, 0) == 0 || errno != EPERM)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	if ((fd = open(path, O_RDWR)) >= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/fd/3", (int)pid);
	if ((fd = open(path, O_RDWR)) >= 0)
		return 0;
	return ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0;
}

static int precious = 42;
static size_t segment_used;
static struct {
	volatile uint64_t *words;
	size_t count;
} mapped[16];
static int mapped_count;

/* The old place of the segment, and all mappings visible to everyone. */
static void mapped_find(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	mapped[0].words = (volatile uint64_t *)segment;
	mapped[0].count = segment_used / sizeof(uint64_t);
	mapped_count = 1;
	while (maps && fgets(line, sizeof(line), maps) && mapped_count < 16) {
		unsigned long from, to;

		if (!strstr(line, "memfd:hotpath") || !strstr(line, " rw-s ") ||
		    sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		mapped[mapped_count].words = (volatile uint64_t *)from;
		mapped[mapped_count++].count =
			(to - from < 1 << 20 ? to - from : 1 << 20) / sizeof(uint64_t);
	}
	if (maps)
		fclose(maps);
}

UNSEEN void overwrite_all(uint64_t with)
{
	for (int i = 0; i < mapped_count; i++)
		for (size_t j = 0; j < mapped[i].count; j++)
			mapped[i].words[j] = with;
}

UNSEEN int attack_everywhere(pid_t helper, int to_parent)
{
	const uint64_t values[] = {
		(uint64_t)(uintptr_t)&precious, 0, UINT64_MAX, 4096, UINT64_C(0x4141414141414141),
		(uint64_t)(uintptr_t)segment
	};
	const struct timespec nap = { 0, 10000000 };
	struct stat status;
	int fd;

	/* It has its own segment now, and cannot access any other. */
	free(malloc(1000));
	if (!others_are_out_of_reach(getppid()) || !others_are_out_of_reach(helper))
		return 9;
	fd = descriptor_ask();
	if (fd < 0 || fstat(fd, &status) != 0 || status.st_uid != 0)
		return 14;
	if (ftruncate(fd, 4096) == 0)
		return 10;
	mapped_find();
	if (mapped_count < 2)
		return 15;
	/* Parent and helper see it in that state. */
	for (int i = 0; i < 60; i++) {
		overwrite_all(values[i % 6]);
		if (i == 6 && by_instruction(SYS_write, to_parent, (long)"x", 1, 0) != 1)
			return 11;
		if (i >= 6)
			by_instruction(SYS_nanosleep, (long)&nap, 0, 0, 0);
	}
	return 0;
}

__attribute__((noinline)) static void parent_works(void)
{
	void *volatile block = malloc(24);

	free(block);
}

static int drop(void);
UNSEEN void leave(int status);

static int everywhere(void)
{
	pid_t helper = (pid_t)*half(200);
	int ends[2], status, count = 0;
	char byte;

	segment_used = *word(64);
	for (; count < 1000; count++)
		parent_works();
	if (pipe(ends) != 0)
		return 8;
	pid_t child = fork();
	if (child == 0) {
		int result = drop();

		leave(result ? 5 : attack_everywhere(helper, ends[1]));
	}
	close(ends[1]);
	if (child < 0 || read(ends[0], &byte, 1) != 1) {
		wait(&status);
		return WIFEXITED(status) ? WEXITSTATUS(status) : 12;
	}
	for (; waitpid(child, &status, WNOHANG) == 0; count++)
		parent_works();
	for (int i = 0; i < 1000; i++, count++)
		parent_works();
	if (precious != 42)
		return 13;
	printf("parent %d\n", count);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 7;
}

/* ---- */

UNSEEN void leave(int status)
{
	by_instruction(SYS_exit_group, status, 0, 0, 0);
}

static int drop(void)
{
	return setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY) || setuid(0) == 0;
}

/* And it maps the segment once more, since its library unmaps the old place as soon as it
 * notices. */
static int drop_unseen(void)
{
	long again;

	if (setgroups(0, NULL) || by_instruction(SYS_setgid, NOBODY, 0, 0, 0) ||
	    by_instruction(SYS_setuid, NOBODY, 0, 0, 0) || setuid(0) == 0)
		return 1;
	again = by_instruction(SYS_mremap, (long)segment, 0, (long)segment_size, MREMAP_MAYMOVE);
	if (again < 0 && again > -4096)
		return 1;
	segment = (char *)again;
	return 0;
}

int main(int argc, char **argv)
{
	int status = 0;

	segment_find();
	if (argc < 2 || !segment)
		return 2;
	if (strcmp(argv[1], "everywhere") == 0)
		return everywhere();
	pid_t child = fork();
	if (child == 0)
		_exit(drop_unseen() ? 5 : attack(argv[1], argc > 2 ? argv[2] : ""));
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 6;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 7;
}
