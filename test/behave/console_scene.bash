# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# console_scene.bash - the console in tmux, for scenes in their own namespace, outside bats.

# Until a command succeeds.
eventually()
{
	local deadline=$((SECONDS + 60))

	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt $deadline ] || { echo "never: $*"; screen; exit 1; }
		sleep 0.02
	done
}

# terminal COMMAND - in 80x24.
terminal()
{
	terminals=$((${terminals:-0} + 1))
	tmux="tmux -L hp-scene-$PPID-$terminals -f /dev/null"
	$tmux new-session -d -s c -x 80 -y 24 "TERM=xterm-256color LC_ALL=C.UTF-8 $1; exec sleep 1000"
}

screen()
{
	$tmux capture-pane -p -t c:0
}

on_screen()
{
	screen | grep -q -e "$1"
}
