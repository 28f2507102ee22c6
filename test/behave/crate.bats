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
