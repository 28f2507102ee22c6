/* SPDX-License-Identifier: MIT */
/*
 * output.h - where a report goes, and readers that don't read.
 *
 * A pipe may be full, or have no reader yet.  So the text is given in two steps: first the parts
 * that need no waiting, then, when the run is kept, the rest.
 */
#ifndef HP_REPORT_COMMAND_OUTPUT_H
#define HP_REPORT_COMMAND_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_output {
	int fd;	/* -1 = a pipe that no one reads yet */
	const char *path;	/* NULL = stdout or stderr */
	uint64_t patience_ms;	/* without any reader at all; 0 = no end of it */
	char *text;
	size_t size;
	size_t done;
};

/* A fresh file, and the folders that it is in; -1 and errno. */
int hp_output_file(const char *path);

/*
 * Opens `path`; NULL is `usual`, a descriptor, and - is stdout.  A file that cannot be opened is
 * reported, and stderr takes its place.
 */
void hp_output_open(struct hp_output *output, const char *path, int usual, uint64_t patience_ms);

/*
 * Takes `text` over, and writes the part that fits without waiting.  Returns 0 or an
 * exit status.
 */
int hp_output_begin(struct hp_output *output, char *text, size_t size);

/* True if nothing is left. */
bool hp_output_is_done(const struct hp_output *output);

/* Writes the rest. */
int hp_output_end(struct hp_output *output);

/* One more text after it. */
int hp_output_add(struct hp_output *output, char *text);

/* Returns 0, or the exit status of a file that could not be written to its end. */
int hp_output_close(struct hp_output *output);

#endif
