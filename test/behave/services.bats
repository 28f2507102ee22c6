#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# services.bats - servers of Debian whose workers give up root, and one that never has it: one report with the
# figures of all processes, and a segment for each user (doc/internals/safety.md, "Trust between processes").

load helper

nobody=65534

# needs COMMAND... - each of them, and root.
needs()
{
	local command
	only_in_full
	[ "$(id -u)" = 0 ] || skip "needs root: the workers have to give it up"
	for command; do
		[ -x "$(command -v "$command")" ] || skip "no $command here"
	done
}

setup()
{
	place=$BATS_TEST_TMPDIR/place
	mkdir -p "$place"
	# The workers look for their files here, and so does a worker's loader.
	chmod a+x "$BATS_RUN_TMPDIR" "$T" "$BATS_TEST_TMPDIR"
	chmod 755 "$place"
	seq 5000 >"$place/file"
	cd "$place"
}

# A server that a failed test left.
teardown()
{
	[ -z "$server" ] || kill -KILL -- -"$server" 2>/dev/null || true
	reports_are_possible
}

free_port()
{
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# The first process that is none of ours.
program_find()
{
	program=$(pgrep -l -P "$server" | awk '$2 !~ /^hotpath/ { print $1; exit }')
	[ -n "$program" ]
}

# start COMMAND... - the server, recorded, by the user of `as`; `server` is the wrapper, `program` the server's first
# process.
start()
{
	HOTPATH_KEEP=0 HOTPATH_REPORT=all HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/report setsid "${as[@]}" "$HP_RUN" "$@" >"$BATS_TEST_TMPDIR/log" 2>&1 3>&- &
	server=$!
	eventually program_find
}

see()
{
	python3 "$ROOT/test/behave/services.py" see "$program" >"$BATS_TEST_TMPDIR/seen"
}

# has_users USER... - these and no others are effective user ids of processes that record.
has_users()
{
	see || return
	[ "$(jq -r '[.processes[].user] | unique | map(tostring) | join(" ")' "$BATS_TEST_TMPDIR/seen")" = "$*" ]
}

# The helper looks for threads now and then.
all_are_listed()
{
	"$HP_BUILD/hotpath" report --session "$program" -r threads --limit=0 -f json >"$BATS_TEST_TMPDIR/live" &&
		jq -e --slurpfile seen "$BATS_TEST_TMPDIR/seen" \
			'[$seen[0].processes[].pid] - [.threads.raw[].pid] == []' "$BATS_TEST_TMPDIR/live"
}

# ends SIGNAL - the server ends, and all that was seen is in its one report.
ends()
{
	kill -"$1" "$program"
	wait "$server" || true
	server=
	cat "$BATS_TEST_TMPDIR/log"
	report_comes "$BATS_TEST_TMPDIR/report"
	python3 "$ROOT/test/behave/services.py" check "$BATS_TEST_TMPDIR/seen" "$BATS_TEST_TMPDIR/report" |
		tee "$BATS_TEST_TMPDIR/users"
}

@test "services: nginx, a root master and workers of nobody" {
	local i as=()
	needs /usr/sbin/nginx curl jq
	cat >conf <<-END
		worker_processes 2;
		user nobody nogroup;
		error_log $place/error.log;
		pid $place/pid;
		events { worker_connections 64; }
		http {
			access_log off;
			client_body_temp_path $place/t1; proxy_temp_path $place/t2; fastcgi_temp_path $place/t3;
			uwsgi_temp_path $place/t4; scgi_temp_path $place/t5;
			gzip on; gzip_types *;
			server { listen unix:$place/s; root $place; }
		}
	END
	start /usr/sbin/nginx -p "$place" -c "$place/conf" -g 'daemon off;'
	eventually [ -S s ]
	for i in 1 2 3 4 5; do
		curl -s --unix-socket s --compressed --max-time 60 http://x/file | cmp - file
	done
	eventually has_users 0 $nobody
	eventually all_are_listed
	ends QUIT
	grep -qx "users: 0:1 $nobody:2 owners: 0 $nobody" "$BATS_TEST_TMPDIR/users"
	[ "$(jq '[.processes.raw[] | select(.name == "nginx") | .runs] | add' "$BATS_TEST_TMPDIR/report")" -ge 3 ]
}

@test "services: Apache's prefork, a root master and workers of nobody" {
	local port i as=() modules=/usr/lib/apache2/modules
	needs /usr/sbin/apache2 curl jq
	[ -e $modules/mod_mpm_prefork.so ] || skip "no prefork here"
	port=$(free_port)
	cat >conf <<-END
		ServerRoot $place
		ServerName 127.0.0.1
		DefaultRuntimeDir $place
		PidFile $place/pid
		ErrorLog $place/error.log
		LoadModule mpm_prefork_module $modules/mod_mpm_prefork.so
		LoadModule authz_core_module $modules/mod_authz_core.so
		User #$nobody
		Group #$nobody
		Listen 127.0.0.1:$port
		DocumentRoot $place
		StartServers 3
		MinSpareServers 3
		MaxSpareServers 3
		MaxRequestWorkers 3
	END
	start /usr/sbin/apache2 -f "$place/conf" -DFOREGROUND
	eventually curl -s -o /dev/null "http://127.0.0.1:$port/file"
	for i in 1 2 3 4 5; do
		curl -s --max-time 60 "http://127.0.0.1:$port/file" | cmp - file
	done
	has_three()
	{
		has_users 0 $nobody || return
		[ "$(jq '[.processes[] | select(.user != 0)] | length' "$BATS_TEST_TMPDIR/seen")" = 3 ]
	}
	eventually has_three
	eventually all_are_listed
	ends TERM
	grep -qx "users: 0:1 $nobody:3 owners: 0 $nobody" "$BATS_TEST_TMPDIR/users"
	[ "$(jq '[.processes.raw[] | select(.name == "apache2") | .runs] | add' "$BATS_TEST_TMPDIR/report")" -ge 4 ]
}

@test "services: sshd, a root listener and monitor, and a user's session" {
	local port client to as=()
	needs /usr/sbin/sshd sftp ssh-keygen unshare jq
	unshare --mount true 2>/dev/null || skip "needs CAP_SYS_ADMIN"
	port=$(free_port)
	mkdir -m 700 keys
	ssh-keygen -q -t ed25519 -N '' -f keys/host
	ssh-keygen -q -t ed25519 -N '' -f keys/me
	cp keys/me.pub authorized
	printf '%s\n' "Port $port" "ListenAddress 127.0.0.1" "HostKey $place/keys/host" "PidFile none" \
		"AuthorizedKeysFile $place/authorized" "StrictModes no" "UsePAM no" \
		"Subsystem sftp internal-sftp" "ForceCommand internal-sftp" >conf
	# Its folder for the time before a login is in no file system that stays.
	# shellcheck disable=SC2016
	start unshare --mount sh -c 'mount -t tmpfs none /run && mkdir -p -m 755 /run/sshd &&
		exec /usr/sbin/sshd -D -e -f "$0"' "$place/conf"
	to=(-F /dev/null -i keys/me -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o "UserKnownHostsFile=$place/known"
		-o LogLevel=ERROR -o BatchMode=yes -P "$port")
	eventually bash -c ": </dev/tcp/127.0.0.1/$port"
	mkfifo asks
	sftp -b asks "${to[@]}" nobody@127.0.0.1 >got.log 2>&1 3>&- &
	client=$!
	exec 7>asks
	echo "get $place/file got" >&7
	eventually cmp got file
	eventually has_users 0 $nobody
	eventually all_are_listed
	exec 7>&-
	wait $client
	ends TERM
	grep -q "^users: 0:2 $nobody:[1-9] owners: 0 .*\b$nobody\b" "$BATS_TEST_TMPDIR/users"
	# The last of its processes end after the listener: then the report is written again.
	eventually jq -e '[.processes.raw[] | select(.name == "sshd") | .runs] | add >= 3' "$BATS_TEST_TMPDIR/report"
}

@test "services: PostgreSQL, all as one user" {
	local bin as=(setpriv --reuid=$nobody --regid=$nobody --clear-groups)
	needs psql jq
	bin=$(find /usr/lib/postgresql -name initdb -printf '%h\n' 2>/dev/null | sort -V | tail -n 1)
	[ -n "$bin" ] || skip "no initdb here"
	"${as[@]}" test -r "$HP_LIB" || skip "the build is not readable by everybody"
	chown $nobody "$place" "$BATS_TEST_TMPDIR"
	"${as[@]}" "$bin/initdb" -D "$place/data" -U me -A trust -N >init.log 2>&1
	# A socket's path must be short.
	export PGHOST=$BATS_TEST_TMPDIR/s PGUSER=me PGDATABASE=postgres
	PGHOST=$(mktemp -d /tmp/hotpath-test.XXXXXX)
	chown $nobody "$PGHOST"
	start "$bin/postgres" -D "$place/data" -k "$PGHOST" -c listen_addresses= -c shared_buffers=16MB -c fsync=off
	eventually psql -Atc 'select 1'
	psql -Atc 'create table t as select generate_series(1, 20000) n' >/dev/null
	mkfifo asks
	psql -At <asks >sum 3>&- &
	exec 7>asks
	echo 'select sum(n) from t;' >&7
	eventually grep -qx 200010000 sum
	eventually has_users $nobody
	eventually all_are_listed
	exec 7>&-
	ends INT
	rm -rf "$PGHOST"
	[ "$(sed 's/.*owners: //' "$BATS_TEST_TMPDIR/users")" = $nobody ]
	[ "$(jq '[.processes.raw[] | select(.name == "postgres") | .runs] | add' "$BATS_TEST_TMPDIR/report")" -ge 4 ]
}
