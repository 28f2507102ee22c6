/*
 * streams_file.c DIRECTORY - reads files with each stdio function that is interposed, and prints
 * the expected report: NAME ITEMS BYTES ENDED, sorted by the caller.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder;

/* `lines` lines of some lengths, 0 to 199; with `tail`, the last one has no end. */
static const char *made(const char *name, int lines, int tail)
{
	static char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	for (int i = 0; i < lines; i++) {
		for (unsigned n = 0; n < (unsigned)i * 7919 % 200; n++)
			putc('a' + i % 26, file);
		putc('\n', file);
	}
	if (tail)
		fputs("tail", file);
	fclose(file);
	return path;
}

static void told(const char *name, long items, long bytes, const char *state)
{
	printf("%s %ld %ld %s\n", name, items, bytes, state);
}

static void by_fgets(FILE *file, const char *name, int size)
{
	char line[400];
	long items = 0, bytes = 0;

	for (; fgets(line, size, file); items++)
		bytes += (long)strlen(line);
	fclose(file);
	told(name, items, bytes, "ended");
}

/* Until end of file, which a last line without newline reaches before a call fails. */
static void by_feof(FILE *file, const char *name)
{
	char line[400];
	long items = 0, bytes = 0;

	while (!feof(file) && fgets(line, sizeof(line), file)) {
		items++;
		bytes += (long)strlen(line);
	}
	fclose(file);
	told(name, items, bytes, "ended");
}

static void by_getline(FILE *file, const char *name)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t got;
	long items = 0, bytes = 0;

	for (; (got = getline(&line, &room, file)) > 0; items++)
		bytes += got;
	free(line);
	fclose(file);
	told(name, items, bytes, "ended");
}

static void by_fread(FILE *file, const char *name, size_t size, size_t count)
{
	char *block = malloc(size * count);
	size_t got;
	long items = 0;

	while ((got = fread(block, size, count, file)) > 0)
		items++;
	fseek(file, 0, SEEK_END);
	told(name, items, ftell(file), "closed");
	free(block);
	fclose(file);
}

static void by_getc(FILE *file, const char *name, int most, const char *state)
{
	long items = 0;

	while (items != most && getc(file) != EOF)
		items++;
	fclose(file);
	told(name, items, items, state);
}

/* Twice over, with a seek. */
static void by_seek(FILE *file, const char *name)
{
	char line[400];
	long items = 0, bytes = 0;

	for (int i = 0; i < 12; i++) {
		for (int n = 0; n < 100 + i && fgets(line, sizeof(line), file); n++, items++)
			bytes += (long)strlen(line);
		fseek(file, i % 2 ? 0 : 1000, SEEK_SET);
	}
	fclose(file);
	told(name, items, bytes, "closed");
}

/* Two at the same time, one of them unbuffered. */
static void by_two(const char *one, const char *other)
{
	FILE *a = fopen(made(one, 1000, 0), "r"), *b = fopen(made(other, 1000, 0), "r");
	char line[400];
	long items = 0, bytes = 0;

	setvbuf(b, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), a)) {
		items++;
		bytes += (long)strlen(line);
		if (!fgets(line, sizeof(line), b))
			abort();
	}
	fclose(b);
	fclose(a);
	told(one, items, bytes, "ended");
	told(other, items, bytes, "closed");
}

static FILE *common;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long common_items, common_bytes;

static void *share(void *unused)
{
	char line[400];

	while (fgets(line, sizeof(line), common)) {
		pthread_mutex_lock(&lock);
		common_items++;
		common_bytes += (long)strlen(line);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void by_threads(const char *name)
{
	pthread_t threads[3];

	common = fopen(made(name, 20000, 1), "r");
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, share, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	fclose(common);
	told(name, common_items, common_bytes, "ended");
}

/* Not recorded: only the bytes are known. */
static void by_macro(FILE *file, const char *name)
{
	long bytes = 0;

	while (getc_unlocked(file) != EOF)
		bytes++;
	fclose(file);
	printf("%s None %ld ended\n", name, bytes);
}

/* The same for a pipe. */
static void by_pipe(const char *name)
{
	FILE *file;
	long bytes = 0;
	char command[4200];

	snprintf(command, sizeof(command), "cat %s", made(name, 2000, 0));
	file = popen(command, "r");
	while (getc_unlocked(file) != EOF)
		bytes++;
	pclose(file);
	printf("popen None %ld ended\n", bytes);
}

static void by_many(void)
{
	long items = 0, bytes = 0;

	for (int i = 0; i < 300; i++) {
		char name[32], line[400];
		const char *path;
		FILE *file;

		snprintf(name, sizeof(name), "many%d", i % 100);
		path = made(name, 10, 0);
		file = fopen(path, "r");
		for (; fgets(line, sizeof(line), file); items++)
			bytes += (long)strlen(line);
		fclose(file);
		unlink(path);
	}
	told("many", items, bytes, "ended");
}

/* A pipe, or whatever standard input is. */
static void by_stdin(void)
{
	char line[100];
	long items = 0, bytes = 0;

	for (; fgets(line, sizeof(line), stdin); items++)
		bytes += (long)strlen(line);
	told("stdin", items, bytes, "left");
}

/* Each has its own place in the program, which distinguishes them. */
#define MADE(name, lines, tail) fopen(made(name, lines, tail), "r"), name

int main(int argc, char **argv)
{
	folder = argc > 1 ? argv[1] : ".";
	by_fgets(MADE("lines", 5000, 0), 400);
	by_fgets(MADE("tail", 5000, 1), 400);
	by_fgets(MADE("short", 5000, 1), 20);
	by_fgets(MADE("empty", 0, 0), 20);
	by_feof(MADE("feof", 3000, 1));
	by_getline(MADE("getline", 5000, 1));
	by_fread(MADE("records", 5000, 1), 16, 1);
	by_fread(MADE("bytes", 5000, 1), 1, 100);
	by_fread(MADE("blocks", 5000, 1), 1, 100000);
	by_getc(MADE("getc", 2000, 0), -1, "ended");
	by_getc(MADE("part", 2000, 0), 100, "closed");
	by_seek(MADE("seek", 1000, 0));
	by_two("two", "unbuffered");
	by_threads("threads");
	by_macro(MADE("macro", 2000, 0));
	by_pipe("pipe");
	by_many();
	by_stdin();
	return 0;
}
