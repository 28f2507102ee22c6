# SPDX-License-Identifier: MIT
# libuv.sh - libuv's own tests, each by itself: how it ends. `libuv.sh build` makes them, from Debian's source, where
# they are run from afterwards; without network they are not there, and the case is skipped.
place=$TOOLS/libuv
if [ "$1" = build ]; then
	[ ! -x "$place/uv_run_tests" ] || exit 0
	source=$("${0%/*}/../../../scripts/fetch-source" libuv1 "$2") || exit
	mkdir -p "$place" && cd "$place" && cmake "$source" -DCMAKE_BUILD_TYPE=RelWithDebInfo >log 2>&1 &&
		make -j2 uv_run_tests >>log 2>&1
	exit
fi
# They refuse to run as root.
user=
[ "$(id -u)" != 0 ] || { user="setpriv --reuid 65534 --regid 65534 --clear-groups" && chmod 777 .; }
# Results that depend on the machine's load, or on names and routes of its network, vary.
$user "$place/uv_run_tests" --list | grep -vE \
	'getaddrinfo|getnameinfo|hrtime|loop_update_time|timer_run_|metrics_idle|udp_multicast|ipv6|eaddrnotavail|connect_timeout|fs_event' |
while read -r name; do
	timeout -k 5 60 $user "$place/uv_run_tests" "$name" >out 2>&1 </dev/null
	echo "$name $?"
	rm -rf ./* 2>/dev/null
done
