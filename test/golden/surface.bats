#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# surface.bats - every name that the product publishes is as it was when someone looked: keys, titles, routes,
# tools, schemas, metrics, tabs, help.  Clients, scripts and readers hold on to them.  Their subject is the
# recorded run of test/golden/surface; scripts/refresh-golden.sh rewrites the expected output.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
HP_BUILD=${HP_BUILD:-$ROOT/build}
while IFS= read -r variable; do
	unset "$variable"
done < <(compgen -e HOTPATH_)
unset NO_COLOR CLICOLOR_FORCE COLUMNS DEBUGINFOD_URLS
. "$ROOT/test/golden/views.sh"

# same LIST - compares it with test/golden/surface/LIST.txt.
same()
{
	surface "$1" "$ROOT" "$ROOT/test/golden/surface/$1.txt" >"$BATS_TEST_TMPDIR/$1.txt"
	diff -u --label "$1, expected" --label "$1, now" "$ROOT/test/golden/surface/$1.txt" "$BATS_TEST_TMPDIR/$1.txt"
}

@test "surface: keys of sections, other spellings, and messages about wrong ones" { same sections; }
@test "surface: each section's table" { same tables; }
@test "surface: keys of the report in JSON" { same report; }
@test "surface: help of all commands" { same help; }
@test "surface: the manual page's tables" { same roff; }
@test "surface: exports" { same exports; }
@test "surface: the comparison of two runs" { same compare; }
@test "surface: routes, and the keys of their answers" { same routes; }
@test "surface: routes as clients of 0.18 know them" { same routes-old; }
@test "surface: metrics" { same metrics; }
@test "surface: MCP's tools and their schemas" { same mcp-tools; }
@test "surface: answers of MCP's tools" { same mcp-answers; }
@test "surface: every view of the console" { same console; }
@test "surface: the page's data" { same page; }

@test "surface: the page's views, tables and columns" {
	command -v node >/dev/null || skip "no node here; make test-all installs it"
	same page-drawn
}

# A new section may have been forgotten here.
@test "surface: no section is missing in these lists" {
	"$HP_BUILD/hotpath" help --sections >"$BATS_TEST_TMPDIR/keys"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/keys")" -ge 20 ]
	while read -r key; do
		grep -q "^=== $key: 0" "$ROOT/test/golden/surface/tables.txt" || { echo "not in tables.txt: $key"; return 1; }
	done <"$BATS_TEST_TMPDIR/keys"
}
