#!/bin/sh
# SPDX-License-Identifier: MIT
#
# refresh-docs.sh [PAGE...] - puts the present output of commands into README.md and the
# pages of doc/guide/.  Needs a build.  scripts/docs.py says how pages are written for it.

cd "$(dirname "$0")/.." || exit 1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
[ $# -gt 0 ] || set -- README.md doc/guide/*.md
run=
# With a network of their own, programs get their usual ports, and see no others that run.
if unshare -n true 2>/dev/null; then
	run="unshare -n sh -c 'ip link set lo up; exec \"\$@\"' -"
fi
eval "$run python3 scripts/docs.py write \"${B:-build}\" \"$folder\" \"\$@\""
