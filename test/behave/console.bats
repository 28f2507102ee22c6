#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# console.bats - the running program on the terminal: every tab and key, several sizes and
# terminals, whatever goes wrong, and how the terminal is left.
#
# The console runs in tmux; what is waited for is looked for on its screen.

load helper

setup_file()
{
	gcc -g -O1 -DHOTPATH -D_GNU_SOURCE -I"$ROOT/include" -finstrument-functions \
		-o "$T/shop" "$ROOT/test/behave/programs/console.c" -lpthread
	HOTPATH_METRICS_PORT=0 HOTPATH_PERCENTILES=50,95 LD_PRELOAD=$HP_LIB \
		"$T/shop" >"$T/shop.out" 2>"$T/shop.err" 3>&- &
	echo $! >"$T/shop.pid"
	eventually grep up "$T/shop.out"
}

teardown_file()
{
	for pid in "$T"/*.pid; do
		kill "$(cat "$pid")" 2>/dev/null || true
	done
	eventually helpers_are_gone
}

setup()
{
	pid=$(cat "$T/shop.pid")
	tmux="tmux -L hp-$$ -f /dev/null"
	size=80x24
}

teardown()
{
	$tmux kill-server 2>/dev/null || true
}

# console ARGUMENTS... - in a terminal of $size; what it leaves behind stands below "exit STATUS".
console()
{
	local line="'$HP_BUILD/hotpath' console"
	for word; do line+=" '$word'"; done
	$tmux new-session -d -s c -x "${size%x*}" -y "${size#*x}" \
		"cd '$BATS_TEST_TMPDIR'; TERM=${term:-xterm-256color} LC_ALL=${locale:-C.UTF-8} $line; echo exit \$?; stty -a; exec sleep 1000" 3>&-
}

screen()
{
	$tmux capture-pane -p -t c
}

on_screen()
{
	screen | grep -q -e "$1"
}

not_on_screen()
{
	! on_screen "$1"
}

# shows PATTERN - comes to be seen.
shows()
{
	eventually on_screen "$1" || { screen; return 1; }
}

press()
{
	$tmux send-keys -t c "$@"
}

@test "console: attaches by the pid, shows functions, quits and leaves the terminal as it was" {
	console "$pid"
	shows "shop.*pid $pid.*Live"
	shows '^sell  *[1-9]'
	screen >"$BATS_TEST_TMPDIR/screen"
	grep -q '^Function .*Calls .*Avg .*Total .*% Total' "$BATS_TEST_TMPDIR/screen"
	press q
	shows '^exit 0'
	shows ' echo '
	not_on_screen Function
}
