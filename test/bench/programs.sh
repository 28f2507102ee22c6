#!/bin/bash
# SPDX-License-Identifier: MIT
#
# programs.sh - the cost of per-function timing for ordinary programs. lua and
# sqlite3 from Debian's sources, gcc -O2, every function.
#
#   plain      not instrumented
#   empty      instrumented; the hooks are libc's, which do nothing
#   default    libhotpath.so, with all that it records unasked
#   adaptive   functions only, as are all of these
#   exact      libhotpath.so with HOTPATH_TIMING=exact
#   uftrace    uftrace record, data to memory
#   gprof      compiled with -pg instead
#
# Wall time, without printing a report. Then main's reported time, adaptive, compared with the total
# with empty hooks: the uncorrected part of our cost. And how much of the segment such programs
# touch.  ROUNDS=3; WORK=1 is
# 0.1 to 0.3 s of the plain program.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
work=${WORK:-1}
programs=$out/programs
memory=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)") || exit
trap 'rm -rf "$memory"' EXIT

# build_kind PROGRAM SOURCE KIND FLAG... - once.
build_kind()
{
	local to=$programs/$1.$3

	[ -x "$to" ] && return
	scripts/build-program "$1" "$2" "$to.new" -O2 -g "${@:4}" && mv "$to.new" "$to"
	rm -rf "$to.new.o"
}

build_all()
{
	local source

	mkdir -p "$programs"
	source=$(scripts/fetch-source "$1" "$build/source") || {
		echo "skipped: no source of $1 here"
		return 1
	}
	build_kind "$1" "$source" plain && build_kind "$1" "$source" gprof -pg &&
		build_kind "$1" "$source" instrumented -finstrument-functions
}

# Fixed queries: insert, index, join, group, sort, text.
queries()
{
	cat <<'SQL'
create table item(id integer primary key, name text, price real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000 * WORK)
	insert into item select i, 'item ' || (i * 7919 % 10007), i % 97 / 7.0 from n;
create index by_name on item(name);
select count(*), sum(price), max(name) from item where name between 'item 2' and 'item 5';
select a.name, b.name from item a join item b on a.id = b.id * 31 order by a.price, b.name limit 5;
select substr(name, 1, 7) as start, count(*), avg(price) from item group by start order by 2 limit 9;
select count(*) from item a join item b on a.name = b.name and a.id < b.id;
update item set price = price * 2 where id % 3 = 0;
select name, price from item order by price desc, name limit 5;
SQL
}

# command PROGRAM KIND - sets `line`, the command for this kind.
command_of()
{
	case $1 in
	lua5.4) line=("$programs/$1.$2" test/examples/demo.lua $((6 * work))) ;;
	sqlite3) line=("$programs/$1.$2" -batch :memory: ".read $memory/queries.sql") ;;
	stl) line=("$programs/stl") ;;
	esac
}

# once KIND - seconds of $program.
once()
{
	case $1 in
	plain) command_of "$program" plain ;;
	gprof) command_of "$program" gprof ;;
	*) command_of "$program" instrumented ;;
	esac
	case $1 in
	default)
		HOTPATH_KEEP=0 HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$lib wall "${line[@]}"
		;;
	adaptive | exact)
		HOTPATH_KEEP=0 HOTPATH_REPORT=functions-timing,calltree HOTPATH_OUTPUT_FORMAT=none \
			HOTPATH_TIMING=$1 LD_PRELOAD=$lib wall "${line[@]}"
		;;
	uftrace)
		wall uftrace record --no-libcall --no-event --max-stack=10240 -d "$memory/uftrace" "${line[@]}"
		rm -rf "$memory/uftrace"*
		;;
	gprof) GMON_OUT_PREFIX=$memory/gmon wall "${line[@]}" ;;
	*) wall "${line[@]}" ;;
	esac
}

row()
{
	local kind

	printf '%-10s%8s' "$program" "$(reckon "${least[plain]} * 1000" %.0f)"
	for kind in empty default adaptive exact uftrace gprof; do
		printf '%10s' "$(ratio $kind plain)"
	done
	printf '  |'
	for kind in adaptive exact uftrace; do
		printf '%10s' "$(ratio $kind empty)"
	done
	echo
}

# main's time in the report, ms.
measured()
{
	HOTPATH_KEEP=0 HOTPATH_REPORT=functions-timing HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH=$memory/report LD_PRELOAD=$lib "${line[@]}" >/dev/null 2>&1
	python3 -c '
import json, sys
rows = json.load(open(sys.argv[1]))["functions_timing"]["raw"]
print(round(next(r["total_ns"] for r in rows if r["name"].endswith("main")) / 1e6))' \
		"$memory/report"
}

measured_row()
{
	local round

	command_of "$program" instrumented
	printf '%-10s%8s  ' "$program" "$(reckon "${least[empty]} * 1000" %.0f)"
	for ((round = 0; round < 5; round++)); do
		printf '%8s' "$(measured)"
	done
	echo
}

calls_in()
{
	python3 test/behave/counts.py "$1" 2>/dev/null | awk '{ n += $NF } END { print n }'
}

# Prints the touched part of the segment's 1 GB; the file is sparse.
touched()
{
	local file=$memory/segment

	rm -f "$file"
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$memory/report HOTPATH_FUNCTIONS_LIMIT=0 \
		HOTPATH_SEGMENT_PATH=$file "$build/hotpath-run" "${line[@]}" >/dev/null 2>&1
	printf '%-10s%14s%12s%12s%12s\n' "$program" "$(calls_in "$memory/report")" \
		"$(touched_mb "$file")" "$(reckon "$(segment_used "$file") / 1048576" %.1f)" \
		"$(segment_refused "$file")"
}

kinds="plain empty default adaptive exact gprof"
have uftrace && kinds="$kinds uftrace"
queries | sed "s/WORK/$work/" >"$memory/queries.sql"
there= told_rows=
for program in lua5.4 sqlite3; do
	build_all "$program" && there="$there $program"
done
echo "wall time of a whole run, least of ${ROUNDS:-3}; beside the plain program, and beside"
echo "the instrumented one without a library"
printf '%-10s%8s%10s%10s%10s%10s%10s%10s  |%10s%10s%10s\n' program 'plain ms' empty default adaptive exact \
	uftrace gprof adaptive exact uftrace
for program in $there; do
	# shellcheck disable=SC2086
	turns "${ROUNDS:-3}" $kinds
	row
	told_rows+=$(measured_row)$'\n'
done
echo
echo "ms with empty hooks, and what five reports say of main"
printf '%s' "$told_rows"
"${CXX:-c++}" -std=c++17 -O0 -g -finstrument-functions -o "$programs/stl" test/examples/stl.cc &&
	there="$there stl"
echo
echo "the segment's part that was touched; budget 100 MB, refused 0"
printf '%-10s%14s%12s%12s%12s\n' program calls 'on disk MB' 'used MB' refused
for program in $there; do
	command_of "$program" instrumented
	touched
done
