/* SPDX-License-Identifier: MIT */
/* scene.h - programs of many small scenes: `PROGRAM SCENE` plays one and prints the outcome. */
#ifndef HP_TEST_SCENE_H
#define HP_TEST_SCENE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct scene {
	const char *name;
	void (*play)(void);
};

/* How a child ended: "exit 3", "signal 9". */
static inline void say_end(const char *who, pid_t pid)
{
	int status = 0;
	pid_t got = waitpid(pid, &status, __WALL);

	if (got != pid)
		printf("%s: waitpid %s\n", who, got < 0 ? strerror(errno) : "another");
	else if (WIFSIGNALED(status))
		printf("%s: signal %d\n", who, WTERMSIG(status));
	else
		printf("%s: exit %d\n", who, WEXITSTATUS(status));
}

static inline void check(int holds, const char *what)
{
	if (!holds)
		printf("NOT: %s (%s)\n", what, strerror(errno));
}

/* Allocates as programs do: sizes that differ, some kept, all checked. */
static inline unsigned allocate(unsigned rounds)
{
	void *kept[64] = { 0 };
	unsigned sum = 0;

	for (unsigned i = 0; i < rounds; i++) {
		unsigned char *block = malloc(i % 777 + 1);
		block[0] = (unsigned char)i;
		sum += block[0];
		free(kept[i % 64]);
		kept[i % 64] = block;
	}
	for (int i = 0; i < 64; i++)
		free(kept[i]);
	return sum;
}

static inline int play(const struct scene *scenes, int argc, char **argv)
{
	for (const struct scene *s = scenes; s->name; s++)
		if (argc > 1 && strcmp(argv[1], s->name) == 0) {
			setvbuf(stdout, NULL, _IOLBF, 0);
			s->play();
			return 0;
		}
	for (const struct scene *s = scenes; s->name; s++)
		puts(s->name);
	return 2;
}

#endif
