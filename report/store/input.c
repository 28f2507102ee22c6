/* SPDX-License-Identifier: MIT */
/*
 * input.c - see input.h.
 */
#include "report/store/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/store/kept.h"
#include "report/store/parts.h"
#include "report/base/memory.h"
#include "report/store/store.h"

/* Receives error messages. */
struct teller {
	hp_complain complain;
	void *context;
};

void hp_input_say(void *context, const char *line)
{
	(void)context;
	fprintf(stderr, "hotpath: %s\n", line);
}

/* Takes over the line. */
static void say(const struct teller *teller, char *line)
{
	teller->complain(teller->context, line);
	free(line);
}

static const char *remedy(enum hp_segment_fault fault)
{
	switch (fault) {
	case HP_SEGMENT_MISSING:
		return "; `hotpath list` shows the runs";
	case HP_SEGMENT_FOREIGN:
		return "; use a run from `hotpath list`, or a file made by HOTPATH_SEGMENT_PATH";
	case HP_SEGMENT_TRUNCATED:
	case HP_SEGMENT_CORRUPTED:
		return "; record again";
	case HP_SEGMENT_NEWER:
		return "; use the hotpath that recorded it";
	default:
		return "";
	}
}

/* True if there is a segment now. */
static bool settle(const struct teller *teller, const char *path, enum hp_segment_fault fault)
{
	bool has_reason;

	/* A folder or a socket is no segment, whatever call found that out. */
	if ((fault == HP_SEGMENT_MISSING && errno == ENXIO) ||
	    (fault == HP_SEGMENT_UNMAPPED && errno == EISDIR))
		fault = HP_SEGMENT_FOREIGN;
	has_reason = fault == HP_SEGMENT_MISSING || fault == HP_SEGMENT_UNMAPPED;
	if (fault != HP_SEGMENT_FINE)
		say(teller, hp_xprintf("%s %s%s%s%s", path, hp_segment_fault_text(fault),
				       has_reason ? ": " : "", has_reason ? strerror(errno) : "",
				       remedy(fault)));
	return fault == HP_SEGMENT_FINE;
}

/* A segment in a file is mapped; anything else is read and unpacked. */
static bool is_plain(int fd)
{
	uint64_t magic = 0;
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	       pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic == HP_MAGIC;
}

/* An executable, a script, or a folder. */
static bool is_program(int fd)
{
	char start[4];
	struct stat status;

	return fstat(fd, &status) == 0 &&
	       (S_ISDIR(status.st_mode) ||
		(S_ISREG(status.st_mode) && pread(fd, start, sizeof(start), 0) == sizeof(start) &&
		 (memcmp(start, "\177ELF", 4) == 0 || memcmp(start, "#!", 2) == 0)));
}

static bool read_kept(struct hp_input *input, const struct teller *teller, const char *path, int fd)
{
	struct hp_kept kept;
	enum hp_segment_fault fault;

	errno = ENOMEM;
	fault = hp_kept_read(&kept, fd);
	if (!settle(teller, path, fault))
		return false;
	input->segment = kept.segment;
	hp_parts_adopt(&input->segment);
	if (!kept.names)	/* it was a segment */
		return true;
	hp_facts_init(&input->facts, kept.facts);
	input->record.facts = &input->facts;
	input->record.legend = hp_legend_new(kept.names);
	return true;
}

static bool read_fd(struct hp_input *input, const struct teller *teller, const char *path, int fd)
{
	if (is_plain(fd))
		return settle(teller, path, hp_segment_map_fd(&input->segment, fd));
	return read_kept(input, teller, path, fd);
}

/* The newest run matching `name`; NULL = any. */
static const struct hp_store_file *find(const struct hp_store_file *files, size_t count,
					const char *name)
{
	size_t length = name ? strlen(name) : 0;
	char pid[16];

	for (size_t i = 0; i < count; i++) {
		const char *file = files[i].name;

		snprintf(pid, sizeof(pid), "%u", hp_store_pid(file));
		if (!name || strcmp(name, pid) == 0 || hp_store_is_of(file, name) ||
		    (strncmp(file, name, length) == 0 && strcmp(file + length, ".hp.gz") == 0) ||
		    strcmp(file, name) == 0)
			return &files[i];
	}
	return NULL;
}

/* Opens a run of the store. Returns a descriptor, or -errno after an error message. */
static int open_kept(struct hp_input *input, const struct teller *teller, const char *name)
{
	const struct hp_store_file *found;
	struct hp_store_file *files;
	struct hp_store store;
	size_t count;
	int fd;

	if (hp_store_open(&store) < 0) {
		say(teller, hp_xprintf("%s%sno kept runs: %s; give a FILE", name ? name : "",
				       name ? ": not a run's file, and " : "", store.failed));
		return -1;
	}
	files = hp_store_list(&store, &count);
	found = find(files, count, name);
	fd = found ? hp_store_read(&store, found) : -ENOENT;
	if (fd >= 0)
		input->file = hp_xprintf("%s/%s", hp_store_place(&store, found), found->name);
	else if (!name)
		say(teller, hp_xprintf("no kept runs in %s; profile a program first", store.path));
	else
		say(teller,
		    hp_xprintf("%s: not a run's file, and no kept run; see hotpath list", name));
	hp_store_release(&store);
	free(files);
	return fd;
}

bool hp_input_open(struct hp_input *input, const char *path, hp_complain complain, void *context)
{
	const struct teller teller = { complain, context };
	bool is_open;
	int fd;

	*input = (struct hp_input){ .segment = HP_SEGMENT_NONE };
	if (path && strcmp(path, "-") == 0)
		return read_fd(input, &teller, "stdin", 0);
	/* A pipe without a writer would wait for one: this way it is empty. */
	fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
	if (fd >= 0)
		fcntl(fd, F_SETFL, O_RDONLY);
	if (fd < 0 && path && (errno != ENOENT || strchr(path, '/')))
		return settle(&teller, path, HP_SEGMENT_MISSING);
	/* In its own folder a program's name is also a file name: the run is meant. */
	if (fd >= 0 && !strchr(path, '/') && is_program(fd)) {
		close(fd);
		fd = -1;
	}
	if (fd < 0 && (fd = open_kept(input, &teller, path)) < 0)
		return false;
	is_open = read_fd(input, &teller, input->file ? input->file : path, fd);
	input->record.file = input->file;
	close(fd);
	if (!is_open)
		hp_input_release(input);
	return is_open;
}

void hp_input_release(struct hp_input *input)
{
	hp_segment_release(&input->segment);
	hp_facts_release(&input->facts);
	hp_legend_free(input->record.legend);
	free(input->file);
	*input = (struct hp_input){ .segment = HP_SEGMENT_NONE };
}
