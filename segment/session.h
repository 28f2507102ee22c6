/* SPDX-License-Identifier: MIT */
/*
 * session.h - the processes that share a segment, and how they find it.
 *
 * A session is a root process and everything it starts.  Its token, 16 hex
 * digits, names an abstract SOCK_SEQPACKET socket, "hotpath-TOKEN", held by the
 * sampler; children find it by HOTPATH_SESSION=TOKEN:SAMPLER_PID in the
 * environment.  The first process creates it:
 *
 *   hp_session_init      a token
 *   hp_segment_create    with that token
 *   hp_session_listen    from here on, children can connect
 *   hp_session_spawn     the sampler gets segment, socket and stderr
 *   hp_session_release, hp_segment_close_fd: the target keeps no descriptor
 *
 * Every later image that finds HOTPATH_SESSION calls hp_session_join, and
 * creates its own session if that fails.  At its end the root calls hp_session_end.
 *
 * Used inside the target: system calls only, no malloc, no stdio, errno kept;
 * signal dispositions and the signal mask are left as they were.
 */
#ifndef HP_SEGMENT_SESSION_H
#define HP_SEGMENT_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "segment/segment.h"

#define HP_TOKEN_SIZE 16
#define HP_SESSION_TEXT 32	/* room for "TOKEN:PID" */
#define HP_HELPER_PATH 4096

/* Descriptors that hotpath-sampler inherits; 2 is the root's stderr. */
#define HP_SAMPLER_SEGMENT_FD 3
#define HP_SAMPLER_SOCKET_FD 4

/*
 * `hotpath run` queues it for the sampler, with the root's pid, before the root's code runs: so the
 * first one is the runner's, while any process of the session can write the header. Without a
 * handler it is ignored: a script that starts the sampler, and so unblocks it, does not die of it.
 */
#define HP_ROOT_SIGNAL SIGURG

/*
 * The file mode of the segments that the sampler makes for processes with fewer rights: they
 * cannot change it. It keeps processes with more from taking such a segment for the session's
 * own, whatever descriptors others pass on.
 */
#define HP_LEVEL_MODE (S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO)

/* Descriptors that `hotpath report` gets for further levels, and the variable with their number. */
#define HP_LEVEL_FD 16
#define HP_LEVELS_VARIABLE "HOTPATH_LEVELS"

/*
 * What a report tells, one message each, on the socket that is its stdin with --ready and --heard.
 * ENDED is followed by a byte, the exit status; after WAITS it has no time limit.
 */
enum hp_tells { HP_TOLD_PRINTED = 1, HP_TOLD_WAITS, HP_TOLD_ENDED };

#define HP_REPORT_MOST_MS UINT64_C(300000)

/* The time that a report may take. Smaller values are for tests. */
static inline uint64_t hp_report_most_ms(void)
{
	const char *less = getenv("HOTPATH_TEST_REPORT_MS");

	return less ? strtoull(less, NULL, 10) : HP_REPORT_MOST_MS;
}

/*
 * Abstract addresses: of the session's socket, followed by the token; and of
 * read-only clients, followed by anything.
 */
#define HP_SOCKET_NAME "hotpath-"
#define HP_READER_NAME "hotpath.reader."

/* Flag that the kernel sets in hp_header.sampler_pid when the sampler dies. */
#define HP_SAMPLER_DIED UINT32_C(0x40000000)

struct hp_session {
	char token[HP_TOKEN_SIZE + 1];
	int socket;	/* listening; -1 = none */
	uint32_t sampler_pid;	/* 0 = unknown; kept after the sampler's death */
	const char *failed;	/* after a failure: the step that failed, a static text */
	const char *defaults;	/* of the program, for the helper; NULL or "" = none */
	struct hp_begin begin;	/* for the helper: the creator's, from before it has members */
	uint64_t user_namespace;	/* of the process that joined, if it was read for that; 0 = not */
	bool can_drop;	/* privileges, when it joined */
	struct rusage spent;	/* of the process that created the helper; already reaped */
};

/* A fresh token; no socket. */
void hp_session_init(struct hp_session *session);

/* Opens the socket.  Returns 0 or -errno. */
int hp_session_listen(struct hp_session *session);

/*
 * The variable that passes the program's own settings (defaults.h) to our
 * processes. They trust it, but not the settings in a segment.
 */
#define HP_DEFAULTS_VARIABLE "HOTPATH_DEFAULTS"

/* The same for the session's start: the four numbers of struct hp_begin, separated by colons. */
#define HP_BEGIN_VARIABLE "HOTPATH_BEGIN"
#define HP_BEGIN_TEXT 96

void hp_begin_text(const struct hp_begin *begin, char text[HP_BEGIN_TEXT]);
/* `text` may be NULL. False if it is invalid. */
bool hp_begin_read(struct hp_begin *begin, const char *text);

/*
 * Starts hotpath-sampler (`path`) with `environment`, without the variables that
 * would preload us, plus session->defaults.  Two raw clones, so that no atfork
 * handler runs, no wait() of the target ever sees it, and no tracer follows it;
 * it belongs to init.  (Where the target is init, its wait stand-ins skip
 * `sampler_pid`.) Sets session->sampler_pid and hp_header.sampler_pid.  Returns
 * 0 or -errno.
 */
int hp_session_spawn(struct hp_session *session, struct hp_segment *segment, const char *path,
		     char *const environment[]);

/* The same for `hotpath run`: one clone, an ordinary child that is waited for. */
int hp_session_spawn_child(struct hp_session *session, struct hp_segment *segment, const char *path,
			   char *const environment[]);

/* Closes the socket. */
void hp_session_release(struct hp_session *session);

/* The value of HOTPATH_SESSION for children. */
void hp_session_text(const struct hp_session *session, char text[HP_SESSION_TEXT]);

/*
 * Finds the session named by `text`, the value of HOTPATH_SESSION, and maps its
 * segment for writing.  Waits 200 ms at most.  The descriptor is open after it:
 * hp_segment_close_fd.  Returns 0 or -errno.
 */
int hp_session_join(struct hp_session *session, struct hp_segment *segment, const char *text);

/*
 * For a process whose privileges changed: a descriptor of the segment that it
 * must now write instead of `segment`, or -errno.
 */
int hp_session_ask(const struct hp_session *session, const struct hp_segment *segment);

/*
 * For a reader outside the session: a read-only descriptor of the segment,
 * or -errno.
 */
int hp_session_look(const char *token);

/* Descriptors of all segments, the session's own first.  Returns how many, or -errno. */
int hp_session_look_all(const char *token, int fds[1 + HP_LEVELS_MAX]);

enum hp_session_outcome {
	HP_SESSION_REPORTED,	/* the report is printed, or another process waits for it */
	HP_SESSION_FAILED,	/* the sampler said why */
	HP_SESSION_SAMPLER_DEAD,	/* no report will be printed */
	HP_SESSION_LATE,	/* timed out; it may still come */
};

/*
 * The root's last call: requests the report and waits for it, `wait_ms` at most
 * (HOTPATH_EXIT_WAIT_MS).  Under `hotpath run` it waits only until the sampler
 * has read the process's last state; the runner, which also needs the exit
 * status, waits for the report.  Stores and futex only, so it works under
 * seccomp.
 */
enum hp_session_outcome hp_session_end(struct hp_header *header, uint64_t wait_ms);

/*
 * After HP_SESSION_SAMPLER_DEAD: copies the used part of the segment into a
 * new memfd and runs `hotpath report` (`path`) on it, `wait_ms` at most.
 * `session` has defaults and begin, if they are known.  Returns 0
 * or -errno.  Not under seccomp: it makes system calls.
 */
int hp_session_report_alone(const struct hp_session *session, const struct hp_segment *segment,
			    const char *path, char *const environment[], uint64_t wait_ms);

/*
 * Finds one of our executables: in HOTPATH_BIN (`bin`, may be NULL), else
 * relative to `directory`, the folder of the caller's own file: there (build
 * tree), in ../bin, ../libexec/hotpath, or the same two one folder up
 * (installed). Stores it in `path`. Returns false if none exists; `path` is
 * then the first candidate.
 */
bool hp_session_helper_path(char path[HP_HELPER_PATH], const char *bin, const char *directory,
			    const char *name);

/* Closes every descriptor from `first` on, of the first 65536 where Linux (before 5.9) has no close_range. */
void hp_close_from(int first);

#endif
