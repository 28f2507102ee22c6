#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# web.bats - the web page: the server's answers, a saved page's contents, and both in a browser.

load helper

# A name that becomes an element of the page unless it is escaped.
EVIL='</script><b id=evil>'

setup_file()
{
	compile shop <<'END_OF_C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;
static int orders[2];
static volatile long sink;
__attribute__((noinline)) void evil(void) { for (int i = 0; i < 20000; i++) sink += i; }
__attribute__((noinline)) void *keep(size_t size) { return memset(malloc(size), 1, size); }
__attribute__((noinline)) void sell(void)
{
	pthread_mutex_lock(&stock);
	evil();
	usleep(2000);
	pthread_mutex_unlock(&stock);
	free(keep(100));
	sink += (long)keep(10);
	if (write(orders[1], "<i id=evil>order</i>", 20) != 20) exit(1);
}
static void *work(void *name)
{
	prctl(PR_SET_NAME, name);
	for (;;) sell();
}
static void *ship(void *unused)
{
	char order[20];
	while (read(orders[0], order, 20) == 20) sink++;
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	if (pipe(orders)) return 1;
	pthread_create(&thread, NULL, ship, NULL);
	if (argc > 1) {	/* a short run, for a file */
		for (int i = 0; i < 20; i++) sell();
		close(orders[1]);
		pthread_join(thread, NULL);
		return 0;
	}
	pthread_create(&thread, NULL, work, "<b id=evil>1");
	pthread_create(&thread, NULL, work, "clerk");
	sell();
	puts("up");
	fflush(stdout);
	(void)argv;
	work("main");
}
END_OF_C
	objcopy --redefine-sym "evil=$EVIL" "$T/shop"
	LD_PRELOAD=$HP_LIB HOTPATH_METRICS_PORT=0 HOTPATH_PROMETHEUS_PORT=0 HOTPATH_MCP_PORT=0 \
		"$T/shop" >"$T/shop.out" 2>/dev/null 3>&- &
	echo $! >"$T/shop.pid"
	eventually grep up "$T/shop.out"
	serve "$(cat "$T/shop.pid")" >"$T/url"
}

teardown_file()
{
	pids_end
}

setup()
{
	url=$(cat "$T/url")
}

# saved - the page of a finished run, written once.
saved()
{
	[ -s "$T/saved.html" ] && return
	HOTPATH_OUTPUT_FORMAT=none "$HP_RUN" "$T/shop" short
	"$HP_BUILD/hotpath" report --html -o "$T/saved.html"
}

# in_browser NAME ADDRESS - runs test/behave/web.py there.
in_browser()
{
	command -v chromium >/dev/null || skip "no chromium here; make test-all installs it"
	timeout 400 python3 "$ROOT/test/behave/web.py" "$BATS_TEST_TMPDIR/profile" "$@"
}

@test "web: the page and its files come with a policy that lets nothing else run" {
	curl -s -m 20 -D "$T/head" "$url" >"$T/page"
	grep -qi "^content-type: text/html" "$T/head"
	grep -i "^content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'" "$T/head"
	grep -qi "frame-ancestors 'none'" "$T/head"
	run -1 grep -i "unsafe" "$T/head"
	# Nothing in it that would need an exception.
	run -1 grep -E "<style|<script>| on[a-z]+=| style=" "$T/page"
	grep -oE '(src|href)="page/[^"]*"' "$T/page" | cut -d '"' -f 2 >"$T/files"
	[ "$(wc -l <"$T/files")" -ge 8 ]
	while read -r file; do
		[ "$(curl -s -m 20 -o "$T/file" -w '%{http_code}' "$url$file")" = 200 ]
		cmp "$T/file" "$ROOT/report/view/web/${file#page/}"
	done <"$T/files"
	[ "$(curl -s -m 20 -X POST -d x -o /dev/null -w '%{http_code}' "$url")" = 405 ]
	[ "$(curl -s -m 20 -H "Origin: http://evil.example" -o /dev/null -w '%{http_code}' "$url")" = 403 ]
	[ "$(curl -s -m 20 -H "Host: evil.example" -o /dev/null -w '%{http_code}' "$url")" = 403 ]
}

@test "web: its sources create no elements from text" {
	run -1 grep -nE "innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function" "$ROOT"/report/view/web/*.js
	run -1 grep -nP "https?://(?!www[.]w3[.]org/2000/svg)" "$ROOT"/report/view/web/*.js "$ROOT"/report/view/web/*.css
	# In a saved page, nothing in them closes the element that contains them.
	run -1 grep -nE "</(script|style)" "$ROOT"/report/view/web/*.js "$ROOT"/report/view/web/*.css
}

@test "web: with a token the page is open, but no figure without it" {
	url=$(serve "$(cat "$T/shop.pid")" HOTPATH_METRICS_AUTH_TOKEN=s3cret)
	[ "$(curl -s -m 20 -o /dev/null -w '%{http_code}' "$url")" = 200 ]
	[ "$(curl -s -m 20 -o /dev/null -w '%{http_code}' "${url}page/base.js")" = 200 ]
	for path in overview flame functions_timing page/nothing report; do
		[ "$(curl -s -m 20 -o /dev/null -w '%{http_code}' "$url$path")" = 401 ]
	done
	in_browser token "$url"
}

@test "web: a saved page contains its data and sends no request" {
	saved
	python3 "$ROOT/test/behave/check_web.py" "$T/saved.html" "$EVIL"
	# For a running program, too, and from its server.
	"$HP_BUILD/hotpath" report --html --session "$(cat "$T/shop.pid")" -o "$T/now.html"
	python3 "$ROOT/test/behave/check_web.py" "$T/now.html" "$EVIL"
	# The server finds names in the background: they may appear later.
	served_is_whole()
	{
		curl -s -m 60 "${url}report.html" >"$T/served.html"
		python3 "$ROOT/test/behave/check_web.py" "$T/served.html" "$EVIL"
	}
	eventually served_is_whole || served_is_whole
	# Nowhere to write it.
	run "$HP_BUILD/hotpath" report --html -o "$T/saved.html/x"
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 1 ]
	[[ $output == *"saved.html/x: Not a directory; name another file with -o" ]]
}

@test "web: functions, live, in a browser" {
	in_browser functions "$url"
}

@test "web: every view, live, in a browser" {
	in_browser views "$url"
}

@test "web: the flame graph refreshes, and a zoom stays" {
	in_browser flame "$url"
}

@test "web: an ended program and a lost server are reported" {
	command -v chromium >/dev/null || skip "no chromium here; make test-all installs it"
	LD_PRELOAD=$HP_LIB HOTPATH_METRICS_SERVER_OFF=1 HOTPATH_CPU=off "$T/shop" >"$T/brief.out" 2>/dev/null 3>&- &
	echo $! >"$T/brief.pid"
	eventually grep up "$T/brief.out"
	url=$(serve "$(cat "$T/brief.pid")")
	in_browser ended "$url" "$(cat "$T/brief.pid")"
	url=$(serve "$(cat "$T/shop.pid")")
	in_browser silent "$url" "$(cat "$(ls -t "$T"/serve.*.pid | head -n 1)")"
}

@test "web: a saved page opens from disk" {
	saved
	in_browser saved "file://$T/saved.html"
}

@test "web: sizes and lives of blocks, of the program and of a call path" {
	gcc -g -O1 -o "$T/drawn" "$ROOT/test/behave/programs/alloc_sampled.c"
	HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH=$T/drawn.seg "$HP_RUN" "$T/drawn"
	"$HP_BUILD/hotpath" report --html -o "$T/drawn.html" "$T/drawn.seg"
	in_browser blocks "file://$T/drawn.html"
}

@test "web: long names stay distinguishable, at any width" {
	LANGUAGE=c++ CC=g++ compile names -fno-instrument-functions <<'END'
#include <map>
#include <memory>
#include <string>
#include <vector>
namespace {
template <class Key, class Value> struct Store {
	std::map<Key, std::shared_ptr<std::vector<Value>>> rows;
	__attribute__((noinline)) void put(const Key &key) { rows[key] = std::make_shared<std::vector<Value>>(100); }
	__attribute__((noinline)) std::vector<Value> get(const Key &key) { return *rows[key]; }
};
}
int main()
{
	Store<std::string, std::pair<std::string, long>> store;
	for (int i = 0; i < 50; i++) {
		store.put("a key that is long enough to be allocated " + std::to_string(i));
		store.get("a key that is long enough to be allocated " + std::to_string(i));
	}
	return 0;
}
END
	HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH=$T/names.seg "$HP_RUN" "$T/names"
	"$HP_BUILD/hotpath" report --html -o "$T/names.html" "$T/names.seg"
	in_browser names "file://$T/names.html"
}
