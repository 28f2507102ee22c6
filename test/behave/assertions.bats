#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# assertions.bats - scripts/check-tests.sh finds the assertions that cannot fail, and no others; and bash does
# ignore the result.

load helper

setup()
{
	cases=$BATS_TEST_TMPDIR/cases count=0
	mkdir "$cases"
}

# in_test NAME COMMANDS - the commands in the middle of a test, in its own file.
in_test()
{
	count=$((count + 1))
	printf 'bats_require_minimum_version 1.5.0\n@test "%s" {\n%s\ntrue\n}\n' \
		"$1: ${2//[^a-zA-Z =!&|]/.}" "$2" >"$cases/$count.bats"
}

# bad MESSAGE COMMANDS - the check finds them, once; bash ignores that they fail.
bad()
{
	in_test passes "$2"
	echo "$count.bats $1" >>"$cases/wanted"
}

# good COMMANDS - the check accepts them; they can fail.
good()
{
	in_test fails "$1"
}

# fine COMMANDS - the check accepts them, and they do not fail.
fine()
{
	in_test passes "$1"
}

# as_said - the check finds all mistakes and nothing else, and bats agrees in each
# case.
as_said()
{
	run "$ROOT/scripts/check-tests.sh" "$cases"/*.bats
	echo "$output"
	sed -E "s,^$cases/([0-9]+.bats):[0-9]+: ((! )?[^ ]+ [^ ]+ [^ ]+).*,\1 \2," <<<"$output" >"$cases/found"
	diff <(sort "$cases/wanted") <(sort "$cases/found")
	[ "$status" = 1 ]
	bats --tap "$cases" >"$cases/tap" || true
	grep -e "^ok [0-9]* fails: " -e "^not ok [0-9]* passes: " "$cases/tap" >"$cases/other" || true
	cat "$cases/other"
	[ ! -s "$cases/other" ]
	[ "$(grep -c -E '^(not )?ok ' "$cases/tap")" = $count ]
}

@test "assertions: all tests here can fail" {
	run -0 "$ROOT/scripts/check-tests.sh"
	[ "$output" = "" ]
}

@test "assertions: ! COMMAND, not at the end" {
	bad '! COMMAND is not' '! true'
	bad '! COMMAND is not' '! echo one | grep -q one'
	bad '! COMMAND is not' 'for i in 1; do ! true; done'
	bad '! COMMAND is not' 'if true; then ! true; fi'
	bad '! COMMAND is not' 'case a in a) ! true ;; esac'
	bad '! COMMAND is not' '{ ! true; }'
	bad '! COMMAND is not' 'false || false || ! true'
	bad '! COMMAND is not' 'false || ! true'
	bad '! COMMAND is not' '(! true; true)'
	bad '! COMMAND is not' $'f() {\n! true\ntrue\n}\nf'
	bad '! COMMAND is not' $'cat <<\'END\' >"$BATS_TEST_TMPDIR/x"\n\'"$(( \nEND\n! true'
	good 'run ! true'
	good '(! true)'
	good $'f() {\n! true\n}\nf'
	good '! true || false'
	good 'if ! false; then false; fi'
	good 'until ! false; do false; done; false'
	as_said
}

@test "assertions: A && B, not at the end" {
	bad 'A && B' '[ 1 = 2 ] && [ 1 = 1 ]'
	bad 'A && B' '[[ 1 = 2 ]] && [[ 1 = 1 ]]'
	bad 'A && B' 'false && true'
	bad 'A && B' $'false &&\n\ttrue'
	bad 'A && B' 'false || false && true'
	bad 'A && B' 'for i in 1; do false && true; done'
	good '[ 1 = 2 ] && [ 1 = 1 ] || false'
	good '[[ 1 = 2 && 1 = 1 ]]'
	good '(false && true)'
	good '[ 1 = 1 ] && false'
	good $'f() {\nfalse && true\n}\nf'
	fine '[ 1 = 1 ] || skip "no reason"'
	fine '[ 1 = 2 ] && skip "no reason"'
	fine '[ 1 = 2 ] && x=1'
	fine 'for i in 1 2; do [ 1 = 2 ] && break; done'
	fine 'echo "a && b; ! c"'
	fine 'if [ 1 = 2 ] && [ 1 = 1 ]; then false; fi'
	as_said
}

@test "assertions: a declaration that hides a failure" {
	bad 'local hides a' 'local x=$(false)'
	bad 'local hides a' 'local a b="$(false)"'
	bad 'export hides a' 'export X=$(false)'
	good $'local x\nx=$(false)'
	fine 'local x=$((1 + 1)) y="${PATH:-no}"'
	as_said
}

@test "assertions: set -e is off in functions whose status is used" {
	bad 'set -e is' $'f() {\n[ 1 = 2 ]\ntrue\n}\nf || false'
	bad 'set -e is' $'f() {\n[ 1 = 2 ]\ntrue\n}\nif f; then true; fi'
	bad 'set -e is' $'f() {\n[ 1 = 2 ]\ntrue\n}\nrun f\n[ "$status" = 0 ]'
	bad 'set -e is' $'f() {\n[ 1 = 2 ]\ntrue\n}\nx=$(f)'
	bad 'set -e is' $'once() { "$@" || return; }\nf() {\n[ 1 = 2 ]\ntrue\n}\nonce f'
	bad 'set -e is' $'g() { f; }\nf() {\n[ 1 = 2 ]\ntrue\n}\ng || false'
	bad 'set -e is' $'(\n[ 1 = 2 ]\ntrue\n) || false'
	bad 'set -e is' $'f() { false; }\ng() {\nf\ntrue\n}\ng || false'
	good $'f() {\n[ 1 = 2 ]\ntrue\n}\nf'
	good $'f() {\n[ 1 = 2 ] || return\ntrue\n}\nf || false'
	good $'f() {\n[ 1 = 2 ] &&\ntrue\n}\nf || false'
	as_said
}

@test "assertions: conditions that are always true, and unchecked ones" {
	bad 'this condition is' '[ 1=2 ]'
	bad 'this condition is' $'x=\n[ -n $x ]'
	bad 'nothing checks the' 'run false'
	good $'x=\n[ -n "$x" ]'
	good $'run false\n[ "$status" = 0 ]'
	good $'run false\n[ "$output" = x ]'
	good 'run -0 false'
	as_said
}

@test "assertions: scripts that a test writes, and syntax that cannot be parsed" {
	in_test passes "cat >'$BATS_TEST_TMPDIR/scene' <<-'EOF'
		set -e
		! true
		true
	EOF
	cat >'$BATS_TEST_TMPDIR/other' <<-'EOF'
		! true
		true
	EOF
	bash '$BATS_TEST_TMPDIR/scene'"
	echo "1.bats ! COMMAND is not" >>"$cases/wanted"
	as_said
	printf '@test "%s" {\nif true; then\n}\n' half >"$cases/half.bats"
	run -1 "$ROOT/scripts/check-tests.sh" "$cases/half.bats"
	[[ $output == *"check-tests cannot parse this" ]]
	printf '@test "%s" {\n! true\n}\n' last >"$cases/last.bats"
	run -0 "$ROOT/scripts/check-tests.sh" "$cases/last.bats"
	run -1 bats "$cases/last.bats"
}
