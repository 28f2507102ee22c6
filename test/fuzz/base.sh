# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# base.sh - the run that the targets of a segment start from.

# fuzz_base BUILD FOLDER - records test/fuzz/base_program.c and prints the file's name.
fuzz_base()
{
	local build=$1 folder=$2 root
	root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

	mkdir -p "$folder"
	gcc -g -O1 -finstrument-functions -DHOTPATH -I"$root" -o "$folder/base_program" \
		"$root/test/fuzz/base_program.c" -lpthread || return
	XDG_STATE_HOME=$folder/state HOTPATH_OUTPUT_FORMAT=none HOTPATH_REPORT=all \
		"$build/hotpath-run" "$folder/base_program" >/dev/null 2>&1
	ls "$folder"/state/hotpath/*.hp.gz | tail -n 1
}
