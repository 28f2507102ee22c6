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
	"$HP_RUN" --report nonsense "$T/app" 2>"$T/err"
	reports "'nonsense'; the nearest is '"
	grep ' leaf  *100 calls' "$T/err"
	"$HP_BUILD/hotpath" report -r functions-alloc | grep '^leaf  *100 '
	HOTPATH_REPORT=threds LD_PRELOAD=$HP_LIB "$T/app" 2>"$T/err"
	reports "'threds'; the nearest is 'threads'"
	grep ' leaf  *100 calls' "$T/err"
}

@test "words: an unknown section does not exclude the others" {
	"$HP_RUN" --report aloc,timing "$T/app" 2>"$T/err"
	reports "'aloc'; the nearest is "
	grep '^leaf  *100 ' "$T/err"
	run ! grep '^threads - ' "$T/err"
	"$HP_BUILD/hotpath" report -r aloc,timing >"$T/out" 2>"$T/err"
	reports "'aloc'; the nearest is "
	grep '^leaf  *100 ' "$T/out"
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
