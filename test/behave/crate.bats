#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# crate.bats - the Rust crate's own types accept our answers and our report.

load helper

setup_file()
{
	[ -n "$HP_TEST_FULL" ] || return 0
	compile flow -DHOTPATH -I"$ROOT/include" <<'END'
#include <hotpath.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t prices = PTHREAD_RWLOCK_INITIALIZER;
static int ends[2];
__attribute__((noinline)) void sell(void)
{
	char text[32] = "sold";
	pthread_mutex_lock(&stock);
	pthread_rwlock_rdlock(&prices);
	pthread_rwlock_unlock(&prices);
	pthread_mutex_unlock(&stock);
	free(malloc(100));
	HOTPATH_GAUGE_INC("sold", 1);
	HOTPATH_VAL("last", 7);
	if (write(ends[1], text, sizeof(text)) < 0 || HOTPATH_DBG(read(ends[0], text, sizeof(text))) < 0)
		abort();
}
int main(int count, char **words)
{
	if (pipe(ends) != 0) return 1;
	for (int i = 0; count > 1 || i < 100; i++) {
		sell();
		if (i == 50) { puts("up"); fflush(stdout); }
		usleep(1000);
	}
	return words == NULL;
}
END
	command -v cargo >/dev/null || return 0
	mkdir -p "$T/crate/src"
	cp "$ROOT/test/behave/programs/crate_types.rs" "$T/crate/src/main.rs"
	cat >"$T/crate/Cargo.toml" <<-'EOF2'
	[package]
	name = "crate_types"
	version = "0.1.0"
	edition = "2021"
	[dependencies]
	hotpath = { version = "=0.30.3", default-features = false, features = ["json"] }
	serde = "1"
	serde_json = "1"
	[profile.release]
	opt-level = 0
	EOF2
	CARGO_TARGET_DIR=$HP_BUILD/crate nice -n 19 cargo build -q --release --manifest-path "$T/crate/Cargo.toml" || true
}

teardown_file()
{
	pids_end
}

setup()
{
	only_in_full
	types=$HP_BUILD/crate/release/crate_types
	[ -x "$types" ] || skip "the crate cannot be built here"
}

@test "crate: its JsonReport reads our report" {
	HOTPATH_REPORT=all "$HP_RUN" --format json --output "$BATS_TEST_TMPDIR/report" "$T/flow" >/dev/null
	"$types" report <"$BATS_TEST_TMPDIR/report" >"$BATS_TEST_TMPDIR/read"
	jq -e '.functions_alloc.data[0].location.line > 0' "$BATS_TEST_TMPDIR/read"
	jq -e '.rw_locks.data[0].read_sampled_count == 100' "$BATS_TEST_TMPDIR/read"
	jq -e '.channels.data[0].type_size == 32' "$BATS_TEST_TMPDIR/read"
	jq -e '.debug.entries | length >= 3' "$BATS_TEST_TMPDIR/read"
	jq -e '.meta.run == "native"' "$BATS_TEST_TMPDIR/read"
}

@test "crate: its types read our answers and logs" {
	LD_PRELOAD=$HP_LIB "$T/flow" on >"$T/flow.out" 2>/dev/null 3>&- &
	echo $! >"$T/flow.pid"
	eventually grep up "$T/flow.out"
	url=$(serve "$(cat "$T/flow.pid")" HOTPATH_LOGS_LIMIT=5)
	for kind in functions_timing functions_alloc threads channels streams futures rw_locks mutexes sql http server io debug \
		profiler_status; do
		curl -s "$url$kind" | "$types" "$kind" >"$BATS_TEST_TMPDIR/$kind"
	done
	for kind in functions_timing functions_alloc channels; do
		id=$(jq '.data[0].id' "$BATS_TEST_TMPDIR/$kind")
		curl -s "$url$kind/$id/logs" | "$types" "${kind}_logs"
	done
	for kind in dbg val gauge; do
		id=$(jq "[.entries[] | select(.entry_type == \"$kind\")][0].id" "$BATS_TEST_TMPDIR/debug")
		curl -s "${url}debug/$kind/$id/logs" | "$types" "${kind}_logs"
	done
}

# console_of VERSION SETTING... - its console on a program with something for each view, in a terminal of 150 columns.
console_of()
{
	local version=$1 where=$HP_BUILD/crate/console-$1 url
	shift
	command -v cargo tmux >/dev/null || skip "no cargo or no tmux here"
	CARGO_TARGET_DIR=$HP_BUILD/crate/target-$version nice -n 19 cargo install -q --locked --root "$where" \
		--version "=$version" --features tui hotpath || skip "the crate's console cannot be built here"
	compile every -g -O1 -finstrument-functions -DHOTPATH -I"$ROOT/include" -pthread \
		<"$ROOT/test/behave/programs/crate_console.c"
	LD_PRELOAD=$HP_LIB "$T/every" >"$T/every.out" 2>/dev/null 3>&- &
	echo $! >"$T/every-$version.pid"
	eventually grep up "$T/every.out"
	url=$(serve "$(cat "$T/every-$version.pid")" "$@")
	url=${url%/}
	tmux="tmux -L hp-crate-$$-$version -f /dev/null"
	$tmux new-session -d -s c -x 150 -y 40 "TERM=xterm-256color LC_ALL=C.UTF-8 NO_COLOR=1 '$where/bin/hotpath' console \
		--metrics-host http://127.0.0.1 --metrics-port '${url##*:}' --refresh-interval 500" 3>&-
}

on_screen()
{
	$tmux capture-pane -p -t c | grep -q -e "$1"
}

shows()
{
	eventually on_screen "$1" && return
	$tmux capture-pane -p -t c
	return 1
}

press()
{
	$tmux send-keys -t c "$1"
}

# Each view, and the log beside it: a view that it cannot read stays at "Connecting..." or shows an error.
each_view()
{
	local threads=3

	[ "$1" != 0.30 ] || threads=4
	shows 'Live'
	shows 'sell  *[1-9][0-9,]*  .*s .*%'
	press o
	shows 'Index .*T'
	press o
	press 1
	shows 'deliver  *[1-9][0-9,]*  *50 B '
	press 1
	shows "Press 'c' to capture\|perf\|sampl"
	press 2
	shows 'every.c:[0-9]*  .*active  *[1-9]'
	press o
	shows 'Index  *Message  *Delay'
	press o
	press 2
	shows 'maps .*closed  *[1-9]'
	press o
	shows 'Index  *Message'
	press o
	press 2
	shows 'parcel  *[1-9][0-9,]*  *[1-9][0-9,]* '
	press o
	shows 'ready  *2  .* 50 B  *signed for'
	press o
	press 2
	shows 'prices  *[1-9][0-9,]*  *[0-9]'
	press 2
	shows 'stock  *[1-9][0-9,]*  *[0-9]'
	if [ "$1" = 0.30 ]; then
		press 3
		shows 'No SQL queries found'
	fi
	press $threads
	shows 'every  *[0-9]*  *[SR][a-z]* ([SR])'
	press $((threads + 1))
	shows 'gauge!  .*"sold"  *[1-9]'
	press o
	shows 'Index .*Value'
	press o
	press $((threads + 2))
	shows 'worker-0  *[1-9][0-9,]*  *[0-9]'
	press q
}

@test "crate: its console 0.30.3 shows each view" {
	console_of 0.30.3
	each_view 0.30
	$tmux kill-server || true
}

@test "crate: its console 0.18.0 shows each view, from answers in its shape" {
	console_of 0.18.0 HOTPATH_API=0.18
	each_view 0.18
	$tmux kill-server || true
}
