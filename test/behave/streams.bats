#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# streams.bats - streams: items and bytes are those that the program counted, and the program does what it does without us.

load helper

PROGRAMS=$ROOT/test/behave/programs

# rows FILE - LABEL INSTANCES ITEMS BYTES of the streams in a report.
rows()
{
	python3 - "$1" <<-'END'
		import json, sys
		for row in json.load(open(sys.argv[1]))["streams"]["raw"]:
		    print(row["label"], row["instances"], row["items_yielded"], row["bytes"])
	END
}

# of FILE LABEL KEYS... - values of one row.
of()
{
	python3 - "$@" <<-'END'
		import json, sys
		for row in json.load(open(sys.argv[1]))["streams"]["raw"]:
		    if row["label"] == sys.argv[2]:
		        print(*[row[key] for key in sys.argv[3:]])
	END
}

# recorded NAME COMMAND... - its report is $T/NAME.json, its output $T/NAME.out.
recorded()
{
	HOTPATH_REPORT=streams HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/$1.json "$HP_RUN" "${@:2}" >"$T/$1.out"
}

@test "streams: those that the program marks, by threads, a child, and a thousand from one place" {
	gcc -O2 -DHOTPATH -I"$ROOT/include" -o "$T/marks" "$PROGRAMS/streams.c" -pthread
	recorded marks "$T/marks"
	diff <(sort "$T/marks.out") <(rows "$T/marks.json" | sort)
	[ "$(of "$T/marks.json" rows ended closed_early failed left_open)" = "990 0 10 0" ]
	[ "$(of "$T/marks.json" parent left_open state)" = "1 closed" ]
	of "$T/marks.json" rows logs | grep "'index': 10,.*a text of the program's own"
	run ! grep -q "a text" <(of "$T/marks.json" shared logs)
	"$T/marks" | cmp - "$T/marks.out"
}
