/* SPDX-License-Identifier: MIT */
/*
 * proc.h - small files of /proc, read with a single read.
 *
 * Folder: sampler/base - /proc and memory for all parts of the sampler
 * May use: util
 *
 * stdio would need a buffer and a few more calls for each; the thread watcher
 * reads one for every thread, four times a second.
 */
#ifndef HP_SAMPLER_BASE_PROC_H
#define HP_SAMPLER_BASE_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Fields 2 and later of a stat file. */
struct hp_proc_stat {
	char name[20];
	char state;
	uint32_t parent;	/* field 4: its process */
	uint64_t cpu_ns;	/* fields 14 and 15, grain 1/sysconf(_SC_CLK_TCK), */
	uint64_t user_ns;	/* field 14 */
	uint64_t start_time;	/* field 22 */
};

/* Reads a file; 0-terminated.  -1 = gone. */
ssize_t hp_proc_read(const char *path, char *text, size_t room);

/* The number that a file begins with.  False = gone, or no number. */
bool hp_proc_read_number(const char *path, long *number);

/*
 * hp_proc_read() through a descriptor that stays open, which saves two thirds of the
 * time.  It belongs to this task forever: once the task is gone the read fails,
 * even if its number is reused.
 */
ssize_t hp_proc_again(int fd, char *text, size_t room);

/* The text of a stat file.  Returns 0, or -1 if it is not as expected. */
int hp_proc_stat(const char *text, struct hp_proc_stat *out);

/* The number after a label, e.g. "VmHWM:"; 0 if there is none. */
uint64_t hp_proc_number(const char *text, const char *label);

/*
 * Entries of a folder below /proc that has no others than the counted ones, like "fd".  -1 = gone, or
 * not for us to read.
 */
long hp_proc_entries(const char *path);

/* The same, as kernels before 6.2 need it. */
long hp_proc_count_entries(const char *path);

/* Our own CPU time. */
uint64_t hp_proc_own_cpu_ns(void);

/*
 * How long to do nothing after work that began at `since_ns` of it: then such work takes at most 5 %
 * of a core, however many threads there are.
 */
uint64_t hp_proc_rest_ns(uint64_t since_ns);

/* "/proc/PID/NAME", and "/proc/PID/task/TID/NAME". */
void hp_proc_path(char path[64], uint32_t pid, const char *name);
void hp_proc_task_path(char path[64], uint32_t pid, uint32_t tid, const char *name);

#endif
