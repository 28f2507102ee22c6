/* SPDX-License-Identifier: MIT */
/*
 * page.c - see page.h.
 *
 * page.html has two marks: where styles go, and where scripts go.  A saved page
 * may only execute scripts listed by hash, so no name from the profiled program
 * can inject one.
 */
#include "report/view/page.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "report/view/asset.h"
#include "report/view/page_data.h"
#include "report/view/web_hash.h"

#define STYLE(name) \
	{ \
#name ".css", "text/css; charset=utf-8", hp_asset_##name##_css, \
			HP_HASH_##name##_css \
	}
#define SCRIPT(name) \
	{ \
#name ".js", "text/javascript; charset=utf-8", hp_asset_##name##_js, \
			HP_HASH_##name##_js \
	}

/* Scripts in the order in which they need each other. */
const struct hp_page_file hp_page_files[] = {
	STYLE(flame),	STYLE(page),   SCRIPT(base),	 SCRIPT(table),	    SCRIPT(chart),
	SCRIPT(source), SCRIPT(flame), SCRIPT(overview), SCRIPT(functions), SCRIPT(calltree),
	SCRIPT(memory), SCRIPT(locks), SCRIPT(channels), SCRIPT(async),	    SCRIPT(threads),
	SCRIPT(bound),	SCRIPT(page),
};

const size_t hp_page_file_count = sizeof(hp_page_files) / sizeof(hp_page_files[0]);

/* Styles that scripts set are allowed by that; names can set none. */
const char hp_page_policy[] =
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
	"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
	"require-trusted-types-for 'script'";

static bool is_style(const struct hp_page_file *file)
{
	return strncmp(file->type, "text/css", 8) == 0;
}

/* Writes page.html from `at` to the mark, and returns the rest. */
static const char *part_write(const char *at, const char *mark, FILE *out)
{
	const char *end = strstr(at, mark);

	fwrite(at, 1, (size_t)(end - at), out);
	return end + strlen(mark);
}

static const char mark_styles[] = "<!-- styles -->\n", mark_scripts[] = "<!-- scripts -->\n";

void hp_page_shell_write(FILE *out)
{
	const char *at = part_write(hp_asset_page_html, mark_styles, out);

	for (size_t i = 0; i < hp_page_file_count; i++)
		if (is_style(&hp_page_files[i]))
			fprintf(out, "<link rel=\"stylesheet\" href=\"page/%s\">\n",
				hp_page_files[i].name);
	at = part_write(at, mark_scripts, out);
	for (size_t i = 0; i < hp_page_file_count; i++)
		if (!is_style(&hp_page_files[i]))
			fprintf(out, "<script src=\"page/%s\"></script>\n", hp_page_files[i].name);
	fputs(at, out);
}

/* --- saved --- */

static void hashes_write(bool is_of_styles, FILE *out)
{
	fputs(is_of_styles ? "; style-src" : "; script-src", out);
	for (size_t i = 0; i < hp_page_file_count; i++)
		if (is_style(&hp_page_files[i]) == is_of_styles)
			fprintf(out, " '%s'", hp_page_files[i].hash);
}

static void files_write(bool is_of_styles, FILE *out)
{
	const char *tag = is_of_styles ? "style" : "script";

	for (size_t i = 0; i < hp_page_file_count; i++)
		if (is_style(&hp_page_files[i]) == is_of_styles)
			fprintf(out, "<%s>%s</%s>\n", tag, hp_page_files[i].text, tag);
}

void hp_page_saved_write(struct hp_report *report, FILE *out)
{
	const char *at = part_write(hp_asset_page_html, mark_styles, out);

	fputs("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'", out);
	hashes_write(false, out);
	hashes_write(true, out);
	fputs("; img-src data:; base-uri 'none'; form-action 'none'; "
	      "require-trusted-types-for 'script'\">\n"
	      "<meta name=\"generator\" content=\"hotpath " HP_VERSION "\">\n",
	      out);
	files_write(true, out);
	at = part_write(at, mark_scripts, out);
	fputs("<script type=\"application/json\" id=\"data\">", out);
	hp_page_data_write(report, out);
	fputs("</script>\n", out);
	files_write(false, out);
	fputs(at, out);
}

int hp_page_write(struct hp_report *report, int fd)
{
	int copy = dup(fd);
	FILE *out = copy < 0 ? NULL : fdopen(copy, "w");

	if (!out)
		return -errno;
	hp_page_saved_write(report, out);
	return fclose(out) == 0 ? 0 : -errno;
}
