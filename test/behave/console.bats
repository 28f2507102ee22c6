#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# console.bats - the running program on the terminal: every tab and key, several sizes and
# terminals, whatever goes wrong, and how the terminal is left.
#
# The console runs in tmux; the expected text is searched for on its screen.

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
	pids_end
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
	reports_are_possible
}

# console ARGUMENTS... - in a terminal of $size; what it leaves on the screen follows "exit STATUS".
console()
{
	local line="'$HP_BUILD/hotpath' console"
	# A separate server: the previous one may still be about to end, and would end this one too.
	screens=$((${screens:-0} + 1))
	tmux="tmux -L hp-$$-$screens -f /dev/null"
	for word; do line+=" '$word'"; done
	$tmux new-session -d -s c -x "${size%x*}" -y "${size#*x}" \
		"cd '$BATS_TEST_TMPDIR'; ${HOTPATH_PERCENTILES:+HOTPATH_PERCENTILES=$HOTPATH_PERCENTILES} HOTPATH_TUI_TAB=${tab:-1} ${NO_COLOR:+NO_COLOR=$NO_COLOR} ${HOTPATH_TUI_AUTO_EXPAND_LOGS:+HOTPATH_TUI_AUTO_EXPAND_LOGS=$HOTPATH_TUI_AUTO_EXPAND_LOGS} TERM=${term:-xterm-256color} LC_ALL=${locale:-C.UTF-8} $line; echo exit \$?; stty -a; exec sleep 1000" 3>&-
}

screen()
{
	$tmux capture-pane -p -t c:0
}

on_screen()
{
	screen | grep -q -e "$1"
}

not_on_screen()
{
	! on_screen "$1"
}

# shows PATTERN - waits until it is visible.
shows()
{
	eventually on_screen "$1" && return
	screen || return
	return 1
}

press()
{
	$tmux send-keys -t c "$@"
}

@test "console: attaches by pid, shows functions, quits and restores the terminal" {
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

@test "console: the pid of hotpath run means the program that it started" {
	local wrapper child

	HOTPATH_METRICS_PORT=0 "$HP_BUILD/hotpath" run "$T/shop" >"$T/run.out" 2>/dev/null 3>&- &
	wrapper=$!
	eventually grep up "$T/run.out"
	child=$(pgrep -P "$wrapper" shop)
	console "$wrapper"
	shows "shop.*pid $child.*Live"
	kill "$child"
	wait "$wrapper" || true
}

@test "console: t takes the stacks of all threads, or says why it cannot" {
	size=120x40
	console "$pid"
	shows '^sell  *[1-9]'
	press t
	shows 'Stacks of all threads'
	run "$HP_BUILD/hotpath" stacks "$pid"
	if [ "$status" = 0 ]; then
		shows '^.*[0-9] thread.*: shop'
		shows 'main .*console.c:[0-9]'
	fi
	press Escape
	eventually not_on_screen 'Stacks of all threads'
	press q
	shows '^exit 0'
}

# fake MODE - the server of console_server.py: its port.
fake()
{
	{ [ -s "$T/$1.port" ] && kill -0 "$(cat "$T/fake-$1.pid")" 2>/dev/null; } || {
		rm -f "$T/$1.port"
		python3 "$ROOT/test/behave/console_server.py" "$1" "$T/$1.port" >/dev/null 3>&- &
		echo $! >"$T/fake-$1.pid"
		eventually test -s "$T/$1.port" || return
	}
	cat "$T/$1.port"
}

own_port()
{
	sed -n 's|.*http://127.0.0.1:\([0-9]*\)/.*|\1|p' "$T/shop.err" | head -n 1
}

@test "console: every view of every tab, in three sizes: a heading that fits, the name, the keys" {
	for size in 80x24 60x16 200x60; do
		console -r 100 "$pid"
		shows '^sell  *[1-9]'
		for expected in '1 Function .*Total' '1 CPU' '1 Calls' '1 Function .*Calls' '1 Function .*Bound' '2 Channel' '2 the program read no FILE' '2 .*' '2 RwLock' \
			'2 Mutex' '3 .*' '4 Thread' '4 Function' '4 Program' '4 Thread .*Mostly' '5 .*' '6 No event' '7 Call path' \
			'7 Call path' '7 Function' '8 Object' '8 Thread' '8 all pairs' '8 Label' '8 none' '8 none' '8 none' '0 \(time\|CPU\|threads\) ' '0 What to do'; do
			press "${expected%% *}"
			case $expected in
			'1 CPU') shows '^Function .*%\|  ' ;;
			'1 Calls') shows '^▾ seller' ;;
			*) shows "^ *${expected#* }" ;;
			esac
			not_on_screen 'broken\|(null)'
		done
		[ "$(screen | wc -l)" = "${size#*x}" ]
		on_screen 'F1 Help'
		on_screen 'q Quit'
		press 1 1
		shows '^sell  *[1-9]'
		press q
		shows '^exit 0'
		$tmux kill-server
	done
}

@test "console: a narrow list drops columns, never the name" {
	size=60x16
	console "$pid"
	shows '^shop::main .* 100.00%'
	not_on_screen 'P95'
	press q
	shows '^exit 0'
	$tmux kill-server
	size=120x30
	HOTPATH_PERCENTILES=50,95 console "$pid"
	shows '^Function .*P50 .*P95 .*Self .*Total .*% Total'
}

@test "console: the figures are the program's, and keep changing" {
	console -r 100 "$pid"
	shows '^sell  *[1-9]'
	calls()
	{
		screen | sed -n 's/^sell  *\([0-9,]*\) .*/\1/p' | tr -d ,
	}
	first=$(calls)
	more()
	{
		[ "$(calls)" -gt "$first" ]
	}
	eventually more
	# The values shown lie between reports of the same program before and after.
	count()
	{
		"$HP_BUILD/hotpath" report --session "$pid" -f json |
			python3 -c 'import json, sys; print(next(r["calls"] for r in json.load(sys.stdin)["functions_timing"]["raw"] if r["name"] == "sell"))'
	}
	before=$(count)
	first=$before
	eventually more
	shown=$(calls)
	after=$(count)
	[ "$shown" -ge "$before" ] && [ "$shown" -le "$after" ]
}

@test "console: moves to lines, first and last, and the selection stays on its row" {
	console -r 100 "$pid"
	shows '\[1/9\]'
	press j j
	shows '\[3/9\]'
	press k
	shows '\[2/9\]'
	press G
	shows '\[9/9\]'
	press g g
	shows '\[1/9\]'
	press Down
	shows '\[2/9\]'
	press End
	shows '\[9/9\]'
	press Home
	shows '\[1/9\]'
	press PageDown
	shows '\[9/9\]'
	press PageUp
	shows '\[1/9\]'
	# By name, upwards: basket is the first, sell is not.
	press '>'
	shows '^Function▲'
	shows '\[[2-9]/9\]'
	press I
	shows '^Function▼'
}

@test "console: sorts by any column, by < and > and from a list" {
	console -r 100 "$pid"
	shows '^sell  *[1-9]'
	order()
	{
		screen | sed -n '7,15s/ .*//p' | tr '\n' ' '
	}
	press '>'
	eventually sh -c "[ \"\$($tmux capture-pane -p -t c | sed -n '7,15s/ .*//p' | sort -c -f 2>&1)\" = '' ]"
	press '<' '<'
	shows '% Total▼'
	press F6
	shows 'Sort by'
	press j j j
	press Enter
	shows 'Avg▼'
	[[ $(order) == shop::main\ * ]]
	press I
	shows 'Avg▲'
	last()
	{
		[[ $(order) != shop::main\ * ]]
	}
	eventually last
}

@test "console: filters while one types, and shows the filter" {
	console -r 100 "$pid"
	shows '^price  *[1-9]'
	press /
	shows 'Filter:'
	press -l SeL
	shows '\[1/2\]'
	not_on_screen '^price'
	press Enter
	shows '/SeL'
	press Escape
	shows '^price  *[1-9]'
	shows '/9\]'
	press / x y z
	shows '\[0/0\]\|/xyz'
	not_on_screen '^sell'
	press BSpace BSpace BSpace Enter
	shows '^sell  *[1-9]'
}

@test "console: logs of a row, and all details of an entry" {
	size=120x30
	console -r 100 "$pid"
	shows '^sell  *[1-9]'
	press / b a s k Enter o
	shows 'Log of basket'
	shows 'a basket'
	press l i
	shows 'Inspect (Esc'
	shows 'result  *a basket'
	press Escape
	eventually not_on_screen 'Inspect (Esc'
	press h o
	eventually not_on_screen 'Log of'
	press i
	shows 'Inspect (Esc'
	shows 'name  *basket'
	shows 'total_ns'
	press q
	eventually not_on_screen 'Inspect (Esc'
	press Escape 2
	shows '^programs/console.c'
	press o
	shows 'Log of programs/console.c'
}

@test "console: trees unfold: the call tree, and the path of an allocation" {
	console -r 100 -T 1 "$pid"
	press 1 1 1
	shows '^▾ seller'
	shows '^  ▾ sell '
	shows '▸ keep'
	not_on_screen basket
	press '*'
	shows '^        basket'
	press g g Space
	shows '^▸ seller'
	press l
	shows '^▾ seller'
	press h
	shows '^▸ seller'
	press 7
	shows '^▸ basket'
	press Enter
	shows '^    seller  .*console.c:[0-9]'
	press j h
	press Enter
	eventually not_on_screen '^    seller'
}

@test "console: pauses and resumes" {
	console -r 100 "$pid"
	shows '^sell  *[1-9]'
	press p
	shows PAUSED
	before=$(screen)
	# Others continue meanwhile.
	port=$(fake crate)
	$tmux new-window -d -n other "TERM=xterm-256color LC_ALL=C.UTF-8 '$HP_BUILD/hotpath' console -r 100 -p $port"
	other_shows()
	{
		$tmux capture-pane -p -t c:other | grep -q shop::nap
	}
	eventually other_shows
	[ "$(screen)" = "$before" ]
	press p
	shows 'Live'
	changed()
	{
		[ "$(screen | grep '^sell')" != "$(grep '^sell' <<<"$before")" ]
	}
	eventually changed
}

@test "console: saves the current report, and overwrites no file" {
	console -r 100 "$pid"
	shows '^sell  *[1-9]'
	press s
	shows 'saved hotpath-.*json'
	press s
	two()
	{
		[ "$(ls "$BATS_TEST_TMPDIR" | grep -c '^hotpath-.*json$')" = 2 ]
	}
	eventually two
	for file in "$BATS_TEST_TMPDIR"/hotpath-"$pid"-*.json; do
		eventually python3 -m json.tool "$file"
		python3 -c 'import json, sys; assert any(r["name"] == "sell" for r in json.load(open(sys.argv[1]))["functions_timing"]["raw"])' "$file"
	done
}

@test "console: c takes a snapshot of the CPU" {
	"$HP_BUILD/hotpath" report --session "$pid" -f json -r cpu | grep -q sample_count || skip "nothing may be sampled here"
	console -r 100 "$pid"
	shows '^sell  *[1-9]'
	press 1 1
	shows 'snapshot idle'
	press c
	shows 'snapshot ready'
	shows '^Function .*Samples'
	press n
	shows 'samples up to now; n shows the snapshot again'
	press n
	shows 'the snapshot; n continues'
}

@test "console: the callers of a function, over all paths, with their numbers of calls" {
	console -r 100 "$pid"
	shows '^sell  *[1-9]'
	press / 'price' Enter
	shows '^price  *[1-9]'
	eventually not_on_screen '^sell '
	press u
	shows 'Callers of price'
	shows '^  ▾ sell  *[1-9]'
	shows '^      *seller  *[1-9]\|^    ▾ seller  *[1-9]'
	screen | sed 's/,//g' | awk '
		/▾ price / { whole = $3 } /▾ sell |▸ sell / { sum += $3 }
		/[▾▸] pack / { sum += $3 } /[▾▸] shop::main / { sum += $3 }
		END { if (!whole || sum != whole) { print sum, whole; exit 1 } }'
	press 1 1 u
	shows 'Callers of price'
	press 1 1 1 u
	shows 'u works on a function in Timing'
	press c
	shows 'this key is for the view CPU'
}

# The functions at the top are those whose only call is in progress: they have none.
@test "console: HOTPATH_TUI_AUTO_EXPAND_LOGS opens the first row's log at start" {
	export HOTPATH_TUI_AUTO_EXPAND_LOGS=0
	console -r 100 "$pid"
	unset HOTPATH_TUI_AUTO_EXPAND_LOGS
	shows '^│ *[0-9,]* .*now'
	on_screen 'Log of \(sell\|price\|pack\|keep\) '
}

@test "console: f serves the profile to a browser, until the console ends" {
	"$HP_BUILD/hotpath" report --session "$pid" -f json -r cpu | grep -q sample_count || skip "nothing may be sampled here"
	size=160x24
	console -r 100 "$pid"
	shows '^sell  *[1-9]'
	press 1 1
	shows 'snapshot'
	press f
	shows 'in the browser, as long as this console runs: http://127.0.0.1:[0-9]*/.*hp.json.gz'
	local address
	address=$(screen | grep -o 'http://127[^ ]*hp.json.gz')
	curl -s -m 20 -H "Host: 127.0.0.1" "$address" | gunzip | jq -e '(.meta.product | startswith("shop")) and (.threads | map(.name) | contains(["packer", "seller-1"]))'
	press q
	shows '^exit 0'
	run curl -s -m 20 "$address"
	[ "$status" -ne 0 ]
}

@test "console: help lists the keys" {
	console "$pid"
	shows '^sell  *[1-9]'
	press '?'
	shows 'Keys'
	shows 'quit; the program continues'
	press Escape
	eventually not_on_screen 'quit; the program'
	press F1
	shows 'Keys'
}

@test "console: the mouse chooses tabs, rows and columns" {
	console -r 100 "$pid"
	shows '^sell  *[1-9]'
	click()	# ROW COLUMN, from 1
	{
		press -l "$(printf '\033[<0;%d;%dM\033[<0;%d;%dm' "$2" "$1" "$2" "$1")"
	}
	click 9 3
	shows '\[3/9\]'
	click 6 18
	shows 'Calls▼'
	click 6 18
	shows 'Calls▲'
	click 2 25
	shows '^programs/console.c'
	click 3 31
	shows '^prices'
}

@test "console: started first, it waits; the last snapshot of an ended program stays" {
	mkfifo "$BATS_TEST_TMPDIR/go"
	# In a separate network namespace other sessions do not exist: they are found by
	# their sockets.
	unshare -n true 2>/dev/null || skip "no network namespaces here"
	$tmux new-session -d -s c -x 80 -y 24 "exec unshare -n sh -c '
		(cat \"$BATS_TEST_TMPDIR/go\" >/dev/null
		LD_PRELOAD=$HP_LIB exec \"$T/shop\" \"$BATS_TEST_TMPDIR/end\") >/dev/null 2>&1 </dev/null &
		HOTPATH_TUI_TAB=1 TERM=xterm-256color LC_ALL=C.UTF-8 exec \"$HP_BUILD/hotpath\" console -r 100'" 3>&-
	shows 'Waiting for a profiled program'
	shows 'hotpath-run'
	echo >"$BATS_TEST_TMPDIR/go"
	shows 'shop.*Live'
	shows '^sell  *[1-9]'
	touch "$BATS_TEST_TMPDIR/end"
	shows 'Ended'
	shows 'has ended'
	eventually comes_back_as_it_was
}

# The last figures may come a moment after "Ended"; then another tab and back changes nothing.
comes_back_as_it_was()
{
	local before

	shows '^sell  *[1-9]' || return
	before=$(screen | grep '^sell') || return
	press 7 || return
	shows 'Call path' || return
	press 1 || return
	shows '^sell  *[1-9]' || return
	[ "$(screen | grep '^sell')" = "$before" ]
}

@test "console: chooses one of several programs, then another one" {
	unshare -n true 2>/dev/null || skip "no network namespaces here"
	$tmux new-session -d -s c -x 80 -y 24 "exec unshare -n sh -c '
		for i in 1 2; do LD_PRELOAD=$HP_LIB \"$T/shop\" \"$BATS_TEST_TMPDIR/end\" >/dev/null 2>&1 </dev/null & echo \$! >$BATS_TEST_TMPDIR/\$i; done
		HOTPATH_TUI_TAB=1 TERM=xterm-256color LC_ALL=C.UTF-8 exec \"$HP_BUILD/hotpath\" console -r 100'" 3>&-
	both()
	{
		on_screen "shop .* $(cat "$BATS_TEST_TMPDIR/1") " && on_screen "shop .* $(cat "$BATS_TEST_TMPDIR/2") "
	}
	# The first one may have been the only one for a moment.
	eventually on_screen 'Profiled programs\|Live'
	on_screen 'Profiled programs' || press a
	eventually both
	press Enter
	shows 'shop.*pid.*Live'
	one=$(screen | sed -n '1s/.*pid \([0-9]*\).*/\1/p')
	press a
	eventually both
	screen | grep -n 'shop .*' >"$BATS_TEST_TMPDIR/list"
	other=$(cat "$BATS_TEST_TMPDIR/1")
	[ "$one" != "$other" ] || other=$(cat "$BATS_TEST_TMPDIR/2")
	# The newest is on top.
	if screen | grep -A1 'Runs for' | grep -q " $other "; then press Enter; else press j Enter; fi
	shows "pid $other"
	touch "$BATS_TEST_TMPDIR/end"
}

@test "console: over HTTP, of our server" {
	console -r 100 --metrics-host http://127.0.0.1 --metrics-port "$(own_port)"
	shows "shop.*pid $pid.*Live"
	shows '^sell  *[1-9]'
	press 7
	shows '^▸ basket'
}

@test "console: over HTTP, of a server like the Rust crate's, which has less" {
	console -r 100 -p "$(fake crate)"
	shows 'pid 28317'
	shows '^shop::nap  *25,616  *1.65 ms .*22.58 s'
	shows 'CPU  *62.5%'
	# By the numbers that the words stand for: 22.58 s, 1.20 ms, 999 ns.
	press '<' '<'
	shows 'Total▼'
	screen | sed -n '7,9s/ .*//p' >"$BATS_TEST_TMPDIR/order"
	diff - "$BATS_TEST_TMPDIR/order" <<<$'shop::nap\nshop::late\nshop::fast'
	press o
	shows '25,616 .*1.58 ms'
	press o 3 3 3 3
	shows '^journal .*220.9 MB'
	press 6
	shows 'workers 2  tasks 4'
	press 7
	shows 'Not found'
	press s
	shows 'nothing was saved'
	press 1 1 1 c
	shows 'a snapshot is being taken already'
}

@test "console: each problem with a server is reported with a remedy" {
	declare -A said=([token]='wants a token' [page]='is not JSON' [half]='partial file'
		[foreign]='answers 404 to /profiler_status' [many]='has more than 3000000 values')
	for mode in token page half foreign many; do
		console -r 100 -p "$(fake $mode)"
		shows 'No answer'
		shows "${said[$mode]}"
		on_screen 'metrics-auth-token\|hotpath list'
		press q
		shows '^exit 0'
		$tmux kill-server
	done
	console -r 100 -p "$(fake token)" -t secret
	shows '^shop::nap'
	$tmux kill-server
	console -r 100 -p 1
	shows 'Nothing listens at http://localhost:1'
}

@test "console: keys work while a server never answers" {
	console -r 100 -p "$(fake slow)"
	shows 'Asking\|has not answered'
	press 4
	shows 'Off-CPU'
	press '?'
	shows 'Keys'
	press Escape
	shows 'has not answered\|did not answer'
	shows 'did not answer within 5 s'
	press q
	shows '^exit 0'
}

@test "console: a lost server is reported, and its last snapshot stays" {
	port=$(fake crate)
	console -r 100 -p "$port"
	shows '^shop::nap'
	kill "$(cat "$T/fake-crate.pid")"
	rm "$T/crate.port"
	shows 'Stale'
	shows 'Nothing listens'
	shows '^shop::nap'
}

@test "console: names of the program cannot write to the terminal" {
	console -r 100 -p "$(fake hostile)"
	shows 'evil?\[31m'
	shows '^wwww*…ww'
	screen >"$BATS_TEST_TMPDIR/screen"
	LC_ALL=C run -1 grep -P '\x1b|\x07|\x9b5n|\xe2\x80\xae|\xe2\x81\xa6' "$BATS_TEST_TMPDIR/screen"
	[ "$($tmux display-message -p -t c '#{pane_title}')" != title ]
	press j j j j G i
	shows 'Inspect (Esc'
	press q / e v i l Enter
	shows '\[1/1\]'
}

@test "console: what cannot be shown gets one line, before the screen" {
	one_line()	# STATUS PATTERN COMMAND...
	{
		local status_wanted=$1 pattern=$2
		shift 2
		run "$@" </dev/null
		echo "$output"
		[ "$status" = "$status_wanted" ]
		[ "${#lines[@]}" = 1 ]
		[[ $output == $pattern ]]
	}
	hotpath=$HP_BUILD/hotpath
	one_line 1 '*needs a terminal; hotpath report*' "$hotpath" console "$pid"
	one_line 1 '*no process 999999999; hotpath list*' "$hotpath" console 999999999
	one_line 1 "*process $$ (*) is not profiled*hotpath run*" "$hotpath" console $$
	one_line 1 "*nonsense: not a run's file*" "$hotpath" console nonsense
	one_line 1 '*must begin with http://*' "$hotpath" console --metrics-host localhost
	one_line 1 '*the port goes to --metrics-port*' "$hotpath" console --metrics-host http://localhost:80
	one_line 2 '*token*printable ASCII*' "$hotpath" console -p 1 -t 'a b'
	one_line 2 '*REFRESH_INTERVAL_MS*100 to 60000*' "$hotpath" console --refresh-interval 5
	one_line 2 '*not both*' "$hotpath" console -p 1 "$pid"
	for term in nonsense dumb; do
		console "$pid"
		shows "TERM=$term"
		shows '^exit 1'
		$tmux kill-server
	done
}

@test "console: a terminal without colours, without UTF-8" {
	term=vt100 locale=C
	console -r 100 "$pid"
	shows '^sell  *[1-9]'
	press i
	shows 'Inspect (Esc'
	press q 1 1 1
	shows '^- seller'
	screen >"$BATS_TEST_TMPDIR/screen"
	LC_ALL=C run -1 grep -P '[\x80-\xff]' "$BATS_TEST_TMPDIR/screen"
	$tmux kill-server
	unset term locale
	coloured()
	{
		$tmux capture-pane -e -p -t c | LC_ALL=C grep -q -P '\x1b\[[0-9;]*[34]8;5;'
	}
	console -r 100 "$pid"
	shows '^sell  *[1-9]'
	eventually coloured
	$tmux kill-server
	NO_COLOR=1 console -r 100 "$pid"
	shows '^sell  *[1-9]'
	! coloured
}

@test "console: any size, while it runs" {
	console -r 100 "$pid"
	shows '^sell  *[1-9]'
	for to in 60x16 20x5 1x1 200x50 80x24; do
		$tmux resize-window -t c -x "${to%x*}" -y "${to#*x}"
		press j k o o F1 Escape i Escape F6 Escape
	done
	shows '^sell  *[1-9]'
	shows 'F1 Help'
	press q
	shows '^exit 0'
}

@test "console: the terminal is restored, whichever signal ends it, and on a fault" {
	for name in TERM HUP INT QUIT SEGV ABRT; do
		console -r 100 "$pid"
		shows '^sell  *[1-9]'
		kill -$name "$($tmux list-panes -t c -F '#{pane_pid}' | xargs -I{} pgrep -P {} hotpath-console)"
		shows "^exit $((128 + $(kill -l $name)))"
		shows ' echo '
		not_on_screen '^sell'
		[ "$($tmux display-message -p -t c '#{cursor_flag}#{mouse_any_flag}#{alternate_on}')" = 100 ]
		$tmux kill-server
	done
}

@test "console: stops and continues with the shell's job control" {
	$tmux new-session -d -s c -x 80 -y 24 "env PS1='ready> ' TERM=xterm-256color LC_ALL=C.UTF-8 bash --norc -i" 3>&-
	shows '^ready>'
	press -l "'$HP_BUILD/hotpath' console -r 100 -T 1 $pid"
	press Enter
	shows '^sell  *[1-9]'
	press C-z
	shows 'Stopped'
	press -l 'stty -a; echo back'
	press Enter
	shows ' echo '
	press -l fg
	press Enter
	shows '^sell  *[1-9]'
	press j
	shows '\[2/9\]'
	press q
	eventually not_on_screen '^sell'
	press -l 'echo gone'
	press Enter
	shows '^gone'
}

@test "console: an ended program is not confused with another one that reuses its pid" {
	unshare --pid --net --fork --mount-proc sh -c 'echo 4000 >/proc/sys/kernel/ns_last_pid' 2>/dev/null ||
		skip "numbers of processes cannot be chosen here"
	cat >"$BATS_TEST_TMPDIR/scene" <<-'EOF'
		cd "$BATS_TEST_TMPDIR"
		. "$ROOT/test/behave/console_scene.bash"
		echo 4000 >/proc/sys/kernel/ns_last_pid
		LD_PRELOAD=$HP_LIB HOTPATH_METRICS_SERVER_OFF=1 "$T/shop" >first 2>/dev/null &
		dead=$!
		eventually grep up first
		terminal "'$HP_BUILD/hotpath' console -r 100 -T 1 $dead"
		eventually on_screen "pid $dead .*Live"
		eventually on_screen '^sell  *[1-9]'
		# Nobody is left to report that it ended; the console may not have noticed yet.
		$tmux send-keys -t c p
		eventually on_screen PAUSED
		kill -9 $(pgrep -x hotpath-sampler) $dead
		wait $dead
		echo $((dead - 1)) >/proc/sys/kernel/ns_last_pid
		sleep 1000 &
		echo "the same number $(($! == dead))"
		$tmux send-keys -t c p
		eventually on_screen "pid $dead .*Ended"
		eventually on_screen '^sell  *[1-9]'
		# Another profiled program doesn't make it forget the first one.
		kill -9 $!
		wait $!
		echo $((dead - 1)) >/proc/sys/kernel/ns_last_pid
		LD_PRELOAD=$HP_LIB HOTPATH_METRICS_SERVER_OFF=1 "$T/shop" >second 2>/dev/null &
		other=$!
		eventually grep up second
		echo "the same number $((other == dead))"
		# The last figures may come a moment after "Ended"; those of another program would continue
		# changing.
		stays()
		{
			last=$(screen | grep '^sell')
			# Long enough for the console to refresh, and for an open call to continue.
			for look in {1..20}; do "$HP_BUILD/hotpath" list >/dev/null; done
			"$HP_BUILD/hotpath" report --session $other -r functions-timing &&
				on_screen "pid $dead .*Ended" && [ "$(screen | grep '^sell')" = "$last" ]
		}
		eventually stays && echo "still ended" || screen
		# On request it is found again.
		$tmux kill-server
		terminal "'$HP_BUILD/hotpath' console -r 100 -T 1 $other"
		eventually on_screen "pid $other .*Live"
		echo "found"
		$tmux kill-server
		kill -9 $other
	EOF
	export ROOT BATS_TEST_TMPDIR
	run timeout 300 unshare --pid --net --fork --mount-proc bash "$BATS_TEST_TMPDIR/scene"
	echo "$output"
	[ "$(grep -c 'the same number 1' <<<"$output")" = 2 ]
	grep -x 'still ended' <<<"$output"
	grep -x found <<<"$output"
}

@test "console: C++ names are shortened but stay distinguishable, and calls in progress are marked" {
	LANGUAGE=c++ CC=g++ compile stores <<'END'
#include <map>
#include <string>
#include <unistd.h>
template <class Key, class Value> struct Store {
	std::map<Key, Value> rows;
	__attribute__((noinline)) void put(const Key &key, Value value) { rows[key] = value; }
	__attribute__((noinline)) Value get(const Key &key) { return rows[key]; }
};
static Store<std::string, long> store;
__attribute__((noinline)) long sell() { usleep(1000); return store.get("7"); }
__attribute__((noinline)) void sell_for_ever() { write(1, "up\n", 3); for (;;) sell(); }
int main()
{
	for (int i = 0; i < 1000; i++) {
		store.put(std::to_string(i), i);
		store.get(std::to_string(i));
	}
	sell_for_ever();
}
END
	HOTPATH_METRICS_SERVER_OFF=1 LD_PRELOAD=$HP_LIB "$T/stores" >"$T/stores.out" 2>/dev/null 3>&- &
	echo $! >"$T/stores.pid"
	eventually grep up "$T/stores.out"
	for size in 80x24 60x16; do
		console -r 100 "$(cat "$T/stores.pid")"
		shows '^sell_for_ever  *1 .* ≥ [1-9]'
		shows '^sell  *[1-9]'
		# Each later one is a different one.
		press / S t o r e
		shows '^Store‹string›::put  *1,000 '
		shows '^Store‹string›::get  *[1-9]'
		press Escape
		shows '^stores::main  *1 .* [1-9][^≥]*$'
		$tmux kill-server
	done
	kill "$(cat "$T/stores.pid")"
}

@test "console: a real Rust program with the crate, over HTTP" {
	only_in_full
	command -v cargo >/dev/null || skip "no cargo here"
	mkdir -p "$T/crate/src"
	cp "$ROOT/test/behave/programs/console_crate.rs" "$T/crate/src/main.rs"
	cat >"$T/crate/Cargo.toml" <<-'EOF'
	[package]
	name = "shop"
	version = "0.1.0"
	edition = "2021"
	[dependencies]
	hotpath = { version = "=0.30.3", features = ["hotpath"] }
	[profile.release]
	opt-level = 1
	EOF
	CARGO_TARGET_DIR=$HP_BUILD/crate nice -n 19 cargo build -q --release --manifest-path "$T/crate/Cargo.toml" ||
		skip "the crate cannot be built here"
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	HOTPATH_METRICS_PORT=$port HOTPATH_MCP_PORT=$((port % 60000 + 1024)) \
		"$HP_BUILD/crate/release/shop" >/dev/null 2>&1 3>&- &
	echo $! >"$T/crate.pid"
	console -r 200 -p "$port"
	shows "pid $(cat "$T/crate.pid")"
	shows '^shop::nap  *[1-9]'
	press / p r i c e Enter o
	shows '332833500'
	press o Escape 2
	shows '^orders .* active'
	press 4
	shows '^shop .*[0-9]%'
	press 7
	shows 'this server has no such list'
}

# shown_as FILE - the lines of the report on the screen.
shown_as()
{
	screen | sed -n '/^\[hotpath\]/,59p' | sed 's/ *$//; /^$/d' >"$BATS_TEST_TMPDIR/shown"
	diff "$1" "$BATS_TEST_TMPDIR/shown"
}

@test "console: begins with the answers: the same lines as the report" {
	size=80x60
	HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH=$T/ended.hp "$HP_BUILD/hotpath-run" gcc -g -o "$T/ended" -x c - \
		<<<'int main(void) { return 0; }'
	tab=0 console "$T/ended.hp"
	shows '^ Report  Findings'
	shows '^CPU  *[0-9]'
	COLUMNS=80 env -u HOTPATH_REPORT "$HP_BUILD/hotpath" report "$T/ended.hp" 2>&1 | sed '/^next: /d; s/ *$//; /^$/d' >"$BATS_TEST_TMPDIR/report"
	eventually shown_as "$BATS_TEST_TMPDIR/report" || shown_as "$BATS_TEST_TMPDIR/report"
	press 0
	shows 'known pattern\|^What to do\|too few CPU samples'
	press 1
	shows '^ Timing'
}
