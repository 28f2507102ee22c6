#!/bin/sh
# SPDX-License-Identifier: MIT
#
# refresh-docs.sh [PAGE...] - puts the current output of commands into README.md and the
# pages of doc/guide/. Needs a build. scripts/docs.py describes the marks in the pages.

cd "$(dirname "$0")/.." || exit 1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
[ $# -gt 0 ] || set -- README.md doc/guide/*.md
run=
# In a separate network namespace, programs get their usual ports, and see no other running
# programs.
if unshare -n true 2>/dev/null; then
	run="unshare -n sh -c 'ip link set lo up; exec \"\$@\"' -"
fi
eval "$run python3 scripts/docs.py write \"${B:-build}\" \"$folder\" \"\$@\""
