/* SPDX-License-Identifier: MIT */
/*
 * origin.h - the console's data source: a local program, read through its
 * segment, or an HTTP server, ours or the Rust crate's.
 *
 * Both take paths of doc/reference/http.md and answer in JSON. Only the feed's
 * thread calls them, and they may block.
 */
#ifndef HP_LIVE_CONSOLE_LOOP_ORIGIN_H
#define HP_LIVE_CONSOLE_LOOP_ORIGIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/console/state/news.h"

struct hp_settings;

struct hp_origin {
	void (*ask)(struct hp_origin *origin, const char *method, const char *path,
		    struct hp_heard *heard);
	char name[200];	/* for people: "process 4711", "http://127.0.0.1:6770" */
	/* The screen's thread increments it when the pending request is obsolete. */
	_Atomic uint32_t turn;
};

/*
 * A local program: its pid or session; NULL = the running one, or the next one
 * to start. A file or kept run (`is_file`) is opened at once; on failure it
 * prints an error and returns NULL.
 */
struct hp_origin *hp_origin_local(const char *name, bool is_file,
				  const struct hp_settings *settings);

/* `base` is "http://host:port"; `token` may be NULL.  NULL = libcurl cannot start. */
struct hp_origin *hp_origin_http(const char *base, const char *token);

/*
 * viewer.c, on top of any origin: opens the pid or profile path after
 * HP_VIEWER_PATH in a browser.
 */
void hp_viewer_open(const char *what, struct hp_heard *heard);

/* Ends the viewer of hp_viewer_open. */
void hp_viewer_close(void);

#endif
