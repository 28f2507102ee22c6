# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# views.sh - the reports kept for each case, their commands, and the lists of
# published names. shared by golden.bats, surface.bats and
# scripts/refresh-golden.sh.

golden_place=/tmp/hotpath-golden	# the same for all users: the paths are in the segments
golden_own=${BATS_TEST_TMPDIR:-$golden_place}
golden_build=${HP_BUILD:-$PWD/build}
views="short-80.txt short-120.txt table-80.txt table-120.txt all.json"
surface_lists="sections tables report help roff exports compare routes routes-old metrics mcp-tools mcp-answers console page page-drawn"

# unpack CASE - its program and segment, or its kept run, which has names of the kernel's code too.
# Fails if the place has another program of another user.
unpack()
{
	name=$(basename "$1")
	[ ! -e "$1/run.hp.gz" ] || { cp "$1/run.hp.gz" "$golden_own/$name.segment"; return; }
	mkdir -p "$golden_place" && gzip -dc "$1/segment.gz" >"$golden_own/$name.segment" || return
	gzip -dc "$1/program.gz" | cmp -s - "$golden_place/$name" && return
	[ -O "$golden_place" ] && gzip -dc "$1/program.gz" >"$golden_place/$name.new.$$" &&
		mv "$golden_place/$name.new.$$" "$golden_place/$name"
}

# view VIEW CASE - on stdout. It tests neither the version nor differences between library releases.
view()
{
	name=$(basename "$2")
	case $1 in
	table-*.txt)
		columns=${1#table-}
		sections=all
		[ "$name" != choose ] || sections=functions-cpu,offcpu,bound
		[ "$name-$columns" != surface-80.txt ] || sections=all,-channels,-lock_order	# they are wider
		COLUMNS=${columns%.txt} HOTPATH_REPORT=$sections "$golden_build/hotpath" report \
			"$golden_own/$name.segment" |
			sed -E '/^note +[^ ]*[.]so[.0-9]* is not the file that was running: names are missing$/d'
		;;
	short-*.txt)
		columns=${1#short-}
		COLUMNS=${columns%.txt} "$golden_build/hotpath" report "$golden_own/$name.segment" |
			sed -E '/^note +[^ ]*[.]so[.0-9]* is not the file that was running: names are missing$/d'
		;;
	all.json)
		sections=all
		[ "$name" != stl ] || sections=functions-timing,threads	# its tree is long
		[ "$name" != choose ] || sections=functions-cpu,offcpu,bound
		HOTPATH_REPORT=$sections HOTPATH_OUTPUT_FORMAT=json-pretty HOTPATH_PERCENTILES=0,50,95,99.9,100 \
			HOTPATH_LIMIT=5 "$golden_build/hotpath" report "$golden_own/$name.segment" |
			sed '/"version":/d'
		;;
	esac
}

# surface LIST ROOT [KNOWN] - on stdout.
surface()
{
	surface_folder=$(mktemp -d "${BATS_TEST_TMPDIR:-${TMPDIR:-/tmp}}/surface.XXXXXX") || return
	python3 "$2/test/golden/surface.py" "$1" "$golden_build" "$2/test/golden/surface/run.hp.gz" "$surface_folder" \
		${3+"$3"}
	surface_status=$?
	rm -rf "$surface_folder"
	return "$surface_status"
}
