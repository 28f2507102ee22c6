/* SPDX-License-Identifier: MIT */
/*
 * absent.c - asks preload/guest/absent.h for q(), which two libraries define, as code in each of
 * their two users would; and again after one of them is closed and a third one has taken its place.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "preload/guest/absent.c"
#include "preload/guest/dynamic.c"

static struct hp_absent real = HP_ABSENT("q");
static struct hp_absent only_b = HP_ABSENT("only_b");

static void say(const char *name, void *user)
{
	int (*q)(void) = user ? (int (*)(void))hp_absent_real(&real, (uintptr_t)user) : NULL;

	printf("%s %d\n", name, q ? q() : -1);
}

static void *open_user(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		puts(dlerror());
	return handle;
}

int main(int argc, char **argv)
{
	void *a, *b;

	(void)argc;
	errno = 77;
	printf("none %d\n", hp_absent_real(&real, (uintptr_t)main) == NULL);
	printf("errno %d\n", errno);
	a = open_user(argv[1]);
	b = open_user(argv[2]);
	say("a", dlsym(a, "user"));
	say("b", dlsym(b, "user"));
	say("a", dlsym(a, "user"));
	say("load order", (void *)(uintptr_t)main);
	for (int i = 0; i < 2; i++)
		printf("beside %d\n",
		       hp_absent_beside(&only_b, dlsym(b, "user")) == dlsym(b, "only_b"));
	printf("not beside %d\n", hp_absent_beside(&only_b, dlsym(a, "user")) == NULL);
	printf("kept %d\n", hp_absent_known(&only_b, (uintptr_t)dlsym(b, "user")) != NULL);
	dlclose(a);
	hp_absent_forget();
	printf("dropped %d\n", hp_absent_known(&only_b, (uintptr_t)dlsym(b, "user")) == NULL);
	say("load order", (void *)(uintptr_t)main);
	return 0;
}
