/* SPDX-License-Identifier: MIT */
/* memory.c - locked and hidden memory, libraries that are loaded and unloaded: each scene ends as it
 * does without a guest. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "scene.h"

/* A line of /proc/self/status, in kB. */
static long status_kb(const char *name)
{
	char line[256];
	long value = -1;
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, name, strlen(name)) == 0)
			value = atol(line + strlen(name) + 1);
	if (file)
		fclose(file);
	return value;
}

static void say_locked(const char *what, int result)
{
	int error = errno;
	long locked = status_kb("VmLck");

	printf("%s: %d %s, locked %s\n", what, result, result ? strerror(error) : "",
	       locked == 0	   ? "nothing"
	       : locked < 500	   ? "little"
	       : locked < 64 << 10 ? "all"
				   : "too much");
}

static void *small_thread(void *arg)
{
	free(malloc(5000));
	return arg;
}

static void lock_in_all_ways(void)
{
	static const int flags[] = { 0,
				     MCL_CURRENT,
				     MCL_FUTURE,
				     MCL_CURRENT | MCL_FUTURE,
				     9,
				     MCL_CURRENT | MCL_ONFAULT,
				     MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT };
	pthread_attr_t attributes;
	pthread_t thread;
	char what[16];

	mallopt(M_ARENA_MAX, 1);	/* another one is 64 MiB of address space */
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		int result = mlockall(flags[i]);
		snprintf(what, sizeof(what), "flags %d", flags[i]);
		say_locked(what, result);
		void *block = malloc(200000);
		check(block != NULL, "malloc");
		for (int n = 0; n < 8; n++) {
			check(pthread_create(&thread, &attributes, small_thread, NULL) == 0,
			      "thread");
			pthread_join(thread, NULL);
		}
		free(block);
		munlockall();
		say_locked("unlocked", 0);
	}
	/* Current mappings only, after future ones. */
	mlockall(MCL_FUTURE);
	mlockall(MCL_CURRENT);
	long before = status_kb("VmLck");
	mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("later mappings %s\n", status_kb("VmLck") < before + 1000 ? "free" : "locked");
	munlockall();
}

static void lock_all(void)
{
	lock_in_all_ways();
	mlockall(MCL_CURRENT | MCL_FUTURE);
	for (int i = 0; i < 100; i++)
		check(malloc(1 << 20) != NULL, "malloc");
	printf("100 MiB more: %s\n", status_kb("VmLck") < 200 << 10 ? "locked" : "too much locked");
}

static void lock_all_user(void)
{
	struct rlimit limit = { 20 << 20, 20 << 20 };

	setrlimit(RLIMIT_MEMLOCK, &limit);
	if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
		return;
	lock_in_all_ways();
	limit = (struct rlimit){ 1 << 20, 1 << 20 };
	setrlimit(RLIMIT_MEMLOCK, &limit);
	say_locked("1 MiB", mlockall(MCL_CURRENT));
	limit = (struct rlimit){ 0, 0 };
	setrlimit(RLIMIT_MEMLOCK, &limit);
	say_locked("nothing", mlockall(MCL_CURRENT));
}

/* plugin.c, in different ways. */
static void use_plugin(const char *how, int flags, bool is_apart)
{
	char path[512];
	int (*work)(int);

	snprintf(path, sizeof(path), "%s/plugin.so", getenv("TOOLS"));
	for (int i = 0; i < 5; i++) {
		void *plugin = is_apart ? dlmopen(LM_ID_NEWLM, path, flags) : dlopen(path, flags);

		if (!plugin) {
			printf("%s: %s\n", how, dlerror());
			return;
		}
		work = (int (*)(int))dlsym(plugin, "plugin_work");
		printf("%s: %d\n", how, work(i));
		dlclose(plugin);
	}
	check(dlerror() == NULL, "dlerror is empty");
}

static void plugins(void)
{
	use_plugin("lazy", RTLD_LAZY, false);
	use_plugin("now, global", RTLD_NOW | RTLD_GLOBAL, false);
	use_plugin("deepbind", RTLD_NOW | RTLD_DEEPBIND, false);
	use_plugin("namespace", RTLD_NOW, true);
	check(dlsym(RTLD_DEFAULT, "no_such_function") == NULL && dlerror() != NULL,
	      "an error is told");
	dlclose(dlopen(NULL, RTLD_NOW));
	puts("all closed");
}

extern void *__libc_stack_end;	/* of the main thread */

/* Below the page that is hidden, since it is a function of its own and its caller has a large frame. */
static __attribute__((noinline)) void allocate_and_read(int from)
{
	char *top = (char *)((uintptr_t)__libc_stack_end & ~(uintptr_t)4095), byte;

	for (int page = 0; page < 8; page++)
		mprotect(top + page * 4096, 4096, PROT_NONE);
	_exit(allocate(1000) && read(from, &byte, 1) == 1 ? 7 : 8);
}

/* The kernel's words for the process are unreadable when a child allocates for the first time. */
static void hidden_top(void)
{
	volatile char room[3 * 4096];
	int ends[2];

	room[0] = 0;
	check(pipe(ends) == 0, "pipe");
	pid_t child = fork();
	if (child == 0)
		allocate_and_read(ends[0]);
	check(write(ends[1], (const void *)room, 1) == 1, "write");
	say_end("child", child);
}

static const struct scene scenes[] = {
	{ "lock_all", lock_all }, { "lock_all_user", lock_all_user },
	{ "plugins", plugins },	  { "hidden_top", hidden_top },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return play(scenes, argc, argv);
}
