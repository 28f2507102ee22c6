/* SPDX-License-Identifier: MIT */
/*
 * asset.c - see asset.h.  The assembler reads the files, by their names from the
 * root of the tree; the Makefile says that this depends on them.
 */
#include "report/asset.h"

#define ASSET(name, file) \
	__asm__(".pushsection .rodata\n" \
		".globl " #name "\n" \
		".type " #name ", @object\n" #name ":\n" \
		".incbin \"" file "\"\n" \
		".byte 0\n" \
		".size " #name ", . - " #name "\n" \
		".popsection\n")

ASSET(hp_asset_flame_js, "report/web/flame.js");
ASSET(hp_asset_flame_css, "report/web/flame.css");
ASSET(hp_asset_page_html, "report/web/page.html");
ASSET(hp_asset_page_css, "report/web/page.css");
ASSET(hp_asset_base_js, "report/web/base.js");
ASSET(hp_asset_table_js, "report/web/table.js");
ASSET(hp_asset_source_js, "report/web/source.js");
ASSET(hp_asset_functions_js, "report/web/functions.js");
ASSET(hp_asset_chart_js, "report/web/chart.js");
ASSET(hp_asset_overview_js, "report/web/overview.js");
ASSET(hp_asset_calltree_js, "report/web/calltree.js");
ASSET(hp_asset_memory_js, "report/web/memory.js");
ASSET(hp_asset_locks_js, "report/web/locks.js");
ASSET(hp_asset_channels_js, "report/web/channels.js");
ASSET(hp_asset_threads_js, "report/web/threads.js");
ASSET(hp_asset_bound_js, "report/web/bound.js");
ASSET(hp_asset_page_js, "report/web/page.js");
