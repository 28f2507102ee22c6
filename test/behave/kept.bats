#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# kept.bats - every session leaves one file unasked; it is read again in other ways, after the
# program is gone, on a system that has nothing else of ours.

load helper

setup_file()
{
	compile app <<'END'
#include <stdlib.h>
#include <unistd.h>
static volatile unsigned sum;
__attribute__((noinline)) void leaf(unsigned n) { sum += n; }
__attribute__((noinline)) void left(void) { for (unsigned i = 0; i < 3000; i++) leaf(i); }
__attribute__((noinline)) void nap(void) { usleep(1000); }
__attribute__((noinline)) void right(void) { for (unsigned i = 0; i < 1000; i++) leaf(i); nap(); }
int main(int argc, char **argv)
{
	for (int i = 0; i < 5; i++) { left(); right(); }
	if (argc > 1 && argv[1][0] == 'k') kill(getpid(), 9);
	if (argc > 1 && argv[1][0] == 'p') pause();
	return argc > 1 ? atoi(argv[1]) : 0;
}
END
}

# Allocates in a function that is inlined into its caller.
compile_allocator()
{
	gcc -x c -g -O2 -o "$1" - <<'END'
#include <stdlib.h>
#include <string.h>
static void *volatile sink;
static inline __attribute__((always_inline)) void *make(size_t size)
{
	return memset(malloc(size), 1, size);
}
__attribute__((noinline)) static void fill(int rounds)
{
	while (rounds--) {
		sink = make(1000);
		free(sink);
	}
}
int main(void) { fill(500); return 0; }
END
}

setup()
{
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
	kept=$XDG_STATE_HOME/hotpath
	export HOTPATH_TEST_SPARE=$BATS_TEST_TMPDIR/spare
	mkdir "$HOTPATH_TEST_SPARE"
	spare=$HOTPATH_TEST_SPARE/hotpath-$(id -u)
	hotpath=$HP_BUILD/hotpath
}

# Names of the kernel and of system libraries are kept for all runs.
files()
{
	find "$kept" -mindepth 1 ! -name ".kernel-names" ! -name ".debug-*" 2>/dev/null
}

count()
{
	files | wc -l
}

# Older runs are removed after the prompt.
are_left()
{
	[ "$(count)" = "$1" ]
}

is_removed()
{
	[ ! -e "$1" ]
}

# The output of hotpath list for kept runs: others may have programs running.
kept_runs()
{
	"$hotpath" list 2>&1 | grep -v -e "  running  " -e "^hotpath: other users have"
}

# record [ENVIRONMENT...] -- ARGS - one run whose JSON report is in $T/json.
record()
{
	local environment=()
	while [ "$1" != -- ]; do environment+=("$1"); shift; done
	shift
	env HOTPATH_REPORT=all HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$BATS_TEST_TMPDIR/json" \
		HOTPATH_FUNCTIONS_LIMIT=0 "${environment[@]}" "$HP_RUN" "$@"
}

# again [OPTIONS] - the same report from the kept file.
again()
{
	HOTPATH_REPORT=all HOTPATH_FUNCTIONS_LIMIT=0 "$hotpath" report -f json "$@"
}

@test "kept: a session leaves one file, for its user alone" {
	"$HP_RUN" "$T/app" 2>/dev/null
	[ "$(count)" = 1 ]
	file=$(files)
	[[ ${file##*/} =~ ^[0-9]{8}T[0-9]{6}Z-app-[0-9]+\.hp\.gz$ ]]
	[ "$(stat -c %a "$file")" = 600 ]
	[ "$(stat -c %a "$kept")" = 700 ]
	gzip -t "$file"
}

@test "kept: it has the contents of the first report" {
	record HOTPATH_REPORT_LABEL="with a	tab" HOTPATH_USER_METADATA=k=v,build=7 -- "$T/app"
	again >"$BATS_TEST_TMPDIR/again"
	cmp "$BATS_TEST_TMPDIR/json" "$BATS_TEST_TMPDIR/again"
	python3 - "$BATS_TEST_TMPDIR/again" <<'END'
import json, os, sys
report = json.load(open(sys.argv[1]))
assert report["label"] == "with a?tab", report["label"]
assert report["user_metadata"] == {"build": "7", "k": "v"}, report["user_metadata"]
assert report["meta"]["os"] == "linux-" + os.uname().machine
assert report["meta"]["cores"] == os.sysconf("SC_NPROCESSORS_ONLN")
names = {row["name"]: row["calls"] for row in report["functions_timing"]["raw"]}
assert names == {"app::main": 1, "left": 5, "right": 5, "nap": 5, "leaf": 20000}, names
assert report["functions_timing"]["data"][0]["location"]["file"].endswith("app.c")
END
}

@test "kept: the same after the program is rebuilt or deleted" {
	cp "$T/app" "$BATS_TEST_TMPDIR/mine"
	record -- "$BATS_TEST_TMPDIR/mine"
	echo 'void other(void) {} int main(void) { other(); return 0; }' |
		gcc -x c -g -o "$BATS_TEST_TMPDIR/new" -
	mv "$BATS_TEST_TMPDIR/new" "$BATS_TEST_TMPDIR/mine"
	again | cmp - "$BATS_TEST_TMPDIR/json"
	rm "$BATS_TEST_TMPDIR/mine"
	again | cmp - "$BATS_TEST_TMPDIR/json"
}

@test "kept: paths of allocations, with inlined functions, after the program is deleted" {
	compile_allocator "$BATS_TEST_TMPDIR/mine"
	record -- "$BATS_TEST_TMPDIR/mine"
	rm "$BATS_TEST_TMPDIR/mine"
	again >"$BATS_TEST_TMPDIR/again"
	cmp "$BATS_TEST_TMPDIR/again" "$BATS_TEST_TMPDIR/json"
	python3 - "$BATS_TEST_TMPDIR/again" <<'END'
import json, sys
site = json.load(open(sys.argv[1]))["alloc_sites"]["raw"][0]
names = [frame["function"] for frame in site["frames"]]
assert names[0] == "make" and names[1].startswith("fill") and names[2] == "main", site
END
}

@test "kept: C++ names of paths that were not shown, after the program is deleted" {
	g++ -x c++ -O1 -o "$BATS_TEST_TMPDIR/mine" - <<'END'
#include <cstdlib>
namespace shop {
template <int N> struct shelf {
	__attribute__((noinline)) void *fill(unsigned char n) { return std::malloc(N + n) ?: this; }
};
template <int N> __attribute__((noinline)) void open(unsigned char n)
{
	shelf<N> one;
	static void *volatile kept[256];
	kept[n] = one.fill(n);
	asm volatile("" : : : "memory");
}
}
int main()
{
	for (int n = 0; n < 50; n++) {
		shop::open<16>(n), shop::open<32>(n), shop::open<48>(n), shop::open<64>(n);
		shop::open<80>(n), shop::open<96>(n), shop::open<112>(n), shop::open<128>(n);
	}
}
END
	HOTPATH_REPORT=alloc-sites HOTPATH_FUNCTIONS_LIMIT=2 "$HP_RUN" "$BATS_TEST_TMPDIR/mine" 2>/dev/null
	again >"$BATS_TEST_TMPDIR/before"
	rm "$BATS_TEST_TMPDIR/mine"
	again >"$BATS_TEST_TMPDIR/after"
	cmp "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after"
	for n in 16 32 48 64 80 96 112 128; do
		grep -q "shop::shelf<$n>::fill" "$BATS_TEST_TMPDIR/after"
		grep -q "shop::open<$n>" "$BATS_TEST_TMPDIR/after"
	done
}

@test "kept: other percentiles, focus, order" {
	record -- "$T/app"
	again -p 1,99 -F le -s name >"$BATS_TEST_TMPDIR/other"
	python3 - "$BATS_TEST_TMPDIR/other" <<'END'
import json, sys
table = json.load(open(sys.argv[1]))["functions_timing"]
assert table["percentiles"] == [1, 99]
assert [row["name"] for row in table["raw"]] == ["app::main", "leaf", "left"]
assert all(row["p1_ns"] <= row["p99_ns"] for row in table["raw"])
END
}

@test "kept: read with only the command installed" {
	[ "$(id -u)" = 0 ] || skip "needs to be root for chroot"
	record -- "$T/app"
	root=$BATS_TEST_TMPDIR/root
	mkdir -p "$root"
	for library in $(ldd "$hotpath" | grep -o '/[^ ]*'); do
		mkdir -p "$root/${library%/*}"
		cp -L "$library" "$root/$library"
	done
	cp "$hotpath" "$(files)" "$root/"
	HOTPATH_REPORT=all HOTPATH_FUNCTIONS_LIMIT=0 chroot "$root" /hotpath report -f json \
		"/$(basename "$(files)")" | cmp - "$BATS_TEST_TMPDIR/json"
}

@test "kept: hotpath list, and a run by its pid or its program" {
	record HOTPATH_REPORT_LABEL=first -- "$T/app"
	cp "$T/app" "$T/second app"
	record HOTPATH_REPORT_LABEL=two -- "$T/second app"
	run kept_runs
	echo "$output"
	[ "$status" = 0 ]
	[[ ${lines[0]} == Started*Program*PID*Took*Size*Label ]]
	[[ ${lines[1]} == *second\ app*two ]]
	[[ ${lines[2]} == *app*first ]]
	again | grep -q '"label":"two"'
	again app | grep -q '"label":"first"'
	(cd "$T" && again app) | grep -q '"label":"first"'	# even if a file has that name
	pid=$(echo "${lines[2]}" | awk '{ print $4 }')
	again "$pid" | grep -q '"label":"first"'
	# A file's name has _ for characters that it may not contain.
	again "second app" | grep -q '"label":"two"'
	again second-app | grep -q '"label":"two"'
	run "$hotpath" report nonesuch
	[ "$status" = 1 ]
	[[ $output == *nonesuch*"hotpath list"* ]]
}

@test "kept: none with HOTPATH_KEEP=0, the newest with others" {
	HOTPATH_KEEP=0 "$HP_RUN" "$T/app" 2>/dev/null
	[ "$(count)" = 0 ]
	for label in a b c d; do
		HOTPATH_KEEP=3 HOTPATH_REPORT_LABEL=$label "$HP_RUN" "$T/app" 2>/dev/null
	done
	eventually are_left 3
	[ "$(kept_runs | awk 'NR > 1 { printf "%s", $NF }')" = dcb ]
}

@test "kept: cleaning up removes only our files" {
	HOTPATH_KEEP=1 "$HP_RUN" "$T/app" 2>/dev/null
	mine=$(files)
	mkdir "$kept/20000101T000000Z-folder-1.hp.gz"
	echo precious >"$BATS_TEST_TMPDIR/precious"
	ln -s "$BATS_TEST_TMPDIR/precious" "$kept/20000101T000000Z-link-1.hp.gz"
	touch -d 2000-01-01 "$kept/notes.txt" "$kept/best.hp.gz" "$kept/.20000101T000000Z-x-1.hp.gz.bak" \
		"$kept/.20000101T000000Z-old-1.hp.gz.77" "$kept/20000101T000000Z-old-1.hp.gz"
	touch "$kept/.20000101T000000Z-left-1.hp.gz.78"
	(
		flock 9
		HOTPATH_KEEP=1 "$HP_RUN" "$T/app" 2>/dev/null 9>&-
	) 9>"$kept/.20000101T000000Z-busy-1.hp.gz.79"
	eventually is_removed "$mine"
	eventually is_removed "$kept/20000101T000000Z-old-1.hp.gz"
	[ ! -e "$kept/.20000101T000000Z-old-1.hp.gz.77" ]
	[ ! -e "$kept/.20000101T000000Z-left-1.hp.gz.78" ]
	[ -d "$kept/20000101T000000Z-folder-1.hp.gz" ]
	[ -L "$kept/20000101T000000Z-link-1.hp.gz" ]
	[ "$(cat "$BATS_TEST_TMPDIR/precious")" = precious ]
	[ -e "$kept/notes.txt" ]
	[ -e "$kept/best.hp.gz" ]
	[ -e "$kept/.20000101T000000Z-x-1.hp.gz.bak" ]
	[ -e "$kept/.20000101T000000Z-busy-1.hp.gz.79" ]
}

@test "kept: sessions that end at the same time do not disturb each other" {
	for _ in $(seq 20); do
		HOTPATH_KEEP=5 HOTPATH_OUTPUT_FORMAT=none "$HP_RUN" "$T/app" 2>>"$BATS_TEST_TMPDIR/err" &
	done
	wait
	HOTPATH_KEEP=5 HOTPATH_OUTPUT_FORMAT=none "$HP_RUN" "$T/app"
	[ ! -s "$BATS_TEST_TMPDIR/err" ]
	eventually are_left 5
	for file in $(files); do
		"$hotpath" report "$file" >/dev/null
	done
}

# kept_nowhere REASON - the report is printed, and a line explains why nothing is kept.
kept_nowhere()
{
	run "$HP_RUN" "$T/app"
	echo "$output"
	[ "$status" = 0 ]
	[[ $output == *"left "*"not kept: "*"$1"*"HOTPATH_KEEP=0"* ]]
	[ "$(grep -c "not kept" <<<"$output")" = 1 ]
	[[ $output != *"next:"* ]]
}

# kept_spare REASON - the run is in the spare folder, which is reported once, and list and report find
# it.
kept_spare()
{
	run "$HP_RUN" "$T/app"
	echo "$output"
	[ "$status" = 0 ]
	[[ $output == *"$1"*"kept in $spare, unless XDG_STATE_HOME"*"next:"* ]]
	[ "$(stat -c '%a %u' "$spare")" = "700 $(id -u)" ]
	run "$HP_RUN" "$T/app"
	[[ $output != *"kept in"* ]]
	[ "$(find "$spare" -type f ! -name ".kernel-names" ! -name ".debug-*" | wc -l)" = 2 ]
	[ "$(kept_runs | grep -c " app ")" = 2 ]
	"$hotpath" report | grep '^left '
	rm -r "$spare"
}

@test "kept: without a home folder, in a private one" {
	mkdir "$BATS_TEST_TMPDIR/elsewhere" "$XDG_STATE_HOME"
	ln -s "$BATS_TEST_TMPDIR/elsewhere" "$kept"
	kept_spare "is a link"
	[ -z "$(ls "$BATS_TEST_TMPDIR/elsewhere")" ]
	rm "$kept"
	mkdir "$kept"
	chmod 777 "$kept"
	kept_spare "chmod 700"
	unset XDG_STATE_HOME
	HOME= kept_spare "HOME: is not set"
	HOME=/proc kept_spare "/proc"
}

@test "kept: runs of both folders are listed, the newest first" {
	HOTPATH_REPORT_LABEL=a "$HP_RUN" "$T/app" 2>/dev/null
	XDG_STATE_HOME=/proc HOTPATH_REPORT_LABEL=b "$HP_RUN" "$T/app" 2>/dev/null
	HOTPATH_REPORT_LABEL=c "$HP_RUN" "$T/app" 2>/dev/null
	[ "$(kept_runs | awk 'NR > 1 { printf "%s", $NF }')" = cba ]
	"$hotpath" report "$(kept_runs | awk '$NF == "b" { print $4 }')" | grep -w '^\[hotpath\].* b'
}

@test "kept: if nothing can be kept, one line says so" {
	unset XDG_STATE_HOME
	HOTPATH_TEST_SPARE=/proc
	HOME= kept_nowhere "HOME: is not set"
	HOME=/proc kept_nowhere "/proc"
	HOTPATH_TEST_SPARE=$BATS_TEST_TMPDIR/spare
	mkdir "$BATS_TEST_TMPDIR/elsewhere"
	chmod 700 "$BATS_TEST_TMPDIR/elsewhere"
	ln -s "$BATS_TEST_TMPDIR/elsewhere" "$spare"
	HOME= kept_nowhere "$spare: is a link"
	[ -z "$(ls "$BATS_TEST_TMPDIR/elsewhere")" ]
	rm "$spare"
	mkdir -m 755 "$spare"
	HOME= kept_nowhere "$spare: may be"
	[ "$(id -u)" = 0 ] || return 0
	chmod 700 "$spare"
	chown 12345 "$spare"
	HOME= kept_nowhere "$spare: belongs to another user"
	[ -z "$(ls -A "$spare")" ]
}

@test "kept: a full disk costs the file and nothing else" {
	unshare -rm true 2>/dev/null || skip "no mount namespaces here"
	small=$BATS_TEST_TMPDIR/small
	mkdir "$small"
	run unshare -rm sh -c "mount -t tmpfs -o size=64k none '$small' &&
		head -c 64k /dev/zero >'$small/rest'; XDG_STATE_HOME=$small '$HP_RUN' '$T/app'
		echo status \$?; ls -A '$small/hotpath'"
	echo "$output"
	[[ $output == *"left "*"not kept: "*"No space left"*"status 0" ]]
}

@test "kept: a full file system leaves no partial record" {
	unshare -rm true 2>/dev/null || skip "no mount namespaces here"
	small=$BATS_TEST_TMPDIR/small
	mkdir "$small"
	for how in "'$HP_RUN'" "env LD_PRELOAD='$HP_LIB'"; do
		run unshare -rm sh -c "mount -t tmpfs -o size=64k none '$small' &&
			head -c 64k /dev/zero >'$small/rest'; HOTPATH_SEGMENT_PATH=$small/record $how '$T/app' 4
			echo status \$?; ls -A '$small'"
		echo "$output"
		[[ $output == *"not profiled: "*"No space left"*"status 4"$'\n'rest ]]
	done
}

@test "kept: a program with a small stack is reported and kept" {
	for size in 32 64 128; do
		(
			ulimit -s $size
			"$HP_RUN" "$T/app" 2>"$BATS_TEST_TMPDIR/small.$size"
			LD_PRELOAD=$HP_LIB "$T/app" 2>"$BATS_TEST_TMPDIR/alone.$size"
			"$hotpath" report -f json >"$BATS_TEST_TMPDIR/again"
		)
		grep '^left  *5 ' "$BATS_TEST_TMPDIR/small.$size"
		grep '^left  *5 ' "$BATS_TEST_TMPDIR/alone.$size"
		is_whole "$BATS_TEST_TMPDIR/again"
	done
	[ "$(count)" = 6 ]
}

@test "kept: root does not make files in a user's home" {
	[ "$(id -u)" = 0 ] || skip "needs to be root"
	unset XDG_STATE_HOME
	mkdir "$BATS_TEST_TMPDIR/home"
	chown 12345 "$BATS_TEST_TMPDIR/home"
	HOME=$BATS_TEST_TMPDIR/home kept_spare "another user"
	[ -z "$(ls -A "$BATS_TEST_TMPDIR/home")" ]
	mkdir -p "$BATS_TEST_TMPDIR/home/.local/state/hotpath"
	chown -R 12345 "$BATS_TEST_TMPDIR/home"
	HOME=$BATS_TEST_TMPDIR/home kept_spare "another user"
}

@test "kept: killed programs are kept, too" {
	run "$HP_RUN" "$T/app" k
	[ "$status" = 137 ]
	run "$hotpath" report
	[[ $output == *SIGKILL*left* ]]
	LD_PRELOAD=$HP_LIB HOTPATH_REPORT_LABEL=bare "$T/app" k 2>/dev/null || true
	two_are_kept()
	{
		[ "$(find "$kept" -name '*.hp.gz' | wc -l)" = 2 ]	# and not a part of one
	}
	eventually two_are_kept
	"$hotpath" report -f json | grep -q '"label":"bare"'
}

@test "kept: from a pipe; a segment, too" {
	record HOTPATH_SEGMENT_PATH="$BATS_TEST_TMPDIR/segment" -- "$T/app"
	again - <"$(files)" | cmp - "$BATS_TEST_TMPDIR/json"
	cat "$(files)" | again - | cmp - "$BATS_TEST_TMPDIR/json"
	gzip -dc "$(files)" >"$BATS_TEST_TMPDIR/unpacked"
	again "$BATS_TEST_TMPDIR/unpacked" | cmp - "$BATS_TEST_TMPDIR/json"
	again "$BATS_TEST_TMPDIR/segment" >"$BATS_TEST_TMPDIR/plain"
	# A pipe's owner is unknown: of the files that a segment names, root reads world-readable
	# ones.
	chmod a+x "$BATS_RUN_TMPDIR"
	cat "$BATS_TEST_TMPDIR/segment" | again - | cmp - "$BATS_TEST_TMPDIR/plain"
	gzip -c "$BATS_TEST_TMPDIR/segment" | again - | cmp - "$BATS_TEST_TMPDIR/plain"
}

# refused TEXT FILE - one line on stderr that has the text.
refused()
{
	run "$hotpath" report "$2"
	echo "$output"
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 1 ]
	[[ $output == *"$2"*"$1"* ]]
}

@test "kept: a pipe that nobody writes to is no run, and nobody waits for it" {
	mkfifo "$BATS_TEST_TMPDIR/pipe"
	run timeout 20 "$hotpath" report "$BATS_TEST_TMPDIR/pipe"
	[ "$status" = 1 ]
	[[ $output == *"/pipe is not a hotpath segment; "* ]]
	run timeout 20 "$hotpath" report "$BATS_TEST_TMPDIR"
	[ "$status" = 1 ]
	[[ $output == *" is not a hotpath segment; "* ]]
	run timeout 20 "$hotpath" report "$BATS_TEST_TMPDIR/none"
	[ "$status" = 1 ]
	[[ $output == *"/none cannot be opened: No such file or directory; "* ]]
}

@test "kept: damage is reported" {
	record -- "$T/app"
	bad=$BATS_TEST_TMPDIR/bad
	head -c -9 "$(files)" >"$bad"
	refused "truncated" "$bad"
	cp "$(files)" "$bad"
	python3 - "$bad" <<-'EOF'
		import os, sys
		with open(sys.argv[1], "r+b") as file:
		    middle = os.path.getsize(sys.argv[1]) // 2
		    file.seek(middle)
		    other = file.read(1)[0] ^ 255
		    file.seek(middle)
		    file.write(bytes([other]))
	EOF
	refused "; record again" "$bad"	# a wrong length may look like a missing end
	head -c -8 "$(files)" >"$bad"
	printf '\0\0\0\0\0\0\0\0' >>"$bad"
	refused "corrupted" "$bad"
	echo "hello, I am no record of anything" | gzip >"$bad"
	refused "not a hotpath" "$bad"
	: >"$bad"
	refused "not a hotpath" "$bad"
}

# table OPTIONS - rows of a table about the newest run: "depth name calls", names of main shortened.
table()
{
	"$hotpath" report -f json "$@" | python3 -c '
import json, sys
report = json.load(sys.stdin)
for key in ("callers", "callees", "tree"):
    for row in report.get(key, {}).get("raw", []):
        print(row["depth"], row["name"], row["calls"])'
}

@test "kept: callers, callees, and the tree" {
	"$HP_RUN" "$T/app" 2>/dev/null
	[ "$(table --callers leaf --least 0 | sort)" = "$(printf '%s\n' "0 leaf 20000" "1 left 15000" \
		"1 right 5000" "2 app::main 15000" "2 app::main 5000" "3 (begins here) 15000" \
		"3 (begins here) 5000" | sort)" ]
	[ "$(table --callees left --least 0)" = $'0 left 5\n1 leaf 15000' ]
	[ "$(table --tree --least 0 | sort)" = "$(printf '%s\n' "0 app::main 1" "1 left 5" \
		"1 right 5" "2 leaf 15000" "2 leaf 5000" "2 nap 5" | sort)" ]
	run "$hotpath" report --callers nonesuch
	[ "$status" = 1 ]
	[[ $output == *"'nonesuch'"* ]]
	run "$hotpath" report --callers leaf --tree
	[ "$status" = 2 ]
}

# The sum is the total own time; each line has the format of flamegraph.pl,
# inferno and speedscope.
@test "kept: collapsed stacks" {
	record -- "$T/app"
	"$hotpath" report --folded >"$BATS_TEST_TMPDIR/folded"
	python3 - "$BATS_TEST_TMPDIR/json" "$BATS_TEST_TMPDIR/folded" <<'END'
import json, re, sys
report = json.load(open(sys.argv[1]))
own = sum(node["self_ns"] for node in report["calltree"]["tree"])
stacks = {}
for line in open(sys.argv[2]):
    stack, ns = re.fullmatch(r"(.*) (\d+)\n", line).groups()
    assert stack not in stacks, stack
    stacks[stack] = int(ns)
assert abs(sum(stacks.values()) - own) <= len(stacks), (sum(stacks.values()), own)
assert stacks["app::main;right;nap"] >= 5000000, stacks
END
}

# A reader written from doc/internals/files.md, using the reader written from segment/FORMAT.md.
@test "kept: the format matches its documentation" {
	record -- "$T/app"
	python3 "$ROOT/test/behave/read_kept.py" "$(files)" "$BATS_TEST_TMPDIR/segment" >"$BATS_TEST_TMPDIR/names"
	python3 "$ROOT/test/behave/read_format.py" "$BATS_TEST_TMPDIR/segment" >"$BATS_TEST_TMPDIR/read"
	python3 - "$BATS_TEST_TMPDIR/names" "$BATS_TEST_TMPDIR/read" "$BATS_TEST_TMPDIR/json" <<'END'
import json, sys
names = {}
for line in open(sys.argv[1]):
    path, address, name = line.rstrip("\n").split(" ", 2)
    names[path, int(address, 16)] = "app::main" if name == "main" else name
read = {}
for line in open(sys.argv[2]):
    path, address, calls, inclusive, own, median = line.split()
    if int(calls):
        read[names[path, int(address, 16)]] = int(calls)
rows = json.load(open(sys.argv[3]))["functions_timing"]["raw"]
assert read == {row["name"]: row["calls"] for row in rows}, read
END
}

# A slow call that was not timed is bounded by samples. The figures of functions are then summed again, and
# percentiles that were not read before, for the kept run, must be read now. deep() is recorded twice, so
# keeping the run reads its percentiles, and only these.
@test "percentiles are there if samples bound slow calls and the run is kept" {
	compile bounded <<-'C'
		#include <pthread.h>
		#include <time.h>
		static volatile unsigned sink;
		static __attribute__((no_instrument_function)) long now(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
			return t.tv_sec * 1000000000 + t.tv_nsec;
		}
		void quick(int is_slow)
		{
			sink++;
			if (is_slow)
				for (long end = now() + 20000000; now() < end;)
					;
		}
		void caller(void) { for (int i = 1; i <= 300000; i++) quick(i % 30000 == 0); }
		int deep(int n) { return n ? 1 + deep(n - 1) : 0; }
		void *thread(void *p) { deep(20); return p; }
		int main(void)
		{
			pthread_t id;
			caller();
			deep(20);
			pthread_create(&id, 0, thread, 0);
			return pthread_join(id, 0);
		}
	C
	HOTPATH_PROFILE_DIR=$T/bounded.kept HOTPATH_CPU_HZ=999 HOTPATH_OUTPUT_FORMAT=json HOTPATH_PERCENTILES=50 \
		HOTPATH_OUTPUT_PATH=$T/bounded.json "$HP_RUN" "$T/bounded"
	python3 - "$T/bounded.json" <<-'P'
		import json, sys
		rows = {r["name"].split("::")[-1]: r["p50_ns"] for r in json.load(open(sys.argv[1]))["functions_timing"]["raw"]}
		assert set(rows) == {"main", "caller", "quick", "deep", "thread"}, rows
		assert None not in rows.values(), rows
	P
}
