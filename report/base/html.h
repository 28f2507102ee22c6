/* SPDX-License-Identifier: MIT */
/*
 * html.h - the start of pages that open from disk, and text in them.
 */
#ifndef HP_REPORT_BASE_HTML_H
#define HP_REPORT_BASE_HTML_H

#include <stdio.h>

/* From <!DOCTYPE> on; <title> follows.  The page's policy forbids it to load or to contact anything. */
extern const char hp_html_head[];

/* Writes `text`, which may be anything, as the text of an element: hp_text_clean'ed and escaped. */
void hp_html_text_write(const char *text, FILE *out);

#endif
