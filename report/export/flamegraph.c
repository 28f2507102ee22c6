/* SPDX-License-Identifier: MIT */
/*
 * flamegraph.c - flame graphs as one page of HTML that opens from disk.
 *
 * It is self-contained: it loads no file and contacts no server, and the page's
 * policy forbids both. Names are data and only inserted as text.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/view/asset.h"
#include "report/export/export.h"
#include "report/view/flame.h"
#include "report/base/html.h"

static void page_write(const struct hp_flame *flame, const struct hp_report *report, FILE *out)
{
	fprintf(out, "%s<title>", hp_html_head);
	hp_html_text_write(report->caller, out);
	fprintf(out, " - flame graph</title>\n<style>\n%s</style>\n</head>\n<body>\n",
		hp_asset_flame_css);
	fputs("<main id=\"flame\"><noscript>This page needs JavaScript, which is switched "
	      "off.</noscript></main>\n<script type=\"application/json\" id=\"flame-data\">",
	      out);
	hp_flame_write(flame, report, out);
	fprintf(out,
		"</script>\n<script>\n%s\n"
		"hotpathFlame(document.getElementById(\"flame\"), "
		"JSON.parse(document.getElementById(\"flame-data\").textContent));\n"
		"</script>\n</body>\n</html>\n",
		hp_asset_flame_js);
}

int hp_export_flamegraph(struct hp_report *report, int fd)
{
	int copy = dup(fd);
	FILE *out = copy < 0 ? NULL : fdopen(copy, "w");
	struct hp_flame flame;

	if (!out)
		return -errno;
	hp_flame_init(&flame, report);
	page_write(&flame, report, out);
	hp_flame_release(&flame);
	return fclose(out) == 0 ? 0 : -errno;
}
