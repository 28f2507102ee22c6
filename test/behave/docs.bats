#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# docs.bats - README.md and doc/guide/: their commands run and print the output shown, and links lead
# somewhere.

load helper

# check PAGE... - runs the commands of these pages.
check()
{
	(cd "$ROOT" && python3 scripts/docs.py check "$HP_BUILD" "$T/docs" "$@")
}

@test "docs: every command of README.md and of the guide runs, and prints the shown output" {
	run check README.md doc/guide/*.md
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "docs: a command that fails, and output that has changed, are noticed" {
	cat >"$T/page.md" <<-'END'
		```console
		$ echo one; false
		one
		```
	END
	run check "$T/page.md"
	[ "$status" -eq 1 ]
	[[ $output == *"exit status 1, not 0"* ]]
	cat >"$T/page.md" <<-'END'
		```console
		$ echo after
		before
		```
	END
	run check "$T/page.md"
	echo "$output"
	[ "$status" -eq 1 ] || skip "without CPU samples what is shown is not compared"
	[[ $output == *"no longer printed: before"* ]]
}

@test "docs: links lead to existing files" {
	run python3 - "$ROOT" <<-'END'
		import os, pathlib, re, sys

		root = pathlib.Path(sys.argv[1])
		pages = [root / "README.md", root / "CONTRIBUTING.md", root / "segment/FORMAT.md", *root.glob("doc/**/*.md")]
		lost = [f"{page}: {link}" for page in pages for link in re.findall(r"\]\(([^)#\s]+)", page.read_text())
		        if not link.startswith("http") and not (page.parent / link).exists()]
		print("\n".join(lost))
		sys.exit(len(lost) > 0)
	END
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "docs: README is short, and so is the guide" {
	[ "$(wc -l <"$ROOT/README.md")" -le 150 ]
	[ "$(cat "$ROOT"/doc/guide/*.md | wc -w)" -le 9000 ]
}
