#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# nofiles.bats - a helper without free descriptors admits callers, or lets them wait, and does not spin.

load helper

setup_file()
{
	compile stay <<'END'
#include <stdio.h>
int main(void) { puts("up"); fflush(stdout); getchar(); return 0; }
END
}

teardown()
{
	exec 7>&-
	wait || true
	reports_are_possible
}

# The helper of this file's program.
helper_is_there()
{
	helper=$(pgrep -x hotpath-sampler | while read -r pid; do
		! tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "XDG_STATE_HOME=$T/state" || echo "$pid"
	done)
	[ -n "$helper" ]
}

@test "nofiles: joining a session when no descriptor is left" {
	mkfifo "$BATS_TEST_TMPDIR/go"
	HOTPATH_OUTPUT_FORMAT=none HOTPATH_REPORT=threads HOTPATH_METRICS_SERVER_OFF=1 HOTPATH_KEEP=0 LD_PRELOAD=$HP_LIB \
		"$T/stay" <"$BATS_TEST_TMPDIR/go" >"$BATS_TEST_TMPDIR/out" 3>&- &
	exec 7>"$BATS_TEST_TMPDIR/go"
	eventually grep up "$BATS_TEST_TMPDIR/out"
	eventually helper_is_there
	run -0 --separate-stderr timeout 100 python3 "$ROOT/test/behave/nofiles.py" "$helper" "$BATS_TEST_TMPDIR/trace"
	echo "$output" "$stderr"
	grep -q 'full, at [0-9]* : /memfd:' <<<"$output"
	grep -q 'then : /memfd:' <<<"$output"
}
