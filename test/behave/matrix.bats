#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# matrix.bats - the table in doc/internals/safety.md, "Trust between processes": each kind of process tries what it
# can with a session's segment, socket, server, files and processes (attack.py).

load helper

user=65533 other=65534

setup()
{
	[ "$(id -u)" = 0 ] || skip "needs root: to be somebody else"
	setpriv --reuid=$other --regid=$other --clear-groups true 2>/dev/null || skip "needs CAP_SETUID"
	folder_for_all
	place=$(cat "$T/other")
	cp "$ROOT/test/behave/attack.py" "$place"
}

teardown()
{
	exec 6>&-
	[ -z "$program" ] || kill -KILL "$program" 2>/dev/null || true
	rm -rf "$place"
	reports_are_possible
}

# as_user USER - sets `as` to the beginning of a command by that user.
as_user()
{
	as=(setpriv --reuid="$1" --regid="$1" --clear-groups)
}

# The process that holds the segment open as helpers do.
helper_find()
{
	local pid
	inode=$(awk '/memfd:hotpath/ && $2 == "rw-s" { print $5; exit }' "/proc/$program/maps")
	for pid in $(pgrep '^hotpath-sampler'); do
		[ "$(stat -L -c %i "/proc/$pid/fd/3" 2>/dev/null)" != "$inode" ] || helper=$pid
	done
	[ -n "$inode" ] || return
	[ -n "$helper" ] || return
}

# session_of USER - a shell of that user's, recorded, with a server, that does what it reads at descriptor 6.
session_of()
{
	local state=$place/state.$1 as
	as_user "$1"
	mkdir -m 700 "$state"
	chown "$1" "$state"
	# A run that is kept from before.
	"${as[@]}" env XDG_STATE_HOME="$state" LD_PRELOAD="$place/libhotpath.so" HOTPATH_OUTPUT_FORMAT=none sleep 0
	file=$(find "$state" -name '*.gz')
	[ -n "$file" ]
	mkfifo "$place/tasks"
	exec 6<>"$place/tasks"
	# shellcheck disable=SC2016
	"${as[@]}" env HOTPATH_KEEP=0 HOTPATH_OUTPUT_FORMAT=none HOTPATH_METRICS_PORT=0 LD_PRELOAD="$place/libhotpath.so" \
		bash -c 'echo "$HOTPATH_SESSION" >&5; while read -r line <&6; do eval "$line"; done' \
		5>"$place/session" >/dev/null 2>"$place/err" 3>&- &
	program=$!
	eventually grep -q http:// "$place/err"
	eventually helper_find
	token=$(sed 's/:.*//' "$place/session")
	port=$(sed -n 's|.*http://[^ ]*:\([0-9]*\).*|\1|p' "$place/err" | head -n 1)
	attack=(/usr/bin/env python3 "$place/attack.py" "$program" "$helper" "$token" "$inode" "$port" "$file")
}

# is_so OUTCOMES COMMAND... - the attack by way of the command.
is_so()
{
	local outcome
	outcome=$("${@:2}" "${attack[@]}")
	echo "${*:2}: $outcome"
	[ "$outcome" = "$1" ]
}

nothing="memory=no trace=no join=no read=no http=403 file=no signals=no,no"

@test "matrix: a user's session, by the same user, another one, and root" {
	local inode helper file token port attack as
	session_of $user
	as_user $user
	is_so "memory=yes trace=yes join=same read=yes http=200 file=yes signals=yes,yes" "${as[@]}"
	as_user $other
	is_so "$nothing" "${as[@]}"
	# Root reads, and is given nothing to write to.
	is_so "memory=yes trace=yes join=no read=yes http=200 file=yes signals=yes,yes" env
}

@test "matrix: root's session, by another user and by root with fewer rights" {
	local inode helper file token port attack as
	session_of 0
	as_user $other
	is_so "$nothing" "${as[@]}"
	# The kernel lets those of the same user read files and send signals.
	is_so "memory=no trace=no join=own read=yes http=200 file=yes signals=yes,yes" \
		setpriv --bounding-set=-all --inh-caps=-all
	unshare --user --map-root-user true 2>/dev/null || skip "no user namespaces here"
	is_so "memory=no trace=no join=own read=yes http=200 file=yes signals=yes,yes" unshare --user --map-root-user
}

@test "matrix: root's session, from another network namespace" {
	local inode helper file token port attack as
	unshare --net true 2>/dev/null || skip "needs CAP_SYS_ADMIN"
	session_of 0
	is_so "memory=yes trace=yes join=no read=no http=no file=yes signals=yes,yes" unshare --net
	as_user $other
	is_so "${nothing/http=403/http=no}" unshare --net "${as[@]}"
}

@test "matrix: root's session, by its worker that dropped root" {
	local inode helper file token port attack as
	session_of 0
	as_user $other
	echo "${as[*]} ${attack[*]} >'$place/outcome' 2>&1; echo >>'$place/outcome'" >&6
	eventually grep -qx '' "$place/outcome"
	cat "$place/outcome"
	# It has a segment of its own, which root's other processes never follow.
	[ "$(head -n 1 "$place/outcome")" = "${nothing/join=no/join=own}" ]
}
