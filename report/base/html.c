/* SPDX-License-Identifier: MIT */
/*
 * html.c - see html.h.
 */
#include "report/base/html.h"

#include <stdlib.h>

#include "report/base/format.h"

const char hp_html_head[] =
	"<!DOCTYPE html>\n"
	"<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; "
	"form-action 'none'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta name=\"color-scheme\" content=\"light dark\">\n"
	"<meta name=\"generator\" content=\"hotpath " HP_VERSION "\">\n";

void hp_html_text_write(const char *text, FILE *out)
{
	char *clean = hp_text_clean(text);

	for (const char *c = clean; *c; c++)
		if (*c == '<')
			fputs("&lt;", out);
		else if (*c == '>')
			fputs("&gt;", out);
		else if (*c == '&')
			fputs("&amp;", out);
		else
			putc(*c, out);
	free(clean);
}
