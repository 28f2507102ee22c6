/* SPDX-License-Identifier: MIT */
/*
 * replay.c - gives each file of the folders and files named to a target, for
 * builds without libFuzzer: the corpus is a test.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/fuzz/fuzz.h"

#define INPUT_MAX (1 << 20)

static unsigned count;

static void give(const char *path)
{
	static uint8_t input[INPUT_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, input, sizeof(input)) : -1;
	uint8_t *exact;

	if (size < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	close(fd);
	exact = malloc((size_t)size + !size);	/* so that reads beyond it are found */
	memcpy(exact, input, (size_t)size);
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(exact, (size_t)size);
	free(exact);
	count++;
}

static void give_all(const char *path)
{
	char name[4096];
	struct dirent *entry;
	DIR *folder = opendir(path);

	if (!folder) {
		give(path);
		return;
	}
	while ((entry = readdir(folder)) != NULL)
		if (entry->d_name[0] != '.') {
			snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
			give_all(name);
		}
	closedir(folder);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		give_all(argv[i]);
	printf("%u inputs\n", count);
	return count ? 0 : 1;
}
