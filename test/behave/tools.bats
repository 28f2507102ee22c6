#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# tools.bats - the build's own scripts: their promises about the sources and products.

load helper

# --- layers: trees of a few files, each with one violation ---

# says FOLDER [FOLDER...] - a header that declares the first one's permitted
# includes.
says()
{
	local folder=$1
	shift
	mkdir -p "$T/tree/$folder"
	printf '/*\n * Folder: %s - a folder\n * May use: %s\n */\n' "$folder" "$*" \
		>"$T/tree/$folder/head.h"
}

# source_of MODULE TEXT - a file, and its object in the place for the library's or a command's.
source_of()
{
	local kind=obj
	case $1 in preload/*) kind=pic ;; esac
	mkdir -p "$T/tree/${1%/*}" "$T/tree/build/$kind/${1%/*}"
	printf '%s\n' "$2" >"$T/tree/$1.c"
	gcc -w -fPIC -fvisibility=hidden -I"$T/tree" -c -o "$T/tree/build/$kind/$1.o" "$T/tree/$1.c"
}

# except LINE... - the exceptions of the tree.
except()
{
	mkdir -p "$T/tree/scripts"
	printf '%s\n' "$@" >"$T/tree/scripts/layers.txt"
}

layers()
{
	run "$ROOT/scripts/check-layers.sh" "$T/tree"
	echo "$output"
}

# reports WORD... - the check fails, with one line that has these words in this order.
reports()
{
	layers
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 1 ]
	local rest=${lines[0]} word
	for word; do
		[[ "$rest" == *"$word"* ]]
		rest=${rest#*"$word"}
	done
}

# Two folders in order: report/read uses segment.
tree_make()
{
	rm -rf "$T/tree"
	says segment
	says report/read segment
	source_of segment/low 'int hp_low = 1; int hp_low_do(void) { return hp_low; }'
	source_of report/read/high '#include "segment/head.h"
extern int hp_low; int hp_low_do(void); int hp_high(void) { return hp_low_do() + hp_low; }'
}

@test "layers: the tree is in order" {
	[ -d "$HP_BUILD/obj" ] || skip "no objects were built"
	run "$ROOT/scripts/check-layers.sh" "$ROOT" "$HP_BUILD"
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "layers: a small tree in order gets no message" {
	tree_make
	layers
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "layers: an include that points up, or is not from the root, is reported" {
	tree_make
	echo '#include "report/read/head.h"' >"$T/tree/segment/a.h"
	reports segment/a.h report/read/head.h 'may use nothing'
	echo '#include "head.h"' >"$T/tree/segment/a.h"
	reports segment/a.h head.h root
}

@test "layers: a folder declares once what it is, by name, and what it may use" {
	tree_make
	rm "$T/tree/segment/head.h"
	sed -i '/include/d' "$T/tree/report/read/high.c"
	reports segment: 'no file says'
	says segment
	cp "$T/tree/segment/head.h" "$T/tree/segment/again.h"
	reports segment: 'more than once' again.h head.h
	rm "$T/tree/segment/again.h"
	sed -i 's/Folder: segment/Folder: segments/' "$T/tree/segment/head.h"
	reports segment/head.h segments
	says segment
	sed -i 's/ - a folder//' "$T/tree/segment/head.h"
	reports segment/head.h 'does not describe'
	says segment util
	reports segment: util 'there is not'
}

@test "layers: folders that may use each other are reported" {
	tree_make
	says segment report/read
	reports circle report/read segment
}

@test "layers: a function and data of a folder above are reported, without any include" {
	tree_make
	source_of report/read/high 'int hp_high(void) { return 2; } int open(void) { return 3; }'
	source_of segment/up 'int hp_high(void); int hp_up(void) { return hp_high(); }'
	reports segment/up.c hp_high report/read/high.c
	source_of report/read/high 'int hp_high; int open(void) { return 3; }'
	source_of segment/up 'extern int hp_high; int hp_up(void) { return hp_high; }'
	reports segment/up.c hp_high report/read/high.c
	# The C library's function is meant, whoever interposes it.
	source_of segment/up 'int open(void); int hp_up(void) { return open(); }'
	layers
	[ "$status" -eq 0 ]
}

@test "layers: a table for calls upwards is reported unless listed, and unneeded entries are too" {
	tree_make
	source_of report/read/high 'int hp_high(void) { return 2; }
int (*const hp_table[])(void) = { hp_high };'
	source_of segment/up 'extern int (*const hp_table[])(void); int hp_up(void) { return hp_table[0](); }'
	reports segment/up.c hp_table report/read/high.c
	except 'table report/read/high hp_table - the way up'
	layers
	[ "$status" -eq 0 ]
	source_of segment/up 'int hp_high(void); int hp_up(void) { return hp_high(); }'
	layers
	[ "$status" -eq 1 ]
	[[ "$output" == *"segment/up.c: may not use hp_high"* ]]
	[[ "$output" == *"not needed any more"* ]]
}

@test "layers: modules in a cycle are reported unless listed, and unneeded entries are too" {
	tree_make
	source_of segment/a 'int hp_b(void); int hp_a(void) { return hp_b(); }'
	source_of segment/b 'int hp_a(void); int hp_b(void) { return hp_a(); }'
	reports 'not in scripts/layers.txt' segment/a segment/b
	except 'cycle segment/a segment/b - they are one'
	layers
	[ "$status" -eq 0 ]
	source_of segment/b 'int hp_b(void) { return 1; }'
	reports 'not needed any more' 'cycle segment/a segment/b'
	except 'cycle segment/a segment/b'
	reports 'not understood'
}

@test "layers: five modules in a cycle are reported even if listed" {
	local next=b at
	tree_make
	for at in a b c d e; do
		next=$(tr abcde bcdea <<<"$at")
		source_of "segment/$at" "int hp_$next(void); int hp_$at(void) { return hp_$next(); }"
	done
	except 'cycle segment/a segment/b segment/c segment/d segment/e - too many'
	layers
	[ "$status" -eq 1 ]
	[[ "$output" == *"5 modules"*"segment/a"*"segment/e"* ]]
}

@test "layers: a stand-in outside hook_*.c, and a call of one, are reported" {
	local out='__attribute__((visibility("default")))'
	tree_make
	says preload
	source_of preload/hook_a "$out int a(void) { return 1; } int hp_a(void) { return 2; }"
	layers
	[ "$status" -eq 0 ]
	source_of preload/b "$out int b(void) { return 1; }"
	reports preload/b.c exports b
	# The loader decides whose `a` that is.
	source_of preload/b 'int a(void); int b(void) { return a(); }'
	layers
	[ "$status" -eq 0 ]
	source_of preload/b 'int hp_a(void); int b(void) { return hp_a(); }'
	reports preload/b.c hp_a preload/hook_a.c
	except 'hook preload/b preload/hook_a - it has to'
	layers
	[ "$status" -eq 0 ]
}

@test "layers: cJSON below the sections is reported, except in report/base/json" {
	tree_make
	says report/base
	says report/section report/base
	says report/view report/section
	source_of report/view/page 'int cJSON_Parse(void); int page(void) { return cJSON_Parse(); }'
	source_of report/section/a 'struct hp_section { char *key; };
const struct hp_section hp_a_section = {
	.key = "a",
};
int cJSON_Parse(void); int a(void) { return cJSON_Parse(); }'
	source_of report/base/json 'int cJSON_Parse(void); int json(void) { return cJSON_Parse(); }'
	layers
	[ "$status" -eq 0 ]
	source_of report/base/text 'int cJSON_Parse(void); int text(void) { return cJSON_Parse(); }'
	reports report/base/text.c 'calls cJSON'
	rm "$T/tree/report/base/text.c"
	echo '#include <cjson/cJSON.h>' >"$T/tree/report/base/text.h"
	reports report/base/text.h 'knows cJSON'
}

@test "layers: a section's key outside its definition is reported" {
	tree_make
	says report/section
	source_of report/section/leaks '
struct hp_section { char *key, *json; };
const struct hp_section hp_leaks_section = {
	.key = "leaks",
	.json = "all_leaks",
};'
	source_of report/section/b "/* \"leaks\" */ char *b = \"leak \\\"leaks\\\"\", c = '\"'; // \"leaks\""
	layers
	[ "$status" -eq 0 ]
	source_of report/section/b 'char *b = "leaks";'
	reports report/section/b.c '"leaks"' report/section/leaks.c
	except 'key report/section/b.c leaks - it reads what others serve'
	layers
	[ "$status" -eq 0 ]
	except 'key report/section/b.c leaks all_leaks - it reads what others serve'
	reports all_leaks 'not needed any more'
	rm "$T/tree/scripts/layers.txt"
	source_of report/section/b 'char *b = "all_leaks";'
	reports report/section/b.c '"all_leaks"'
	rm "$T/tree/report/section/leaks.c"
	reports report/section: 'no definition'
}

@test "exports: the library shows hooks, stand-ins and the public API only" {
	[ -e "$HP_LIB" ] || skip "no libhotpath.so was built"
	run "$ROOT/scripts/check-exports.sh" "$HP_LIB"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "exports: a stray symbol and a stray library are reported" {
	echo 'double stray(double x) { return __builtin_sin(x); }' |
		gcc -x c -shared -fPIC -o "$T/stray.so" - -Wl,--no-as-needed -lm
	run "$ROOT/scripts/check-exports.sh" "$T/stray.so"
	[ "$status" -eq 1 ]
	[[ "$output" == *stray* ]]
	[[ "$output" == *libm.so.6* ]]
}

@test "setup: names an unknown purpose" {
	run "$ROOT/scripts/setup" nonsense
	[ "$status" -eq 2 ]
}
