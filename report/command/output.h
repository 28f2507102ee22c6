/* SPDX-License-Identifier: MIT */
/*
 * output.h - where a report goes, and readers that do not read.
 *
 * A pipe may be full, or have no reader yet.  So the text is written in two steps: first the
 * parts that need no waiting, then, after the run has been kept, the rest.
 */
#ifndef HP_REPORT_COMMAND_OUTPUT_H
#define HP_REPORT_COMMAND_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct hp_output {
	int fd;	/* -1 = a pipe without a reader yet */
	const char *path;	/* NULL = stdout or stderr */
	uint64_t patience_ms;	/* limit without any reader; 0 = no limit */
	char *text;
	size_t size;
	size_t room;
	size_t done;
};

/* A fresh file, and the folders that it is in; -1 and errno. */
int hp_output_file(const char *path);

/*
 * Opens `path`; NULL is `usual`, a descriptor, and - is stdout.  A file that cannot be opened is
 * reported, and stderr replaces it.
 */
void hp_output_open(struct hp_output *output, const char *path, int usual, uint64_t patience_ms);

/* A stream that collects the text; the caller closes it. NULL = out of memory. */
FILE *hp_output_stream(struct hp_output *output);

/* Writes the part of the text that fits without waiting.  Returns 0 or an exit status. */
int hp_output_begin(struct hp_output *output);

/* True if nothing is left. */
bool hp_output_is_done(const struct hp_output *output);

/* Writes the rest. */
int hp_output_end(struct hp_output *output);

/* One more text after it. */
int hp_output_add(struct hp_output *output, char *text);

/* Returns 0, or the exit status for a file that could not be written completely. */
int hp_output_close(struct hp_output *output);

#endif
