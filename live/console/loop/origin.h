/* SPDX-License-Identifier: MIT */
/*
 * origin.h - where the console's answers come from: a program on this machine,
 * read through its segment; or a server over HTTP, ours or of the Rust crate.
 *
 * Both are asked for paths of doc/reference/http.md, and answer in JSON.  They are asked in
 * the feed's thread only and may take as long as they take.
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
	/* The screen's thread bumps it when what is being asked for is of no interest any more. */
	_Atomic uint32_t turn;
};

/*
 * A program of this machine: its pid or session, NULL = the one that runs, or the
 * first that comes.  A file or kept run (`is_file`) is opened at once; what is
 * wrong with it is told on stderr, and NULL returned.
 */
struct hp_origin *hp_origin_local(const char *name, bool is_file,
				  const struct hp_settings *settings);

/* `base` is "http://host:port"; `token` may be NULL.  NULL = libcurl cannot start. */
struct hp_origin *hp_origin_http(const char *base, const char *token);

/*
 * viewer.c, over any origin: what HP_VIEWER_PATH is followed by, a pid or the path of a
 * profile, is opened in a browser.
 */
void hp_viewer_open(const char *what, struct hp_heard *heard);

/* Ends what hp_viewer_open started. */
void hp_viewer_close(void);

#endif
