/* SPDX-License-Identifier: MIT */
/*
 * site.h - the web page over HTTP: its files.  Its data is in
 * live/answer/page.h.
 *
 * The files contain no data of the program, so they are served without a token:
 * the page asks the user for it and sends it with each request.
 */
#ifndef HP_LIVE_HTTP_SITE_H
#define HP_LIVE_HTTP_SITE_H

#include "live/answer/answer.h"
#include "live/http/http.h"

#define HP_SITE_PATHS_MAX 24

/* Fills at most HP_SITE_PATHS_MAX; returns the number. They stay valid forever. */
size_t hp_site_paths(struct hp_http_site *sites);

#endif
