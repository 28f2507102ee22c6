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

# Commands in the text, which no shell runs: their commands, options and settings must exist.
@test "docs: commands in the text have commands, options and settings that exist" {
	run python3 - "$ROOT" "$HP_BUILD/hotpath" <<-'END'
		import pathlib, re, subprocess, sys

		root, hotpath = pathlib.Path(sys.argv[1]), sys.argv[2]
		def help_of(*words):
		    return subprocess.run([hotpath, *words], capture_output=True, text=True, check=True).stdout
		commands = set(re.findall(r"^  (\w+) ", help_of("--help"), re.M))
		settings, helps, wrong, seen = help_of("help"), {}, [], 0
		for page in [root / "README.md", *root.glob("doc/guide/*.md")]:
		    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
		    for code in re.findall(r"`([^`]+)`", text):
		        found = re.match(r"((?:HOTPATH_\w+=\S+ )*)hotpath (\w+)(.*)", code, re.S)
		        wrong += [f"{page}: {name}" for name in re.findall(r"\b(HOTPATH_[A-Z_]+)=", code) if name not in settings]
		        if not found or found[2] == "COMMAND":
		            continue
		        seen += 1
		        command, options = found[2], re.findall(r" (--?[a-z][\w-]*)", found[3].split(" -- ")[0])
		        if command not in commands:
		            wrong.append(f"{page}: hotpath {command}")
		            continue
		        text_of = helps.get(command) or help_of(*([command] if command == "help" else [command, "--help"]))
		        helps[command] = text_of
		        wrong += [f"{page}: {code}: {option}" for option in options
		                  if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text_of)]
		print("\n".join(wrong), seen)
		sys.exit(bool(wrong) or seen < 20)
	END
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "docs: README is short, and so is the guide" {
	[ "$(wc -l <"$ROOT/README.md")" -le 150 ]
	[ "$(cat "$ROOT"/doc/guide/*.md | wc -w)" -le 9000 ]
}
