/* SPDX-License-Identifier: MIT */
/*
 * storm_load.c - threads that continually open, call and close libraries, so that each address
 * belongs to one library now and to another the next moment. It prints "NAME CALLS" for their
 * calls, and "shared" if the same address was seen in two libraries.
 *
 *   storm_load plugins FOLDER THREADS ROUNDS    those of storm_plugin.c
 *   storm_load objects FOLDER THREADS ROUNDS    those of storm_object.cc; threads end and begin, too
 *   storm_load ends FOLDER                      closed in an atexit handler, in another namespace, all again and again
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNSEEN __attribute__((no_instrument_function))
#define PLUGINS 8
#define PLACES 4096

static const char *folder;
static long rounds;
static int threads;
static _Atomic long calls[PLUGINS];
static _Atomic int holder[PLACES];
static _Atomic long shared;

struct count {
	_Atomic(const char *) name;
	_Atomic long calls;
};
static struct count counts[64];

/* Called by the objects, whose strings are unloaded with them. */
UNSEEN void said(const char *name)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int i = 0;

	pthread_mutex_lock(&lock);
	while (counts[i].name && strcmp(counts[i].name, name) != 0)
		i++;
	if (!counts[i].name)
		counts[i].name = strdup(name);
	counts[i].calls++;
	pthread_mutex_unlock(&lock);
}

UNSEEN static void *load(char letter, Lmid_t space)
{
	char path[4096];
	void *handle;

	snprintf(path, sizeof(path), "%s/%c.so", folder, letter);
	handle = space ? dlmopen(space, path, RTLD_NOW) : dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(9);
	}
	return handle;
}

UNSEEN static void *entry_of(void *handle, int which)
{
	void *entry = dlsym(handle, "entry");
	int before = atomic_exchange(&holder[((uintptr_t)entry >> 12) % PLACES], which + 1);

	shared += before && before != which + 1;
	return entry;
}

UNSEEN static void unload(void *handle)
{
	if (dlclose(handle))
		exit(8);
}

UNSEEN static void *plugins(void *arg)
{
	unsigned state = (unsigned)(uintptr_t)arg + 1;

	for (long i = 0; i < rounds; i++) {
		int which = rand_r(&state) % PLUGINS;
		void *handle = load((char)('a' + which), 0);
		void (*entry)(void) = (void (*)(void))entry_of(handle, which);

		for (int n = 0; n <= which; n++)
			entry();
		calls[which] += which + 1;
		unload(handle);
	}
	return NULL;
}

UNSEEN static void *objects(void *arg)
{
	unsigned state = (unsigned)(uintptr_t)arg + 1;

	for (int i = 0; i < 20; i++) {
		int which = rand_r(&state) % 3;
		void *handle = load((char)('A' + which), 0);
		void (*entry)(int) = (void (*)(int))entry_of(handle, which);

		entry(i % 8 == 7);
		unload(handle);
	}
	return NULL;
}

UNSEEN static void run(void *(*what)(void *), int first)
{
	pthread_t thread[16];

	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, what, (void *)(uintptr_t)(first + i)))
			exit(7);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

static void *last;

UNSEEN static void print(void)
{
	for (int i = 0; i < PLUGINS; i++)
		if (calls[i])
			printf("get_%c %ld\ninner_%c %ld\nouter_%c %ld\n", 'a' + i, 2 * calls[i],
			       'a' + i, 2 * calls[i], 'a' + i, (long)calls[i]);
	for (int i = 0; counts[i].name; i++)
		printf("%s %ld\n", counts[i].name, (long)counts[i].calls);
	if (shared)
		puts("shared");
	fflush(stdout);
}

UNSEEN static void call_last(void)
{
	((void (*)(void))entry_of(last, 0))();
	calls[0]++;
	unload(last);
	last = load('b', 0);
	((void (*)(void))entry_of(last, 1))();
	calls[1]++;
	unload(last);
	print();
}

UNSEEN static void ends(void)
{
	for (int i = 0; i < 40; i++) {
		void *apart = load('a', LM_ID_NEWLM);
		void *here = load('b', 0);

		/* Code in another namespace calls the hooks of that one's C library. */
		((void (*)(void))dlsym(apart, "entry"))();
		((void (*)(void))entry_of(here, 1))();
		calls[1]++;
		unload(apart);
		((void (*)(void))dlsym(here, "entry"))();
		calls[1]++;
		unload(here);
	}
	/* Its destructor closes another one. */
	for (int i = 0; i < 40; i++)
		unload(load('D', 0));
	atexit(call_last);
	last = load('a', 0);
}

UNSEEN int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	folder = argv[2];
	if (argc < 5) {
		ends();
		return 0;
	}
	threads = atoi(argv[3]);
	rounds = atol(argv[4]);
	if (strcmp(argv[1], "plugins") == 0)
		run(plugins, 0);
	else
		for (long i = 0; i < rounds; i++)
			run(objects, (int)i * threads);
	/* Those kept loaded for threads are unloaded with the next one that is. */
	if (calls[0] == 0)
		unload(load('A', 0));
	print();
	return 0;
}
