# SPDX-License-Identifier: MIT
# nginx.sh - a master and two workers: requests, a reload, a new master's signals, an orderly end.
mkdir -p logs html
seq 5000 >html/f
cat >conf <<END
worker_processes 2;
error_log $PWD/logs/error.log;
pid $PWD/logs/pid;
events { worker_connections 64; }
http {
	access_log off;
	client_body_temp_path $PWD/t1; proxy_temp_path $PWD/t2; fastcgi_temp_path $PWD/t3;
	uwsgi_temp_path $PWD/t4; scgi_temp_path $PWD/t5;
	gzip on; gzip_types *;
	server { listen unix:$PWD/s; root $PWD/html; }
}
END
mkfifo pause
# Without the process id, which would differ from run to run.
pause() { read -rt 0.02 _ <>pause || :; }
has_two_workers() { read -ra workers <"/proc/$server/task/$server/children"; [ ${#workers[@]} = 2 ]; }
ask() { curl -s --unix-socket "$PWD/s" --max-time 20 "$@"; }
/usr/sbin/nginx -p "$PWD" -c "$PWD/conf" -t 2>&1 | sed "s,$PWD,,"
chmod 755 . 2>/dev/null
/usr/sbin/nginx -p "$PWD" -c "$PWD/conf" -g 'daemon off; user root;' &
server=$!
for _ in {1..500}; do [ -S s ] && break; pause; done
for _ in 1 2 3 4 5; do ask --compressed http://x/f | md5sum; done
ask -o /dev/null -w '%{http_code}\n' http://x/nothing
kill -HUP $server
for _ in {1..500}; do has_two_workers && break; pause; done
for _ in 1 2 3 4 5; do ask http://x/f | md5sum; done
kill -QUIT $server
wait $server
echo "status $?"
grep -v -e open -e 'signal process' logs/error.log | sed 's/.*: //'
rm -rf logs conf html t? s pause
