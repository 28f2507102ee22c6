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

@test "streams: descriptors that are never read are closed or left open, and not in the table" {
	cat >"$T/unread.c" <<-'END'
		#include <stdio.h>
		#include <sys/inotify.h>
		#include <sys/signalfd.h>
		#include <sys/timerfd.h>
		#include <unistd.h>
		int main(void)
		{
			sigset_t none;
			sigemptyset(&none);
			close(timerfd_create(CLOCK_MONOTONIC, 0));
			close(inotify_init());
			return signalfd(-1, &none, 0) < 0 || getc(fopen("/proc/self/stat", "r")) < 0;
		}
	END
	gcc -g -o "$T/unread" "$T/unread.c"
	recorded unread "$T/unread"
	diff - <(python3 -c "
import json
for r in json.load(open('$T/unread.json'))['streams']['raw']:
    print(r['type_name'], r['items_yielded'], r['ended'], r['closed_early'], r['left_open'])" | sort) <<-'END'
		FILE 1 0 0 1
		inotify 0 0 1 0
		signalfd 0 0 0 1
		timerfd 0 0 1 0
	END
	HOTPATH_REPORT=streams HOTPATH_OUTPUT_PATH=$T/unread.txt LD_PRELOAD=$HP_LIB "$T/unread"
	grep -q 'FILE .* left open' "$T/unread.txt"
	run ! grep -E 'timerfd|inotify|signalfd' "$T/unread.txt"
}

# A call that the compiler copies with the function around it.
@test "streams and futures: copies of one line are one row, and without lines names differ" {
	cat >"$T/copies.c" <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		static void *nothing(void *unused) { return unused; }
		static inline __attribute__((always_inline)) int once(void)
		{
			FILE *file = fopen("/proc/self/stat", "r");
			int first = getc(file);
			pthread_t thread;
			pthread_create(&thread, NULL, nothing, NULL);
			pthread_join(thread, NULL);
			return fclose(file) + (first < 0);
		}
		int main(void) { return once() + once() + once(); }
	END
	gcc -g -O2 -o "$T/copies" "$T/copies.c" -pthread
	strip -g -o "$T/stripped" "$T/copies"
	for name in copies stripped; do
		HOTPATH_REPORT=streams,futures HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/$name.json LD_PRELOAD=$HP_LIB "$T/$name"
	done
	python3 - "$T" <<-'END'
		import json, sys
		for kind, count in ("streams", "instances"), ("futures", "call_count"):
		    one, = json.load(open(sys.argv[1] + "/copies.json"))[kind]["data"]
		    assert one[count] == 3, one
		    three = json.load(open(sys.argv[1] + "/stripped.json"))[kind]["data"]
		    assert [row[count] for row in three] == [1, 1, 1], three
		    assert len({row["label"] for row in three}) == 3, three
	END
}

# A vfork child has its parent's memory, where another thread reads meanwhile.
@test "streams: vfork children end nothing of what their parent reads" {
	compile vforks -fno-instrument-functions <<-'EOF'
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <stdio.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static volatile int is_over;
		static int children;
		static void *make_children(void *nothing)
		{
			do {
				pid_t pid = vfork();
				if (pid == 0)
					_exit(0);
				children += pid > 0 && waitpid(pid, NULL, 0) == pid;
			} while (!is_over);
			return nothing;
		}
		int main(int argc, char **argv)
		{
			FILE *file = fopen(argv[argc - 1], "r");
			char line[64];
			long count = 0;
			pthread_t thread;
			if (!file || pthread_create(&thread, NULL, make_children, NULL))
				return 7;
			while (fgets(line, sizeof(line), file))
				count++;
			is_over = 1;
			pthread_join(thread, NULL);
			fclose(file);
			fprintf(stderr, "%d children\n", children);
			return count != 1500000;
		}
	EOF
	seq 1500000 >"$T/numbers"
	recorded vforks "$T/vforks" "$T/numbers"
	rows "$T/vforks.json"
	rows "$T/vforks.json" | grep -q " 1 1500000 $(stat -c %s "$T/numbers")$"
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
		static GMainLoop *loop;
		static char to[1000];
		static void next(GObject *stream, GAsyncResult *result, void *unused)
		{
			if (result && g_input_stream_read_finish(G_INPUT_STREAM(stream), result, NULL) <= 0)
				g_main_loop_quit(loop);
			else
				g_input_stream_read_async(G_INPUT_STREAM(stream), to, 700, 0, NULL, next, unused);
		}
		static void next_line(GObject *stream, GAsyncResult *result, void *unused)
		{
			char *line = result ? g_data_input_stream_read_line_finish(G_DATA_INPUT_STREAM(stream), result, NULL, NULL) : NULL;
			g_free(line);
			if (result && !line)
				g_main_loop_quit(loop);
			else
				g_data_input_stream_read_line_async(G_DATA_INPUT_STREAM(stream), 0, NULL, next_line, unused);
		}
		static void later(void)
		{
			GInputStream *stream = g_memory_input_stream_new_from_data(bytes, sizeof(bytes), NULL);
			GInputStream *text = g_memory_input_stream_new_from_data("one\ntwo\nthree\n", 14, NULL);
			loop = g_main_loop_new(NULL, FALSE);
			next(G_OBJECT(stream), NULL, NULL);
			g_main_loop_run(loop);
			next_line(G_OBJECT(g_data_input_stream_new(text)), NULL, NULL);
			g_main_loop_run(loop);
		}
		static void whole(void)
		{
			GInputStream *stream = g_memory_input_stream_new_from_data(bytes, sizeof(bytes), NULL);
			GInputStream *text = g_memory_input_stream_new_from_data("one\ntwo", 7, NULL);
			GDataInputStream *data = g_data_input_stream_new(text);
			size_t size;
			g_bytes_unref(g_input_stream_read_bytes(stream, 600, NULL, NULL));
			while (g_input_stream_read_all(stream, to, 1000, &size, NULL, NULL) && size == 1000) ;
			for (char *line; (line = g_data_input_stream_read_line(data, NULL, NULL, NULL)); g_free(line)) ;
		}
		int main(void)
		{
			reads(300, -1);
			reads(100, 5);
			later();
			whole();
			return 0;
		}
	END
	# shellcheck disable=SC2086
	gcc -g -O2 -o "$T/gio" "$T/gio.c" $gio
	recorded gio "$T/gio"
	diff - <(python3 -c "
import json
for r in sorted(json.load(open('$T/gio.json'))['streams']['raw'], key=lambda r: r['id']):
    if r['type_name'] == 'GInputStream':
        print(r['items_yielded'], r['bytes'], r['instances'], r['ended'], r['closed_early'])" | sort) <<-'END'
		11 10000 1 1 0
		15 10000 1 1 0
		2 6 1 1 0
		3 11 1 1 0
		39 10500 2 1 1
	END
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
