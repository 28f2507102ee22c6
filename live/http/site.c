/* SPDX-License-Identifier: MIT */
/*
 * site.c - see site.h.
 */
#include "live/http/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/view/page.h"

static void not_allowed(struct hp_exchange *exchange)
{
	hp_exchange_add(exchange, "Allow", "GET");
	hp_exchange_answer(exchange, hp_answer_error(405, NULL, "Method not allowed - use GET"));
}

static bool is_read(const struct hp_exchange *exchange)
{
	const char *method = hp_exchange_method(exchange);

	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static void shell_serve(void *context, struct hp_exchange *exchange)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out;

	(void)context;
	if (!is_read(exchange)) {
		not_allowed(exchange);
		return;
	}
	out = open_memstream(&text, &size);
	if (out) {
		hp_page_shell_write(out);
		fclose(out);
	}
	hp_exchange_add(exchange, "Content-Security-Policy", hp_page_policy);
	hp_exchange_add(exchange, "Referrer-Policy", "no-referrer");
	hp_exchange_add(exchange, "X-Frame-Options", "DENY");
	hp_exchange_answer(exchange, hp_answer_new(200, "text/html; charset=utf-8", text, size));
}

static void file_serve(void *context, struct hp_exchange *exchange)
{
	const struct hp_page_file *file = context;

	if (!is_read(exchange)) {
		not_allowed(exchange);
		return;
	}
	hp_exchange_answer(exchange, hp_answer_new(200, file->type, hp_xstrdup(file->text),
						   strlen(file->text)));
}

size_t hp_site_paths(struct hp_http_site *sites)
{
	size_t count = 0;

	sites[count++] = (struct hp_http_site){ "/", shell_serve, NULL, true };
	for (size_t i = 0; i < hp_page_file_count && count < HP_SITE_PATHS_MAX; i++)
		sites[count++] =
			(struct hp_http_site){ hp_xprintf("/page/%s", hp_page_files[i].name),
					       file_serve, (void *)&hp_page_files[i], true };
	return count;
}
