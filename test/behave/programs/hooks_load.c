/* SPDX-License-Identifier: MIT */
/*
 * hooks_load.c - instrumented libraries that are loaded and unloaded: several
 * at the same address in turn, a library loaded twice by dlmopen, unloaded while
 * another thread runs; it prints the counts that the report must have.
 * Arguments: SCENE COUNT, and the libraries in the folder LIBS.
 */
#include "hooks.h"

#include <dlfcn.h>
#include <pthread.h>

UNSEEN static void *load(const char *name, Lmid_t space)
{
	char path[4096];
	void *handle;

	snprintf(path, sizeof(path), "%s/%s", getenv("LIBS"), name);
	handle = space ? dlmopen(space, path, RTLD_NOW) : dlopen(path, RTLD_NOW);
	if (!handle)
		fprintf(stderr, "%s\n", dlerror());
	DIE_IF(!handle);
	return handle;
}

UNSEEN static void call(void *handle, const char *name, long times)
{
	void (*function)(void) = (void (*)(void))dlsym(handle, name);

	DIE_IF(!function);
	for (long i = 0; i < times; i++)
		function();
}

COUNTER(driver);
SEEN static uintptr_t driver(const char *library, const char *function, long times)
{
	void *handle = load(library, 0);
	uintptr_t at = (uintptr_t)dlsym(handle, function);

	CALLED(driver);
	call(handle, function, times);
	dlclose(handle);
	return at;
}

/* Two libraries with the same layout take turns; `met` is how often they had the same address. */
static void take_turns(long count)
{
	uintptr_t one = 0, two = 0;
	long met = 0;

	for (long i = 0; i < count; i++) {
		one = driver("one.so", "library_one", 3);
		two = driver("two.so", "library_two", 5);
		met += one == two;
	}
	printf("calls library_one %ld\ncalls library_two %ld\n", 3 * count, 5 * count);
	DIE_IF(met == 0);
}

static void turns(long count)
{
	take_turns(count);
	printf("calls shared_name %ld\n", 8 * count);
}

static volatile int stop;

COUNTER(runner);
SEEN static void *runner(void *handle)
{
	CALLED(runner);
	while (!stop)
		call(handle, "library_three", 100);
	return NULL;
}

/* Unloaded while a thread's tables refer to it. */
static void beside(long count)
{
	void *three = load("three.so", 0);
	pthread_t thread;
	long *made;

	made = dlsym(three, "library_three_made");
	DIE_IF(pthread_create(&thread, NULL, runner, three));
	take_turns(count);
	stop = 1;
	pthread_join(thread, NULL);
	printf("calls library_three %ld\n", *made);
	printf("calls shared_name %ld\n", *made + 8 * count);
}

static void spaces(long count)
{
	void *one = load("one.so", 0);
	void *other = load("one.so", LM_ID_NEWLM);

	for (long i = 0; i < count; i++) {
		call(one, "library_one", 1);
		call(other, "library_one", 1);
	}
	DIE_IF(dlsym(one, "library_one") == dlsym(other, "library_one"));
	/* In another namespace, the hooks are the C library's empty ones. */
	printf("calls library_one %ld\n", count);
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "turns", turns },
		{ "beside", beside },
		{ "spaces", spaces },
		{ NULL, NULL },
	};

	return scene_run(scenes, argc, argv);
}
