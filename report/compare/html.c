/* SPDX-License-Identifier: MIT */
/*
 * html.c - a comparison as one page that opens from disk: the tables, and differential
 * flame graphs.  It loads nothing and contacts nobody, and its policy forbids both. Names
 * are data: they are only inserted as text.
 */
#include <stdlib.h>

#include "report/base/html.h"
#include "report/compare/lines.h"
#include "report/view/asset.h"

static const char style[] =
	".said { padding: 12px; font: 14px/1.5 system-ui, sans-serif; overflow-x: auto; }\n"
	".said h1 { font-size: 18px; margin: 0 0 8px; }\n"
	".said h2 { font-size: 15px; margin: 16px 0 4px; }\n"
	".said table { border-collapse: collapse; font-variant-numeric: tabular-nums; }\n"
	".said th, .said td { text-align: right; padding: 2px 12px 2px 0; white-space: nowrap; "
	"border-bottom: 1px solid #8886; }\n"
	".said th.name, .said td.name { text-align: left; overflow-wrap: anywhere; "
	"white-space: normal; }\n"
	"#flame { min-height: 0; }\n";

static void cell_write(const char *text, bool is_name, FILE *out)
{
	fputs(is_name ? "<td class=\"name\">" : "<td>", out);
	hp_html_text_write(text, out);
	fputs("</td>", out);
}

static void lines_write(const char *title, const struct hp_compare_lines *lines, FILE *out)
{
	fprintf(out, "<h2>%s</h2>\n", title);
	if (lines->count)
		fputs("<table>\n<tr><th class=\"name\">Figure</th><th class=\"name\">Name</th><th>A</th>"
		      "<th>B</th><th>Change</th><th></th><th class=\"name\"></th></tr>\n",
		      out);
	for (size_t i = 0; i < lines->count; i++) {
		const struct hp_compare_line *line = &lines->list[i];

		fputs("<tr>", out);
		cell_write(line->row->measure->metric, true, out);
		cell_write(line->row->name, true, out);
		cell_write(line->a.text, false, out);
		cell_write(line->b.text, false, out);
		cell_write(line->change.text, false, out);
		cell_write(line->percent.text, false, out);
		cell_write(line->remark, true, out);
		fputs("</tr>\n", out);
	}
	fputs(lines->count ? "</table>\n<p>" : "<p>", out);
	hp_html_text_write(lines->note, out);
	fputs("</p>\n", out);
}

static void flame_write(const struct hp_flame *flame, FILE *out)
{
	fputs("<div id=\"flame\"><noscript>The flame graph needs JavaScript, which is switched "
	      "off.</noscript></div>\n<script type=\"application/json\" id=\"flame-data\">",
	      out);
	hp_flame_titled_write(flame, "Call paths of both", out);
	fprintf(out,
		"</script>\n<script>\n%s\n"
		"hotpathFlame(document.getElementById(\"flame\"), "
		"JSON.parse(document.getElementById(\"flame-data\").textContent));\n</script>\n",
		hp_asset_flame_js);
}

void hp_compare_html_write(const struct hp_compare_text *text, struct hp_compare_flame *flame,
			   FILE *out)
{
	fprintf(out,
		"%s<title>hotpath "
		"compare</title>\n<style>\n%s%s</style>\n</head>\n<body>\n<main>\n<div class=\"said\">\n",
		hp_html_head, hp_asset_flame_css, style);
	fputs("<h1>hotpath compare</h1>\n<p>A: ", out);
	hp_html_text_write(text->a, out);
	fputs("<br>B: ", out);
	hp_html_text_write(text->b, out);
	fputs("</p>\n", out);
	lines_write("Counts", &text->counts, out);
	lines_write("Times, medians", &text->times, out);
	fputs("<p>", out);
	hp_html_text_write(text->notes, out);
	fputs("</p>\n</div>\n", out);
	if (hp_compare_flame_settle(flame))
		flame_write(&flame->both, out);
	fputs("</main>\n</body>\n</html>\n", out);
}
