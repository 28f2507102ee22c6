#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# streams.bats - streams: items and bytes are those that the program counted, and the program behaves as it
# does without us.

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
	HOTPATH_REPORT=streams HOTPATH_STREAMS_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/$1.json "$HP_RUN" "${@:2}" >"$T/$1.out"
}

@test "streams: streams marked by the program, in threads, in a child, and a thousand from one place" {
	gcc -O2 -DHOTPATH -I"$ROOT/include" -o "$T/marks" "$PROGRAMS/streams.c" -pthread
	recorded marks "$T/marks"
	diff <(sort "$T/marks.out") <(rows "$T/marks.json" | sort)
	[ "$(of "$T/marks.json" rows ended closed_early failed left_open)" = "990 0 10 0" ]
	[ "$(of "$T/marks.json" parent left_open state)" = "1 closed" ]
	of "$T/marks.json" rows logs | grep "'index': 10,.*a text of the program's own"
	run ! grep -q "a text" <(of "$T/marks.json" shared logs)
	"$T/marks" | cmp - "$T/marks.out"
}

# files NAME - "FILE ITEMS BYTES STATE" of the files that streams_file read, as it prints them.
files()
{
	python3 - "$T/$1.json" <<-'END'
		import json, sys
		for row in json.load(open(sys.argv[1]))["streams"]["raw"]:
		    state = [name for name, key in (("ended", "ended"), ("closed", "closed_early"), ("error", "failed"),
		                                    ("left", "left_open")) if row[key]]
		    # Three hundred files from one place are one row.
		    name = row["label"].split(" (")[0]
		    if not row.get("path") and name != "stdin":
		        name = "many" if row["instances"] == 300 else "popen"
		    print(name, row["items_yielded"], row["bytes"], *state)
	END
}

@test "streams: files, by each function of stdio" {
	mkdir "$T/files"
	gcc -g -O2 -o "$T/files/read" "$PROGRAMS/streams_file.c" -pthread
	seq 1 3000 >"$T/numbers"
	"$T/files/read" "$T/files" <"$T/numbers" >"$T/plain.out"
	recorded regular "$T/files/read" "$T/files" <"$T/numbers"
	cmp "$T/plain.out" "$T/regular.out"
	diff <(sort "$T/plain.out") <(files regular | sort)
	cat "$T/numbers" | recorded pipe "$T/files/read" "$T/files"
	diff <(sort "$T/plain.out") <(files pipe | sort)
}

@test "streams: directories, sockets that are accepted from, timerfd, signalfd, inotify" {
	gcc -g -O2 -o "$T/other" "$PROGRAMS/streams_other.c" -pthread
	recorded other "$T/other" "$T/entries"
	python3 - "$T/other.json" >"$T/other.rows" <<-'END'
		import json, sys
		names = {1: "all", 5: "some"}
		for row in json.load(open(sys.argv[1]))["streams"]["raw"]:
		    state = "ended" if row["ended"] == row["instances"] else "closed"
		    name = names[row["instances"]] if row["type_name"] == "DIR" else row["type_name"]
		    if name == "all" and row["items_yielded"] < 302:
		        name = "scan"
		    print(name, row["items_yielded"], row["instances"], state)
	END
	diff <(sort "$T/other.out") <(sort "$T/other.rows")
	[ "$(python3 -c "
import json; print(*[r['gaps_timed'] for r in json.load(open('$T/other.json'))['streams']['raw'] if r['type_name'] == 'accept'])")" = 98 ]
}

@test "streams: GInputStream" {
	local gio
	gio=$(pkg-config --cflags --libs gio-2.0 2>/dev/null) || skip "no GIO here"
	cat >"$T/gio.c" <<-'END'
		#include <gio/gio.h>
		static char bytes[10000];
		static void reads(int size, int most)
		{
			GInputStream *stream = g_memory_input_stream_new_from_data(bytes, sizeof(bytes), NULL);
			char to[1000];
			int items = 0;
			while (items != most && g_input_stream_read(stream, to, size, NULL, NULL) > 0)
				items++;
			g_input_stream_close(stream, NULL, NULL);
			g_object_unref(stream);
		}
		int main(void)
		{
			reads(300, -1);
			reads(100, 5);
			return 0;
		}
	END
	# shellcheck disable=SC2086
	gcc -g -O2 -o "$T/gio" "$T/gio.c" $gio
	recorded gio "$T/gio"
	[ "$(python3 -c "
import json
for r in json.load(open('$T/gio.json'))['streams']['raw']:
    if r['type_name'] == 'GInputStream':
        print(r['items_yielded'], r['bytes'], r['instances'], r['ended'], r['closed_early'])")" = "39 10500 2 1 1" ]
}

@test "streams: sed, sort, uniq and ls read what wc counts" {
	local size
	nm -D "$(readlink -f "$(command -v sed)")" 2>/dev/null | grep -q getdelim || skip "sed does not read by getdelim here"
	mkdir "$T/many"
	(cd "$T/many" && seq 100 | xargs touch)
	seq 1 5000 >"$T/five"
	size=$(wc -c <"$T/five")
	recorded tools sh -c "sed s/1/2/ <$T/five; sort $T/five; uniq <$T/five; ls $T/many"
	[ "$(of "$T/tools.json" "stdin (sed)" items_yielded bytes)" = "5000 $size" ]
	[ "$(of "$T/tools.json" "stdin (uniq)" items_yielded bytes)" = "None $size" ]
	python3 - "$T/tools.json" "$T/many" "$size" <<-'END'
		import json, sys
		rows = json.load(open(sys.argv[1]))["streams"]["raw"]
		assert any(row["bytes"] == int(sys.argv[3]) and row["items_yielded"] == 1 for row in rows), "sort"
		assert any(row.get("path") == sys.argv[2] and row["items_yielded"] == 102 for row in rows), "ls"
	END
}
