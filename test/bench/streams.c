/* SPDX-License-Identifier: MIT */
/*
 * streams.c WHAT [ROUNDS] - ns for one item of a stream: the minimum of some rounds. WHAT: fgets,
 * getline (lines of 25 bytes), getc, fread (16 bytes) of a file; pipe: fgets of a pipe whose other
 * end is a process that writes 64 KiB at a time; open: fopen, one fgets and fclose.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINES 100000
#define LINE "0123456789abcdef01234567\n"

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static FILE *fed(void)
{
	static char block[65536 / 25 * 25];
	int ends[2];

	for (size_t i = 0; i < sizeof(block); i += 25)
		memcpy(block + i, LINE, 25);
	if (pipe(ends) < 0)
		abort();
	if (fork() == 0) {
		for (size_t left = LINES * 25; left;
		     left -= left < sizeof(block) ? left : sizeof(block))
			if (write(ends[1], block, left < sizeof(block) ? left : sizeof(block)) < 0)
				_exit(1);
		_exit(0);
	}
	close(ends[1]);
	return fdopen(ends[0], "r");
}

static long items(const char *what, FILE *file)
{
	static char *line;
	static size_t room;
	char text[256];
	long count = 0;

	if (strcmp(what, "getline") == 0)
		while (getline(&line, &room, file) > 0)
			count++;
	else if (strcmp(what, "getc") == 0)
		while (getc(file) != EOF)
			count++;
	else if (strcmp(what, "fread") == 0)
		while (fread(text, 16, 1, file) == 1)
			count++;
	else
		while (fgets(text, sizeof(text), file))
			count++;
	return count;
}

static double once(const char *what, const char *path)
{
	FILE *file = strcmp(what, "pipe") == 0 ? fed() : fopen(path, "r");
	double since = now(), took;
	long count = items(what, file);

	took = (now() - since) / (double)count;
	fclose(file);
	while (wait(NULL) > 0)
		;
	return took;
}

static double opens(const char *path)
{
	double since = now();
	char text[256];

	for (int i = 0; i < 2000; i++) {
		FILE *file = fopen(path, "r");

		if (!fgets(text, sizeof(text), file))
			abort();
		fclose(file);
	}
	return (now() - since) / 2000;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/streams-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	double least = 1e18;

	for (int i = 0; i < LINES; i++)
		fputs(LINE, file);
	fclose(file);
	for (int i = argc > 2 ? atoi(argv[2]) : 10; i > 0; i--) {
		double took = strcmp(argv[1], "open") == 0 ? opens(path) : once(argv[1], path);

		least = took < least ? took : least;
	}
	unlink(path);
	printf("%.2f\n", least);
	return 0;
}
