#!/bin/bash
# SPDX-License-Identifier: MIT
#
# end.sh - how long the prompt waits for the report after the program's end: ms, minimum of
# ROUNDS (5), with everything that is recorded by default. With BASE=FOLDER, another build, the
# two alternate, and the last column is the ratio to that.
#
#   first   with a fresh state folder: no kernel names, no debug information of earlier runs
#   later   the same folder again
#
# Goals, ms: sh, perl, git, grep, sort 20; node 50; gcc 100; cc1plus 150; make 200.  PROGRAMS="perl
# git" measures these only.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
work=$(mktemp -d /tmp/hotpath-end.XXXXXX) || exit
trap 'rm -rf "$work"' EXIT
unset HOTPATH_KEEP
export HOTPATH_PROFILE_DIR=off
rounds=${ROUNDS:-5}
cc1plus=$(g++ -print-prog-name=cc1plus 2>/dev/null)
lua=$(scripts/fetch-source lua5.4 "$build/source")

perl='my %h; for my $i (1..900000) { my $k = $i % 5003; $h{$k} .= "x" if length($h{$k} // "") < 50; } print scalar(keys %h)'
node='let a = []; for (let i = 0; i < 3e6; i++) a.push({ i, s: "x" + i % 7 }); console.log(a.length)'

# command NAME - sets `command`; fails if it is missing.
command_of()
{
	case $1 in
	sh) command=(/bin/sh -c true) ;;
	perl) command=(perl -e "$perl") ;;
	git) command=(git --no-pager log -p -n 60) ;;
	grep) command=(grep -rn zzqx /usr/include) ;;
	sort) command=(sort -o /dev/null "$work/lines") ;;
	node) command=(node -e "$node") ;;
	gcc) command=(gcc -O2 -c -I. "-I$build/gen" -o /dev/null report/command/report.c) ;;
	cc1plus) command=("$cc1plus" -quiet -O2 "$work/in.ii" -o /dev/null) ;;
	make) command=(sh -c "cd '$work/lua/src' && rm -f ./*.o ./*.a && make -j2 linux CC='gcc -std=gnu99'") ;;
	esac
	command -v "${command[0]}" >/dev/null && { [ "$1" != make ] || [ -d "$work/lua" ]; }
}

# once BUILD.STATE - state is `first`, in a new folder, or a folder's name.
once()
{
	local state=$work/state-${1##*.}-$(basename "${1%.*}" | tr / _)

	[ "${1##*.}" != first ] || rm -rf "$state"
	XDG_STATE_HOME=$state python3 test/bench/end.py "${1%.*}/hotpath-run" "${command[@]}" | cut -d ' ' -f 1
}

row()
{
	local kinds=("$build.first" "$build.later")

	command_of "$1" || { echo "$1: not here"; return; }
	[ -z "$PROGRAMS" ] || [[ " $PROGRAMS " == *" $1 "* ]] || return
	[ -z "$BASE" ] || kinds+=("$BASE.later")
	turns "$rounds" "${kinds[@]}"
	printf '%-10s%10.1f%10.1f' "$1" "${least[$build.first]:--1}" "${least[$build.later]:--1}"
	[ -z "$BASE" ] || printf '%10.1f%10s' "${least[$BASE.later]:--1}" "$(ratio "$build.later" "$BASE.later")"
	echo
}

[ -z "$BASE" ] || BASE=$(realpath "$BASE")
seq 300000 | awk '{ print $1 * 7919 % 1000003, $1 }' >"$work/lines"
printf '#include <map>\n#include <regex>\n#include <string>\n#include <vector>\n%s\n' \
	'bool f(std::map<std::string, std::vector<int>> &m) { return std::regex_match(m.begin()->first, std::regex("x*")); }' |
	g++ -E -x c++ - >"$work/in.ii" 2>/dev/null
[ ! -d "$lua" ] || cp -r "$lua" "$work/lua"
printf '%-10s%10s%10s%s\n' "ms" first later "${BASE:+      base     ratio}"
for name in sh perl git grep sort node gcc cc1plus make; do
	row "$name"
done
