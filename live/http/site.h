/* SPDX-License-Identifier: MIT */
/*
 * site.h - the web page over HTTP: its files, and the answers that it alone needs.
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

struct hp_scene;
struct hp_request;

struct hp_answer *hp_site_overview(struct hp_scene *scene, const struct hp_request *request);
/* The page with its data inside, as a file. */
struct hp_answer *hp_site_saved(struct hp_scene *scene, const struct hp_request *request);

/* ?seconds=N: the last N only. */
struct hp_answer *hp_site_timeline(struct hp_scene *scene, const struct hp_request *request);
struct hp_answer *hp_site_flame(struct hp_scene *scene, const struct hp_request *request);

#endif
