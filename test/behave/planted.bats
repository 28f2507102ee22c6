#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# planted.bats - programs with a known fault, and healthy ones: are the findings right, and their bounds?

load helper

@test "planted: the first finding is right, its bound holds, and healthy programs have none" {
	[ "$HP_TEST_FULL" ] || skip "takes minutes: make test-all"
	unset HOTPATH_REPORT
	gcc -O2 -g -pthread -o "$T/planted" "$ROOT/test/behave/programs/planted.c"
	gcc -O1 -g -pthread -finstrument-functions -o "$T/planted_calls" "$ROOT/test/behave/programs/planted.c"
	g++ -O2 -g -pthread -o "$T/planted_cc" "$ROOT/test/behave/programs/planted.cc"
	g++ -O2 -g -pthread -o "$T/planted_again" "$ROOT/test/behave/programs/planted_again.cc"
	g++ -O2 -g -pthread -o "$T/planted_turns" "$ROOT/test/behave/programs/planted_turns.cc"
	g++ -O2 -g -pthread -o "$T/planted_kept" "$ROOT/test/behave/programs/planted_kept.cc"
	gcc -O2 -g -pthread -o "$T/planted_once" "$ROOT/test/behave/programs/planted_once.c"
	gcc -O2 -g -pthread -o "$T/held" "$ROOT/test/behave/programs/held.c"
	gcc -O2 -g -pthread -o "$T/digests" "$ROOT/test/behave/programs/digests.c"
	gcc -O2 -g -o "$T/planted_sql" "$ROOT/test/behave/programs/planted_sql.c" -lsqlite3 || rm -f "$T/planted_sql"
	run python3 "$ROOT/test/behave/planted.py" "$HP_RUN" "$T"
	sed 's/^/# /' <<<"$output" >&3
	[ "$status" = 0 ]
}
