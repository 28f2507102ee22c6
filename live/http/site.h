/* SPDX-License-Identifier: MIT */
/*
 * site.h - the web page over HTTP: its files.  What it asks for is in live/answer/page.h.
 *
 * The files hold nothing of the program, so they are given to a browser that has
 * no token yet: the page asks for it, and sends it with each question.
 */
#ifndef HP_LIVE_HTTP_SITE_H
#define HP_LIVE_HTTP_SITE_H

#include "live/answer/answer.h"
#include "live/http/http.h"

#define HP_SITE_PATHS_MOST 24

/* Fills at most HP_SITE_PATHS_MOST; returns how many.  They live as long as the program. */
size_t hp_site_paths(struct hp_http_site *sites);

#endif
