/* SPDX-License-Identifier: MIT */
/*
 * asset.c - see asset.h.  The assembler reads the files, by their names from the
 * root of the tree; the Makefile declares the dependency.
 */
#include "report/view/asset.h"

#define ASSET(name, file) \
	__asm__(".pushsection .rodata\n" \
		".globl " #name "\n" \
		".type " #name ", @object\n" #name ":\n" \
		".incbin \"" file "\"\n" \
		".byte 0\n" \
		".size " #name ", . - " #name "\n" \
		".popsection\n")

ASSET(hp_asset_flame_js, "report/view/web/flame.js");
ASSET(hp_asset_flame_css, "report/view/web/flame.css");
ASSET(hp_asset_page_html, "report/view/web/page.html");
ASSET(hp_asset_page_css, "report/view/web/page.css");
ASSET(hp_asset_base_js, "report/view/web/base.js");
ASSET(hp_asset_table_js, "report/view/web/table.js");
ASSET(hp_asset_source_js, "report/view/web/source.js");
ASSET(hp_asset_functions_js, "report/view/web/functions.js");
ASSET(hp_asset_chart_js, "report/view/web/chart.js");
ASSET(hp_asset_overview_js, "report/view/web/overview.js");
ASSET(hp_asset_calltree_js, "report/view/web/calltree.js");
ASSET(hp_asset_memory_js, "report/view/web/memory.js");
ASSET(hp_asset_locks_js, "report/view/web/locks.js");
ASSET(hp_asset_channels_js, "report/view/web/channels.js");
ASSET(hp_asset_async_js, "report/view/web/async.js");
ASSET(hp_asset_threads_js, "report/view/web/threads.js");
ASSET(hp_asset_bound_js, "report/view/web/bound.js");
ASSET(hp_asset_page_js, "report/view/web/page.js");
