#!/bin/sh
# SPDX-License-Identifier: MIT
#
# refresh-golden.sh [--record|--record-kept] - rewrites the reports expected by
# test/golden/golden.bats, and the lists of test/golden/surface.bats; review the difference. With
# --record the segments are recorded again too, which is needed only if their format has changed.
#
# A case is a directory of test/golden: segment.gz (the recorded data),
# program.gz (the executable, for its names), and the reports.  Paths in a
# segment are absolute, so the program is always in /tmp/hotpath-golden. A case
# with samples is a kept run (run.hp.gz) instead: names of the kernel's code are
# only available on the machine where it ran.

cd "$(dirname "$0")/.." || exit 1
. test/golden/views.sh

# record CASE COMPILER SOURCE FLAGS...
record()
{
	case=test/golden/$1
	program=$golden_place/$1
	compiler=$2
	source=$3
	shift 3
	mkdir -p "$case" "$golden_place" || exit
	"$compiler" -O2 -finstrument-functions "$@" -o "$program" "$source" -lm -lpthread || exit
	HOTPATH_SEGMENT_SIZE=8M HOTPATH_SEGMENT_PATH=$golden_place/segment HOTPATH_OUTPUT_FORMAT=none \
		HOTPATH_CPU=off "$golden_build/hotpath-run" "$program" >/dev/null || exit
	gzip -9n <"$program" >"$case/program.gz"
	gzip -9n <"$golden_place/segment" >"$case/segment.gz"
	rm -f "$golden_place/segment"
}

# record_kept CASE SOURCE FLAGS... - as root, or another user who may sample the
# kernel.
record_kept()
{
	case=test/golden/$1
	name=$1
	source=$2
	shift 2
	mkdir -p "$case" "$golden_place" || exit
	rm -rf "$golden_place/state" "$golden_place/bin"
	mkdir -p "$golden_place/bin" && cp "$golden_build"/libhotpath.so "$golden_build"/hotpath \
		"$golden_build"/hotpath-sampler "$golden_build"/hotpath-run "$golden_place/bin" || exit
	cc -O2 -g -finstrument-functions "$@" -o "$golden_place/$name" "$source" -lm -lpthread || exit
	# From there: the run has paths of its files, and the revision of its folder.
	(cd "$golden_place" && HOTPATH_SEGMENT_SIZE=8M HOTPATH_OUTPUT_FORMAT=none HOTPATH_CPU=perf \
		XDG_STATE_HOME=$golden_place/state \
		"$golden_place/bin/hotpath-run" "$golden_place/$name" >/dev/null) || exit
	cp "$golden_place"/state/hotpath/*.hp.gz "$case/run.hp.gz" && chmod 644 "$case/run.hp.gz" || exit
	rm -rf "$golden_place/state" "$golden_place/bin" "$golden_place/$name"
}

if [ "$1" = --record-kept ] || [ "$1" = --record ]; then
	record_kept choose test/examples/choose.c
	record_kept surface test/golden/surface/shop.c -DHOTPATH -D_GNU_SOURCE -Iinclude
fi
if [ "$1" = --record ]; then
	record basic cc test/examples/basic.c
	record threads cc test/examples/cpu.c
	record stl c++ test/examples/stl.cc -std=c++17
fi
for case in test/golden/*/; do
	unpack "$case" || exit
	for view in $views; do
		view "$view" "$case" >"$case$view" || exit
	done
done
for list in $surface_lists; do
	# Its screens are captured once they do not change for a second.
	surface "$list" . >"$golden_place/$list.txt" && mv "$golden_place/$list.txt" "test/golden/surface/$list.txt" || exit
done
git --no-pager diff --stat -- test/golden
