/* SPDX-License-Identifier: MIT */
/*
 * drop.c WAY [NUMBER] - a root that drops privileges in place.  For trust.bats.
 *
 * `prepared` is called 10 times before, and `worked` 7 times after.  WAY:
 *
 *   threads N   N threads call `spins` meanwhile; "spins N" says how often
 *   held        200,000 blocks of 40 bytes are held then, and freed afterwards
 *   back        the effective user alone, which is taken back: no rights are given up
 *   vfork       a child of vfork does it, and ends
 *   capable     capabilities alone: the user stays 0
 *   names       by a user namespace
 *   numbered    by syscall()
 *   nowhere     in two steps in a network namespace, where no helper answers
 *   twice       in two steps, capabilities first
 *   limited    and can open no further file, before anything else is recorded
 *
 * A segment that is mapped for all to see is printed: "SEGMENT before INODE", "SEGMENT after INODE".
 */
#define _GNU_SOURCE
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define USER 65534
#define THREADS_MAX 8
#define HELD 200000

int capset(void *header, const void *data);

static volatile unsigned long work;
static _Atomic bool is_done;
static _Atomic unsigned long spun;

__attribute__((noinline)) static void prepared(void)
{
	for (int i = 0; i < 100; i++)
		work++;
}

__attribute__((noinline)) static void worked(void)
{
	for (int i = 0; i < 100; i++)
		work++;
}

__attribute__((noinline)) static void spins(void)
{
	work++;
}

__attribute__((no_instrument_function)) static void *spin(void *lock)
{
	unsigned long count = 0;

	for (; !is_done; count++) {
		void *volatile block = malloc(40);

		spins();
		pthread_mutex_lock(lock);
		pthread_mutex_unlock(lock);
		free(block);
	}
	spun += count;
	return NULL;
}

__attribute__((no_instrument_function)) static void segments_print(const char *when)
{
	char line[512], access[8];
	unsigned long inode, last = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:hotpath") &&
		    sscanf(line, "%*s %7s %*s %*s %lu", access, &inode) == 2 &&
		    strcmp(access, "rw-s") == 0 && inode != last)
			printf("SEGMENT %s %lu\n", when, last = inode);
	if (maps)
		fclose(maps);
}

__attribute__((no_instrument_function)) static bool drop_ids(void)
{
	return setgroups(0, NULL) == 0 && setgid(USER) == 0 && setuid(USER) == 0;
}

/* All but the one to change users. */
static bool drop_capabilities(void)
{
	struct __user_cap_header_struct who = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct what[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	what[0].effective = what[0].permitted = 1U << CAP_SETUID | 1U << CAP_SETGID;
	return capset(&who, what) == 0;
}

static bool drop_in_child(void)
{
	int status = -1;
	pid_t child = vfork();

	if (child == 0)
		_exit(setuid(USER) == 0 ? 0 : 1);
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

__attribute__((no_instrument_function)) static bool drop(const char *way)
{
	if (strcmp(way, "back") == 0)
		return seteuid(USER) == 0;
	if (strcmp(way, "vfork") == 0)
		return drop_in_child();
	if (strcmp(way, "capable") == 0)
		return drop_capabilities();
	if (strcmp(way, "names") == 0)
		return unshare(CLONE_NEWUSER) == 0;
	if (strcmp(way, "numbered") == 0)
		return syscall(SYS_setresgid, USER, USER, USER) == 0 &&
		       syscall(SYS_setresuid, USER, USER, USER) == 0;
	if (strcmp(way, "nowhere") == 0)
		return unshare(CLONE_NEWNET) == 0 && drop_capabilities();
	if (strcmp(way, "limited") == 0)
		return drop_ids() && setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 3, 3 }) == 0;
	return drop_ids();
}

static void work_on(const char *way)
{
	for (int i = 0; i < 7; i++)
		worked();
	if (strcmp(way, "back") == 0 && seteuid(0) != 0)
		exit(8);
	if ((strcmp(way, "twice") == 0 || strcmp(way, "nowhere") == 0) && !drop_ids())
		exit(8);
}

int main(int argc, char **argv)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t ids[THREADS_MAX];
	static void *held[HELD];
	const char *way = argc > 1 ? argv[1] : "";

	for (int i = 0; i < 10; i++)
		prepared();
	for (int i = 0; i < HELD; i++)
		held[i] = strcmp(way, "held") == 0 ? malloc(40) : NULL;
	segments_print("before");
	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, spin, &lock) != 0)
			return 7;
	if (!drop(strcmp(way, "twice") == 0 ? "capable" : way))
		return 9;
	work_on(way);
	segments_print("after");
	is_done = true;
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	for (int i = 0; i < HELD; i++)
		free(held[i]);
	printf("spins %lu\n", spun);
	return 3;
}
