/* SPDX-License-Identifier: MIT */
/*
 * flame.h - a run's data by path, as trees for a flame graph.
 *
 * A graph is a measure (time, CPU, bytes, ...) on a tree; measures of one source
 * share a tree.  Equal names below equal callers are one node.  The text of all
 * graphs, as JSON, for report/view/web/flame.js:
 *
 *   { "title": "lua bench.lua", "names": ["main", ...], "kinds": [0, ...],
 *     "trees": [ { "parent": [-1, 0, ...], "name": [0, 4, ...] } ],
 *     "graphs": [ { "key": "cpu", "title": "CPU", "unit": "ns", "about": "...",
 *                   "tree": 0, "self": [0, 17, ...] } ] }
 *
 * `parent` is a place in the same tree, lower than the node's own; node 0 is the root.
 * `self` is the node's value without the nodes below it, an integer. `kinds` is parallel
 * to `names`: enum hp_flame_kind. A comparison's graph also has "side", the one that
 * "self" belongs to, and "other", the other side's values.
 */
#ifndef HP_REPORT_VIEW_FLAME_H
#define HP_REPORT_VIEW_FLAME_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/base/map.h"
#include "report/section/core/report.h"

enum hp_flame_kind {
	HP_FLAME_PROGRAM = 0,	/* code of the program */
	HP_FLAME_LIBRARY = 1,
	HP_FLAME_KERNEL = 2,
	HP_FLAME_OTHER = 3,	/* not known code: waits by cause, the omitted part */
};

#define HP_FLAME_MEASURES 4	/* of one tree */
#define HP_FLAME_NODES 40000	/* of one tree that are written; smaller ones are summed up */

struct hp_flame_node {
	uint32_t parent;
	uint32_t name;
	double self[HP_FLAME_MEASURES];
};

struct hp_flame_tree {
	struct hp_flame_node *nodes;	/* [0] = the whole */
	size_t count;
	size_t room;
	struct hp_map children;	/* of parent and name -> place */
};

struct hp_flame_graph {
	const char *key;
	const char *title;
	const char *unit;	/* ns, bytes, count */
	const char *about;
	uint32_t tree;
	uint32_t measure;	/* of that tree */
	const char *side;	/* "A" or "B": one side of a comparison; NULL = not a comparison */
	uint32_t other;	/* then: measure of the other side */
};

struct hp_flame {
	char **names;
	uint8_t *kinds;
	size_t name_count;
	size_t name_room;
	size_t kind_room;
	struct hp_map by_name;	/* hash of name and kind -> place in names */
	struct hp_map by_text;	/* address of a name, and kind -> its last place */
	struct hp_flame_tree trees[3];
	size_t tree_count;
	struct hp_flame_graph graphs[8];	/* the first is shown first */
	size_t graph_count;
};

/* All graphs that the run has data for; possibly none. */
void hp_flame_init(struct hp_flame *flame, struct hp_report *report);
void hp_flame_release(struct hp_flame *flame);

/* The same as JSON, under a title. */
void hp_flame_titled_write(const struct hp_flame *flame, const char *title, FILE *out);

/* As JSON in one line, without < and >, so that it can be embedded in a page. */
void hp_flame_write(const struct hp_flame *flame, const struct hp_report *report, FILE *out);

/*
 * Building blocks, also for tests: the next tree, which becomes one of the flame's when
 * tree_count is raised; a node below `parent`, created if new.
 */
struct hp_flame_tree *hp_flame_tree_begin(struct hp_flame *flame, const char *root,
					  size_t expected);
uint32_t hp_flame_name(struct hp_flame *flame, const char *name, enum hp_flame_kind kind);
uint32_t hp_flame_child(struct hp_flame_tree *tree, uint32_t parent, uint32_t name);

/* Merges the smallest nodes until at most `most` are left. */
void hp_flame_prune(struct hp_flame *flame, struct hp_flame_tree *tree, size_t most);

#endif
