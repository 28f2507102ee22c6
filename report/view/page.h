/* SPDX-License-Identifier: MIT */
/*
 * page.h - the web page, which shows the report interactively.
 *
 * One page for two uses: served by live/http/site.c, it requests its figures from
 * the server's routes; written to a file by hp_page_write, it contains them, and
 * opens from disk without a network.  Its files are those of report/web.
 */
#ifndef HP_REPORT_VIEW_PAGE_H
#define HP_REPORT_VIEW_PAGE_H

#include <stddef.h>
#include <stdio.h>

#include "report/section/core/report.h"

struct hp_page_file {
	const char *name;	/* in report/web, and below /page/ of the server */
	const char *type;	/* of the content */
	const char *text;
	const char *hash;	/* as a Content-Security-Policy */
};

extern const struct hp_page_file hp_page_files[];
extern const size_t hp_page_file_count;

/* The served page's permissions, for the header Content-Security-Policy. */
extern const char hp_page_policy[];

/* The page as it is served: it loads its files. */
void hp_page_shell_write(FILE *out);

/* The page with its files and the report's data inside. */
void hp_page_saved_write(struct hp_report *report, FILE *out);

/* The same; 0 or -errno. */
int hp_page_write(struct hp_report *report, int fd);

#endif
