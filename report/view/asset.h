/* SPDX-License-Identifier: MIT */
/*
 * asset.h - the files of report/web, which are in the command itself.
 *
 * flame.js shows the output of report/view/flame.h in any element of any page: it defines
 * hotpathFlame(element, data) and touches nothing else.  flame.css has its style.
 */
#ifndef HP_REPORT_VIEW_ASSET_H
#define HP_REPORT_VIEW_ASSET_H

/* Each is a 0-terminated text. */
extern const char hp_asset_flame_js[];
extern const char hp_asset_flame_css[];

/* Of the web page (report/view/page.h). */
extern const char hp_asset_page_html[];
extern const char hp_asset_page_css[];
extern const char hp_asset_base_js[];
extern const char hp_asset_table_js[];
extern const char hp_asset_source_js[];
extern const char hp_asset_functions_js[];
extern const char hp_asset_chart_js[];
extern const char hp_asset_overview_js[];
extern const char hp_asset_calltree_js[];
extern const char hp_asset_memory_js[];
extern const char hp_asset_locks_js[];
extern const char hp_asset_channels_js[];
extern const char hp_asset_async_js[];
extern const char hp_asset_threads_js[];
extern const char hp_asset_bound_js[];
extern const char hp_asset_page_js[];

#endif
