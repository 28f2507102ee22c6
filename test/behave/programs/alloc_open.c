/* SPDX-License-Identifier: MIT */
/*
 * alloc_open.c - `alloc_open ROUNDS LIBRARY...`: a C program that opens C++ libraries, each in its
 * own scope, lets them allocate, and closes them; three times, the second time in a thread.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int rounds;

static void *use(void *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	long (*work)(int);

	if (!library) {
		puts(dlerror());
		exit(1);
	}
	work = (long (*)(int))dlsym(library, "work");
	printf("%ld\n", work(rounds));
	dlclose(library);
	return NULL;
}

int main(int argc, char **argv)
{
	rounds = atoi(argv[1]);
	for (int time = 0; time < 3; time++)
		for (int i = 2; i < argc; i++) {
			pthread_t thread;

			if (time != 1) {
				use(argv[i]);
				continue;
			}
			pthread_create(&thread, NULL, use, argv[i]);
			pthread_join(thread, NULL);
		}
	return 0;
}
