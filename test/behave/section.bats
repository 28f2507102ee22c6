#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# section.bats - a new section is one file with its definition and one line in the list: then it is in the table,
# JSON, HTTP, MCP, the console, the page, help and documents.  A copy of the tree gets one.

load helper

setup_file()
{
	tree=$T/tree
	mkdir -p "$tree/build"
	(cd "$ROOT" && tar -cf - --exclude=./build --exclude=./.git --exclude=./test/golden .) | tar -xf - -C "$tree"
	cp -a "$HP_BUILD/obj" "$HP_BUILD/gen" "$HP_BUILD/flags" "$tree/build/"
	# They depend on files below the folder that they were built in.
	find "$tree/build/obj" -name '*.d' -exec \
		sed -i -E 's,^[^ ]+/(obj/[^ ]+\.o:),build/\1,; s,(^| )[^ ]+/(gen/[^ ]+),\1build/\2,' {} +
	cat >"$tree/report/section/timing/objects.c" <<'EOF'
/* SPDX-License-Identifier: MIT */
/*
 * objects.c - the section of loaded files.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/section/core/list.h"

static void fill(struct hp_report *report, struct hp_list *list)
{
	list->total = report->model.object_count;
	list->rows = hp_xcalloc(list->total, sizeof(*list->rows));
	for (size_t i = 0; i < list->total; i++)
		list->rows[i] = &report->model.objects[i];
	hp_section_cut(&hp_objects_section, report, list);
}

static void get_length(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = (double)strlen(((const struct hp_model_object *)cell->row)->path);
}

static const struct hp_column columns[] = {
	{ "File", "path", "path", HP_UNIT_CHAIN, .member = HP_MEMBER(hp_model_object, path) },
	{ "Id bytes", "id_bytes", "id_bytes", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_model_object, build_id_size) },
	{ "Letters", "letters", "letters", HP_UNIT_COUNT, .get = get_length },
	{ 0 },
};

const struct hp_section hp_objects_section = {
	.key = "loaded-files",
	.json = "loaded_files",
	.name = "loaded-files",
	.help = "files that were loaded",
	.subject = HP_SUBJECT_MEMORY,
	.columns = columns,
	.fill = fill,
	.usual = 20,
	.is_quiet = true,
	.about = "Files that the program loaded.",
	.none = "none was loaded",
};
EOF
	sed -i 's/^\(\tNOW(debug, .*)\)$/\1 \\\n\tNOW(objects, "loaded-files")/' "$tree/segment/section_key.h"
	touch "$T/before"
	make_as_built -j2 -C "$tree" B=build build/hotpath build/hotpath-live build/hotpath-console \
		>"$T/make.out" 2>&1 || { tail -30 "$T/make.out"; return 1; }
	for part in libhotpath.so hotpath-sampler hotpath-samply hotpath-run; do
		ln -s "$HP_BUILD/$part" "$tree/build/$part"
	done
	compile app <<'EOF'
int f(int x) { return x + 1; }
int main(int c, char **v) { (void)v; return f(c) - 2; }
EOF
	HOTPATH_REPORT=all "$HP_RUN" -f none "$T/app"
	find "$XDG_STATE_HOME" -name '*.hp.gz' >"$T/kept"
	kept=$(cat "$T/kept")
	export tree kept
}

new() { "$tree/build/hotpath" "$@"; }

# get PATH - of the finished run, over HTTP
get()
{
	local served status=0

	rm -f "$T/serve.out"	# of the previous one
	"$tree/build/hotpath" serve --port=0 "$kept" >"$T/serve.out" 2>&1 3>&- &
	served=$!
	eventually grep -q http "$T/serve.out"
	curl -s "$(sed -n 's|.*\(http://[0-9.:]*\).*|\1|p' "$T/serve.out" | head -1)$1" || status=$?
	kill "$served"
	wait "$served" || true
	return "$status"
}

@test "new section: two files of the tree change" {
	[ "$(cd "$tree" && diff -rq "$ROOT/report" report | wc -l)" = 1 ]
	[ "$(cd "$tree" && diff -rq "$ROOT/segment" segment | wc -l)" = 1 ]
	[ "$(diff "$ROOT/segment/section_key.h" "$tree/segment/section_key.h" | grep -c '^>')" -le 2 ]
}

@test "new section: only files that know it are recompiled" {
	[ -n "$(find "$tree/build/obj" -newer "$T/before" -name section.o)" ]
	[ -z "$(find "$tree/build/obj/report/elf" "$tree/build/obj/report/name" "$tree/build/obj/report/base" -newer "$T/before" -name '*.o')" ]
}

@test "new section: the table" {
	COLUMNS=200 new report -r loaded-files "$kept" >"$T/table"
	grep -q '^loaded-files - Files that the program loaded\.' "$T/table"
	grep -q '^File .*Id bytes  Letters$' "$T/table"
	local path=$T/app

	grep -q "^$path  *20  *${#path}\$" "$T/table" || { cat "$T/table"; return 1; }
}

@test "new section: JSON" {
	new report -f json -r loaded-files "$kept" >"$T/json"
	python3 - "$T/json" "$T/app" <<'EOF'
import json, sys
section = json.load(open(sys.argv[1]))["loaded_files"]
assert section["description"] == "Files that the program loaded.", section
rows = {row["path"]: row for row in section["raw"]}
assert rows[sys.argv[2]]["letters"] == len(sys.argv[2]), rows
assert [row["path"] for row in section["data"]] == [row["path"] for row in section["raw"]]
EOF
}

@test "new section: HTTP" {
	get /loaded_files >"$T/list"
	grep -q '"raw":\[{"path":' "$T/list"
	get /routes >"$T/routes"
	grep -q '"path":"/loaded_files","help":"files that were loaded"' "$T/routes"
}

@test "new section: a tool of MCP, with its schema and its answer" {
	{
		echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
		echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
		echo '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
		echo '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"loaded_files","arguments":{}}}'
		echo '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"explain","arguments":{"topic":"loaded_files"}}}'
	} | new mcp "$kept" >"$T/mcp"
	python3 - "$T/mcp" <<'EOF'
import json, sys
answers = {a.get("id"): a for a in map(json.loads, open(sys.argv[1]))}
tool, = [t for t in answers[2]["result"]["tools"] if t["name"] == "loaded_files"]
assert tool["description"] == "Files that were loaded.", tool
topic, = answers[4]["result"]["structuredContent"]["topics"]
row = topic["schema"]["properties"]["raw"]["items"]["properties"]
assert set(row) == {"path", "id_bytes", "letters"}, row
assert answers[3]["result"]["structuredContent"]["raw"], answers[3]
EOF
}

@test "new section: a console view, in the tab of its subject" {
	command -v tmux >/dev/null || skip "no tmux here"
	local tmux="tmux -L hp-section-$$ -f /dev/null"

	$tmux new-session -d -s c -x 160 -y 24 \
		"TERM=xterm-256color LC_ALL=C.UTF-8 '$tree/build/hotpath' console '$kept'; exec sleep 1000" 3>&-
	shown() { $tmux capture-pane -p -t c:0 | grep -q -e "$1"; }
	eventually shown '8 Waits'
	$tmux send-keys -t c:0 7
	eventually shown 'Loaded files'
	for _ in 1 2 3; do $tmux send-keys -t c:0 7; done
	eventually shown 'Files that the program loaded'
	eventually shown 'Id bytes'
	$tmux kill-server
}

@test "new section: the page" {
	new report --html -o "$T/page.html" "$kept"
	grep -q '"key":"loaded_files","about":"Files that the program loaded."' "$T/page.html"
	grep -q '^"loaded_files":{' "$T/page.html"
}

@test "new section: help, completions, the message about a wrong name" {
	new help sections | grep -q '^  loaded-files  *files that were loaded$'
	new help --sections | grep -qx loaded-files
	new help --sections-roff | grep -q '^files that were loaded$'
	new report -r loaded-files "$kept" >/dev/null 2>"$T/said"
	[ ! -s "$T/said" ]
	{ new report -r loaded-filez "$kept" 2>&1 >/dev/null || :; } | grep -q "the nearest is 'loaded-files'"
}

@test "new section: documents are stale until regenerated" {
	cd "$tree"
	run ! scripts/check-generated.sh build
	scripts/check-generated.sh --write build
	scripts/check-generated.sh build
	grep -q '^| `loaded-files` | `/loaded_files` | `loaded_files` | files that were loaded |$' doc/reference/http.md
}
