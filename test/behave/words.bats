#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# words.bats - a misspelt section or variable is named with the nearest one, once, and the default is used.

load helper

setup_file()
{
	compile app <<'END'
#include <stdlib.h>
static void *volatile sink;
__attribute__((noinline)) void leaf(void) { sink = malloc(100); free(sink); }
int main(void) { for (int i = 0; i < 100; i++) leaf(); return 0; }
END
}

# reports TEXT - on stderr in one line.
reports()
{
	cat "$T/err"
	[ "$(grep -c -F "$1" "$T/err")" = 1 ]
}

@test "words: an unknown section is reported, and the default is recorded" {
	HOTPATH_REPORT=nonsense "$HP_RUN" "$T/app" 2>"$T/err"
	reports "HOTPATH_REPORT: no section 'nonsense'; "
	run ! grep 'the nearest' "$T/err"
	grep ' leaf  *100 calls' "$T/err"
	"$HP_BUILD/hotpath" report -r functions-alloc | grep '^leaf  *100 '
	HOTPATH_REPORT=threds LD_PRELOAD=$HP_LIB "$T/app" 2>"$T/err"
	reports "'threds'; the nearest is 'threads'"
	grep ' leaf  *100 calls' "$T/err"
}

@test "words: an unknown section does not exclude the others" {
	HOTPATH_REPORT=aloc,timing "$HP_RUN" "$T/app" 2>"$T/err"
	reports "'aloc'; the nearest is "
	grep '^leaf  *100 ' "$T/err"
	run ! grep '^threads - ' "$T/err"
}

@test "words: an option with an unknown section is an error, and nothing runs" {
	run -125 "$HP_RUN" --report cpuu touch "$T/ran"
	[ "$output" = "hotpath run: --report: no section 'cpuu'; the nearest is 'cpu'; hotpath help sections lists all" ]
	[ ! -e "$T/ran" ]
	"$HP_RUN" --report threads,-mutexes "$T/app" 2>"$T/err"
	run -2 "$HP_BUILD/hotpath" report -r timing,nonsense
	[ "$output" = "hotpath report: -r: no section 'nonsense'; hotpath help sections lists all" ]
	run -2 "$HP_BUILD/hotpath" report --report=aloc,timing
	[[ $output == "hotpath report: --report: no section 'aloc'; the nearest is "* ]]
}

@test "words: an unknown variable is reported with the nearest" {
	HOTPATH_REPROT=all LD_PRELOAD=$HP_LIB "$T/app" 2>"$T/err"
	reports "HOTPATH_REPROT: unknown variable, ignored; the nearest is HOTPATH_REPORT "
	HOTPATH_PERCENTILE=50 "$HP_RUN" sh -c "'$T/app'; '$T/app'" 2>"$T/err"
	reports "the nearest is HOTPATH_PERCENTILES "
	HOTPATH_PERCENTILE=50 "$HP_BUILD/hotpath" report 2>"$T/err" >/dev/null
	reports "the nearest is HOTPATH_PERCENTILES "
}

@test "words: the library's own variables are known" {
	"$HP_RUN" sh -c "'$T/app'; HOTPATH_TIMING=exact '$HP_RUN' '$T/app'" 2>"$T/err"
	run ! grep "unknown variable" "$T/err"
}
