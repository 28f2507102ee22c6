#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# channels.bats - reported pipes, sockets and queues match the program's own account, and the program
# does not notice.

load helper

setup_file()
{
	local name
	for name in pipe socket datagram crowd; do
		gcc -D_GNU_SOURCE -g -O1 -o "$T/$name" "$ROOT/test/behave/programs/channels_$name.c" -lpthread
	done
	gcc -D_GNU_SOURCE -DHOTPATH -I"$ROOT/include" -g -O1 -o "$T/queue" \
		"$ROOT/test/behave/programs/channels_queue.c" -lpthread -lrt -l:libglib-2.0.so.0
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_LIMIT=0
	export HOTPATH_REPORT=channels
	rm -f "$T/report"
}

# recorded PROGRAM MODE... - runs it, its words in $T/said.
recorded()
{
	LD_PRELOAD=$HP_LIB "$T/$1" "${@:2}" >"$T/said"
}

# same PROGRAM MODE - its output is the same as without us.
same()
{
	recorded "$1" "$2"
	"$T/$1" "$2" >"$T/bare"
	diff "$T/bare" "$T/said"
}

reports()
{
	python3 "$ROOT/test/behave/channels.py" "$T/report" "$@"
}

# socket MODE [KEY...], queue ... - all of its counts are reported exactly.
socket()
{
	same socket "$1"
	reports --as "$T/said" "${@:2}"
}

queue()
{
	"$T/queue" "$1" >"$T/bare" || skip "$(cat "$T/bare")"
	recorded queue "$1"
	diff "$T/bare" "$T/said"
	reports --as "$T/said" "${@:2}"
}

COUNTS="sent_count sent_bytes received_count received_bytes"

@test "channels: messages and bytes of a pipe, and the deepest queue, exactly" {
	same pipe count
	reports --as "$T/said" $COUNTS max_queue_size
}

@test "channels: calls that failed, were cut short or would have waited are not messages" {
	same pipe odd
	reports --as "$T/said" $COUNTS max_queue_size
	[ "$(reports refused_sends empty_receives)" = "1 2" ]
}

@test "channels: several threads at both ends" {
	same pipe threads
	reports --as "$T/said" $COUNTS
}

@test "channels: a child at the other end is in the same session, so in the same row" {
	same pipe child
	reports --as "$T/said" sent_count sent_bytes
	[ "$(reports received_bytes state)" = "64000 closed" ]
}

@test "channels: three thousand pipes of one place are one row" {
	same pipe many
	reports --as "$T/said" $COUNTS max_queue_size
	[ "$(reports instances closed_instances queue_size)" = "3000 3000 0" ]
}

@test "channels: HOTPATH_CHANNELS_ITER separates them, up to a limit" {
	HOTPATH_CHANNELS_ITER=1 recorded pipe many
	reports --as "$T/said" $COUNTS max_queue_size
	[ "$(reports label | sort | uniq -d | wc -l)" = 0 ]
	[ "$(reports label | wc -l)" = 257 ]
}

@test "channels: copies of a descriptor, and files by its old number" {
	same pipe copies
	reports --as "$T/said" $COUNTS max_queue_size
}

@test "channels: a call in which a thread is cancelled does not count" {
	same pipe cancelled
	grep -c 'canceled 1' "$T/said" | grep -x 2
	reports --as "$T/said" $COUNTS
}

@test "channels: signal handlers that write where the program writes" {
	recorded pipe signals
	reports --as "$T/said" sent_count sent_bytes received_count received_bytes
}

@test "channels: a child by vfork changes nothing of its parent's" {
	same pipe borrowed
	reports --as "$T/said" $COUNTS
}

latency_as_said()
{
	recorded pipe latency &&
		reports --as "$T/said" $COUNTS &&
		[ "$(reports delay_sampled_count)" = 2000 ] &&
		reports --near "$T/said" "$1" delay_total_ns delay_ns
}

# A preemption between the program's clock reading and ours is in only one of them.
@test "channels: the time from send to receive is that of the stamps in the messages" {
	up_to_3 latency_as_said 25
}

@test "channels: the same within 1 %, on a quiet machine" {
	only_in_full
	up_to_3 latency_as_said 1
}

wait_as_said()
{
	recorded pipe "$1" && reports --near "$T/said" "$2" "$1_ns" "$1_ns"
}

# Timing may take one part of the run for all channels together, so busy ones cannot all be timed
# completely. One that sends little is.
@test "channels: many busy channels are sampled, and a quiet one among them is timed completely" {
	gcc -g -O1 -o "$T/busy" -x c - <<-'END'
	#include <unistd.h>
	static int busy[64][2], quiet[2];
	static int echo(int *pipe)
	{
		char byte = 0;
		return write(pipe[1], &byte, 1) == 1 && read(pipe[0], &byte, 1) == 1;
	}
	int main(void)
	{
		for (int i = 0; i < 64; i++)
			if (pipe(busy[i]) != 0)
				return 1;
		if (pipe(quiet) != 0)
			return 1;
		for (int i = 0; i < 400000; i++)
			if (!echo(busy[i % 64]) || (i % 50000 == 0 && !echo(quiet)))
				return 1;
		return 0;
	}
	END
	recorded busy
	jq -c '.channels.raw[] | [.label, .sent_count, .delay_sampled_count]' "$T/report"
	jq -e '[.channels.raw[] | select(.sent_count == 8 and .delay_sampled_count == 8)] | length == 1' "$T/report"
	jq -e '[.channels.raw[] | select(.sent_count == 400000 and .delay_sampled_count > 1000 and
		.delay_sampled_count < 200000)] | length == 1' "$T/report"
}

@test "channels: time of senders that wait for room, of receivers that wait for a message" {
	up_to_3 wait_as_said blocked 25
	up_to_3 wait_as_said starved 25
}

# Long calls that wait for nobody: the receiver is woken, the sender interrupted.
@test "channels: a non-blocking call did not wait, however long it took" {
	gcc -D_GNU_SOURCE -g -O1 -o "$T/patient" -x c - <<-'END'
	#include <fcntl.h>
	#include <signal.h>
	#include <stdio.h>
	#include <string.h>
	#include <sys/socket.h>
	#include <sys/time.h>
	#include <time.h>
	#include <unistd.h>
	static char text[4096];
	/* In the middle of a call, often: it is no shorter for that. */
	static void late(int signal)
	{
		struct timespec now, until;
		(void)signal;
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += 300000;
		do
			clock_gettime(CLOCK_MONOTONIC, &now);
		while ((now.tv_sec - until.tv_sec) * 1000000000L + now.tv_nsec < until.tv_nsec);
	}
	static void echo(int send, int receive, int size, int flags)
	{
		for (int i = 0; i < 40000; i++)
			if (send >= 0 && (flags ? sendto(send, text, (size_t)size, flags, NULL, 0)
						: write(send, text, (size_t)size)) == size &&
			    read(receive, text, (size_t)size) != size)
				_exit(1);
	}
	int main(int count, char **arguments)
	{
		struct itimerval timer = { { 0, 1000 }, { 0, 1000 } };
		struct sigaction action = { .sa_handler = late, .sa_flags = SA_RESTART };
		int pair[2];
		(void)count;
		sigaction(SIGALRM, &action, NULL);
		setitimer(ITIMER_REAL, &timer, NULL);
		socketpair(AF_UNIX, SOCK_STREAM | (*arguments[1] == 'n' ? SOCK_NONBLOCK : 0), 0, pair);
		echo(pair[0], pair[1], 500, *arguments[1] == 'h' ? MSG_DONTWAIT : 0);
		/* So much in it that there is no saying that there is room, but for these. */
		for (int i = 0; i < 20; i++)
			if (send(pair[0], text, 4000, MSG_DONTWAIT) != 4000)
				return 1;
		echo(pair[0], pair[1], 4000, *arguments[1] == 'h' ? MSG_DONTWAIT : 0);
		return 0;
	}
	END
	for mode in nonblocking hasty; do
		recorded patient $mode
		jq -c '.channels.raw[] | [.label, .sent_count, .blocked_count, .blocked_ns]' "$T/report"
		[ "$(jq '[.channels.raw[] | select(.sent_count == 80020)] | length' "$T/report")" -eq 1 ]
		[ "$(jq '[.channels.raw[].blocked_count // 0] | add' "$T/report")" -eq 0 ]
	done
}

@test "channels: socket pairs, with every call, one row per direction" {
	socket stream $COUNTS max_queue_size
	reports type_name channel_type | sort -u >"$T/types"
	grep -q '^stream bounded\[[0-9]*\]$' "$T/types"
	[ "$(reports label | wc -l)" = 2 ]
	socket packet $COUNTS max_queue_size
	socket datagram $COUNTS max_queue_size
}

@test "channels: both directions of a socket pair are named after their creator, in tables, too" {
	HOTPATH_OUTPUT_FORMAT=table COLUMNS=120 recorded socket stream
	grep -q '^[^ ]*channels_socket.c:[0-9]* →  *stream ' "$T/report"
	grep -q '^[^ ]*channels_socket.c:[0-9]* ←  *stream ' "$T/report"
}

datagram()
{
	same datagram "$1"
	reports --as "$T/said" "${@:2}"
}

@test "channels: datagram sockets with names, by every call, connected and by address" {
	datagram path $COUNTS max_queue_size
	[ "$(reports label type_name state)" = "socket datagram closed" ]
	datagram autobind $COUNTS max_queue_size
	[ "$(reports sent_count delay_sampled_count | sort | uniq -c | tr -s ' ')" = " 2 50 50" ]
	recorded datagram abstract
	reports --as "$T/said" $COUNTS max_queue_size
	[[ "$(reports label)" = @hotpath-test-* ]]
}

@test "channels: a path that is bound again is another socket; another process sends to it" {
	datagram rebound $COUNTS max_queue_size
	[ "$(reports label instances)" = "socket×2 2" ]
	datagram child $COUNTS
}

# The other side of each is not profiled: both its figures and its queue are unknown.
@test "channels: datagrams from and to an unrecorded program" {
	mkdir -p "$T/there"
	cat >"$T/outsider" <<-'END'
	import socket, sys
	s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
	s.bind("outsider")
	print("bound", flush=True)
	s.settimeout(60)
	for _ in range(20):
	    s.recv(100)
	s.sendto(b"x", "socket")
	END
	(cd "$T/there" && exec python3 "$T/outsider" >"$T/bound" 3>&-) &
	eventually grep -q bound "$T/bound"
	THERE=$T/there recorded datagram outside
	wait
	reports --as "$T/said" $COUNTS
	reports sent_count received_count max_queue_size | sort | diff - /dev/fd/3 3<<-'END'
		20 None None
		None 1 None
		END
}

full_as_said()
{
	recorded datagram "full-$1" && reports --as "$T/said" $COUNTS &&
		reports --near "$T/said" 2 blocked_ns blocked_ns
}

# The receiver sleeps while the sender waits, so the wait is longer than the difference of
# two clocks.
@test "channels: time of senders that wait for room, by type of channel, within 2 %" {
	for type in pipe stream packet datagram named; do
		up_to_3 full_as_said $type
	done
}

@test "channels: tokens of eventfds, initial ones included" {
	socket event sent_count received_count max_queue_size
}

@test "channels: a FIFO is named by its path, whoever opened it" {
	socket fifo $COUNTS max_queue_size
	[[ "$(reports label source)" = /tmp/hotpath-fifo.*/fifo* ]]
}

@test "channels: splice, tee, vmsplice, sendfile" {
	socket splices $COUNTS max_queue_size
}

@test "channels: a descriptor that was sent over a socket is the same pipe there" {
	socket given sent_count sent_bytes received_bytes
	[ "$(reports label | wc -l)" = 2 ]
}

# handed MODE - the row of the eventfd, in `raw` and in `data`.
handed()
{
	recorded socket handed "$@" || return
	reports type_name sent_count received_count queue_size max_queue_size | sed -n 's/^eventfd //p'
	python3 -c 'import json, sys
print(*[row[key] for row in json.load(open(sys.argv[1]))["channels"]["data"] if row["type_name"] == "eventfd"
        for key in ("queue_size", "max_queue_size")])' "$T/report"
}

# It adds 10 to the 50 and takes 40 of the 60, including 20 taken here.
@test "channels: an eventfd passed to another program has bounds and no queue" {
	for who in seen unseen; do
		[ "$(handed $who)" = "50 20 None None"$'\n'"0 0" ]
		# The first five were taken before it was passed on.
		[ "$(reports type_name delay_sampled_count | grep eventfd)" = "eventfd 5" ]
	done
	[ "$(handed all)" = "50 None None None"$'\n'"0 0" ]
	HOTPATH_OUTPUT_FORMAT=table COLUMNS=120 recorded socket handed seen
	grep -q 'eventfd *≥ 50 *≥ 20 .* -  *0 ns' "$T/report"
}

@test "channels: reads of another program, from its standard input" {
	socket programs sent_count sent_bytes received_bytes
	[ "$(reports label | wc -l)" = 1 ]
}

@test "channels: writes by stdio are not recorded, and not reported as zero" {
	same socket stdio
	HOTPATH_OUTPUT_FORMAT=table COLUMNS=120 recorded socket stdio
	grep -q 'pipe *≥ 0 *10 *50 B' "$T/report"
	grep -q 'eventfd *1 ' "$T/report"
}

idle_as_said()
{
	recorded socket idle && reports --as "$T/said" $COUNTS max_queue_size &&
		reports --near "$T/said" 25 starved_ns starved_ns
}

@test "channels: a wait in poll or epoll counts for the channel that ended it" {
	up_to_3 idle_as_said
}

@test "channels: a POSIX message queue, and a child that opens it by its name" {
	queue posix $COUNTS max_queue_size
	[[ "$(reports label channel_type type_name)" = "/hotpath-test-"*" bounded[5] mqueue" ]]
	# With another priority, messages do not leave in the order of their
	# arrival.
	[ "$(reports delay_sampled_count)" = 300 ]
}

@test "channels: a System V message queue" {
	queue sysv $COUNTS max_queue_size
	[ "$(reports empty_receives state)" = "1 closed" ]
}

@test "channels: GAsyncQueues, two thousand of one place in one row" {
	queue glib sent_count received_count
	[ "$(reports instances closed_instances empty_receives queue_size | tail -n 1)" = "2000 2000 2000 0" ]
}

@test "channels: messages that overtake others are counted and not timed" {
	queue front $COUNTS max_queue_size
	[ "$(reports delay_sampled_count)" = 0 ]
}

@test "channels: queues and names declared in the source" {
	queue header sent_count received_count max_queue_size
	reports label type_name state sent_count received_count channel_type |
		grep -v '^programs/.*channel active 1 0 unbounded$' | diff - /dev/fd/3 3<<-'END'
		jobs pipe active 1 0 bounded[65536]
		large channel active 1 1 bounded[16777215]
		ring channel closed 442 442 bounded[8]
		END
}

@test "channels: results of threads, from their end to the join" {
	queue results sent_count received_count max_queue_size
	[ "$(reports type_name channel_type instances delay_sampled_count)" = "thread oneshot 50 50" ]
}

@test "channels: descriptors closed or copied by syscall() are not confused with earlier ones" {
	gcc -D_GNU_SOURCE -x c -g -O1 -o "$T/raw" - <<-'END'
	#include <fcntl.h>
	#include <stdio.h>
	#include <sys/syscall.h>
	#include <unistd.h>
	int main(void)
	{
		char byte = 0;
		int fds[2], null, copy;

		if (pipe(fds) != 0)
			return 1;
		for (int i = 0; i < 10; i++)
			if (write(fds[1], &byte, 1) != 1 || read(fds[0], &byte, 1) != 1)
				return 1;
		copy = (int)syscall(SYS_dup, fds[1]);
		for (int i = 0; i < 5; i++)
			if (write(copy, &byte, 1) != 1 || read(fds[0], &byte, 1) != 1)
				return 1;
		syscall(SYS_close, fds[1]);
		null = open("/dev/null", O_WRONLY);
		if (null != fds[1] || syscall(SYS_dup2, null, copy) != copy || syscall(SYS_close, 1000) != -1)
			return 1;
		for (int i = 0; i < 100; i++)
			if (write(null, &byte, 1) != 1 || write(copy, &byte, 1) != 1)
				return 1;
		printf("sent_count 15\nreceived_count 15\n");
		return 0;
	}
	END
	same raw x
	reports --as "$T/said" sent_count received_count
	[ "$(reports state)" = closed ]
}

# A guard, and slots that are acquired and released, do not count.
@test "channels: semaphores that one thread posts to and another takes from" {
	HOTPATH_REPORT=channels,sems queue semaphores sent_count received_count
	[ "$(reports label type_name channel_type max_queue_size)" = "tokens semaphore unbounded None" ]
	[ "$(lock_rows sems label count posts | tr '\n' ' ')" = "guard 1000 1000 places 500 500 tokens 500 500 " ]
}

@test "channels: the text of messages, truncated, and only on request" {
	recorded queue header
	run -1 grep '"message": *"1' "$T/report"
	HOTPATH_LOG_PAYLOAD=1 HOTPATH_MAX_LOG_LEN=4 recorded queue header
	grep -q '"message": *"1234\.\.\."' "$T/report"
}

@test "channels: nothing is recorded unless requested" {
	HOTPATH_REPORT=threads LD_PRELOAD=$HP_LIB HOTPATH_SEGMENT_PATH=$T/segment "$T/pipe" count >"$T/out"
	HOTPATH_REPORT=channels "$HP_BUILD/hotpath" report "$T/segment" >"$T/report"
	grep -q '"message": *"channels were not recorded: ' "$T/report"
}

# serve - serves the record of $T/segment at $url, until $T/server is ended.
serve()
{
	: >"$T/url"	# an earlier server's: the next one may empty it too late
	"$HP_BUILD/hotpath" serve "$T/segment" --port 0 >"$T/url" 3>&- &
	echo $! >"$T/server"
	eventually grep -q '^http' "$T/url"
	url=$(cat "$T/url")
}

@test "channels: unknown values are not exported to Prometheus" {
	HOTPATH_SEGMENT_PATH=$T/segment recorded socket handed all
	serve
	curl -s -m 20 "${url%/}/metrics" >"$T/metrics"
	kill "$(cat "$T/server")"
	sed -n 's/^\(hotpath_channel_[a-z_]*\){.*payload="eventfd"} /\1 /p' "$T/metrics" | diff - /dev/fd/3 3<<-'END'
		hotpath_channel_sent_total 50
		hotpath_channel_instances_created_total 1
		hotpath_channel_instances_closed_total 0
		END
	grep -q 'hotpath_channel_received_total{.*payload="stream"} 1' "$T/metrics"
}

# For an ended one, from its record.
@test "channels: over HTTP, with the last messages of each" {
	HOTPATH_SEGMENT_PATH=$T/segment LD_PRELOAD=$HP_LIB "$T/queue" header >/dev/null
	serve
	curl -s -m 20 "${url%/}/channels" >"$T/list"
	curl -s -m 20 "${url%/}/channels/99/logs" >"$T/none"
	id=$(python3 -c 'import json, sys
print([row["id"] for row in json.load(open(sys.argv[1]))["data"] if row["label"] == "jobs"][0])' "$T/list")
	curl -s -m 20 "${url%/}/channels/$id/logs" >"$T/logs"
	kill "$(cat "$T/server")"
	grep -q '"error"' "$T/none"
	python3 -c 'import json, sys
logs = json.load(open(sys.argv[1]))
assert logs["received_logs"] == [] and len(logs["sent_logs"]) == 1, logs
first = logs["sent_logs"][0]
assert first["index"] == 1 and first["delay"] is None and first["thread_id"] > 0, first' "$T/logs"
}

@test "channels: pipes of one place hold together at least what they hold now" {
	compile two <<-'C'
		#include <unistd.h>
		int main(void)
		{
			int ends[100][2];
			for (int i = 0; i < 100; i++)
				if (pipe(ends[i]))
					return 1;
			for (int i = 0; i < 100; i++)
				for (int n = 0; n < 10 + i % 2; n++)
					if (write(ends[i][1], "four", 4) != 4)
						return 1;
			return 0;
		}
	C
	HOTPATH_REPORT=channels HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/two.json "$HP_RUN" "$T/two"
	jq -c '.channels.raw[] | [.iter, .queue_size, .max_queue_size]' "$T/two.json"
	[ "$(jq '[.channels.raw[] | .queue_size] | add' "$T/two.json")" = 4200 ]
	jq -e '.channels.raw | all(.queue_size <= .max_queue_size)' "$T/two.json"
}

@test "channels: a preempted sender does not make the messages behind it late" {
	local i
	for i in 1 2 3; do
		rm -f "$T/report"
		recorded crowd 16 10000
		python3 - "$T/report" "$(cat "$T/said")" <<-'END'
		import json, sys
		sent, total = map(int, sys.argv[2].split())
		row = next(row for row in json.load(open(sys.argv[1]))["channels"]["raw"] if row["sent_count"] == sent)
		print(sent, total, row["delay_sampled_count"], row["delay_total_ns"], row["delay_max_ns"])
		assert row["received_count"] == sent
		assert row["delay_sampled_count"] > 0
		assert row["delay_total_ns"] <= total
		END
	done
}
