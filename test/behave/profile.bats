#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# profile.bats - the profile of a run for profiler.firefox.com: its contents, its destination, its
# reader.

load helper

setup_file()
{
	gcc -O2 -g -finstrument-functions -o "$T/choose" "$ROOT/test/examples/choose.c" -lpthread
	gcc -x c -O1 -o "$T/nothing" - <<<'int main(void) { return 0; }'
	HOTPATH_REPORT=functions-cpu,offcpu,alloc-sites,mutexes,functions-timing HOTPATH_LIMIT=0 \
		HOTPATH_PROFILE_DIR="$T/place" HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" \
		"$HP_RUN" "$T/choose" >/dev/null
}

# If samples are forbidden, the profile is missing; the report has the
# reason.
needs_samples()
{
	python3 -c "import json; c = json.load(open('$T/json'))['functions_cpu']; print(c.get('message', ''))" >"$T/why"
	[ ! -s "$T/why" ] || [ -n "$(ls "$T/place" 2>/dev/null)" ] || skip "$(cat "$T/why")"
	PROFILE=$(echo "$T"/place/*/hp.json.gz)
	REPORT=$T/json
}

# profile EXPRESSION - of the profile p and the report r.
profile()
{
	python3 - "$PROFILE" "$REPORT" "$1" <<-'END'
		import collections, gzip, json, sys
		p = json.loads(gzip.open(sys.argv[1]).read())
		r = json.load(open(sys.argv[2]))
		threads = {str(t["tid"]): t for t in p["threads"]}
		def cpu():
		    own = collections.Counter()
		    for t in p["threads"]:
		        for s, d in zip(t["samples"]["stack"], t["samples"]["threadCPUDelta"]):
		            own["all"] += d
		    return own["all"]
		def markers(kind):
		    return [(d, e - s) for t in p["threads"] for d, s, e in
		            zip(t["markers"]["data"], t["markers"]["startTime"], t["markers"]["endTime"])
		            if d["type"] == kind]
		def blocked():
		    return sum(sum(t["samples"]["weight"]) for t in p["threads"]
		               if t["samples"]["weightType"] == "tracing-ms")
		# The profile has ms; a sum of them is off by some 1e-13.
		def blocked_ns():
		    return round(blocked() * 1e6)
		def bytes_of(positive):
		    return sum(w for t in p["threads"] for w in t.get("nativeAllocations", {"weight": []})["weight"]
		               if (w > 0) == positive)
		print(eval(sys.argv[3]))
	END
}

@test "profile: complete, in a folder for its owner only" {
	needs_samples
	[ "$(stat -c %a "$PROFILE")" = 600 ]
	[ "$(stat -c %a "$(dirname "$PROFILE")")" = 700 ]
	[[ "$(basename "$(dirname "$PROFILE")")" =~ ^[0-9]+-[0-9]{19}$ ]]
	python3 "$ROOT/test/behave/check_profile.py" "$PROFILE" >/dev/null
	run "$HP_BUILD/hotpath" check "$PROFILE"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *": valid: version 49, "* ]]
	[ "$(profile "r['functions_cpu']['profile_path']")" = "$PROFILE" ]
}

@test "profile: its sums are the report's: CPU, waits, bytes" {
	needs_samples
	# Each sample is cut to whole µs.
	[ "$(profile "0 <= r['functions_cpu']['total_samples'] + r['functions_cpu'].get('profiler_ns', 0) // 1000 + 1 - cpu() <= r['functions_cpu']['sample_count'] + 2")" = True ]
	# Waits shorter than 20 µs have no event.
	profile "[sum(row['blocked_ns'] for row in r['offcpu']['raw']) / 1e6, blocked(), sum(row['waits'] for row in r['offcpu']['raw'])]"
	[ "$(profile "sum(row['blocked_ns'] - 20000 * row['waits'] for row in r['offcpu']['raw']) <= blocked_ns() <= sum(row['blocked_ns'] for row in r['offcpu']['raw'])")" = True ]
	[ "$(profile "bytes_of(True) == sum(row['total_bytes'] for row in r['alloc_sites']['raw'])")" = True ]
	[ "$(profile "bytes_of(True) + bytes_of(False) == sum(row['live_bytes'] for row in r['alloc_sites']['raw'])")" = True ]
}

@test "profile: a track of memory, as in the list of threads" {
	needs_samples
	HOTPATH_REPORT=functions-cpu,threads HOTPATH_THREADS_INTERVAL_MS=10 HOTPATH_PROFILE_DIR="$T/memory" \
		HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/memory.json" "$HP_RUN" "$T/choose" >/dev/null
	PROFILE=$(echo "$T"/memory/*/hp.json.gz)
	REPORT=$T/memory.json
	[ "$(profile "[(c['name'], c['category']) for c in p['counters']]")" = "[('RSS', 'Memory')]" ]
	profile "r['threads']['rss_timeline'][:5]"
	# How often the helper scans depends on the machine.
	[ "$(profile "len(r['threads']['rss_timeline']) >= 2")" = True ]
	[ "$(profile "p['counters'][0]['samples']['length'] == len(r['threads']['rss_timeline'])")" = True ]
	[ "$(profile "sum(p['counters'][0]['samples']['count']) == r['threads']['rss_timeline'][-1][1]")" = True ]
	# At the end the program is larger than 1 MB, and never larger than its peak (the kernel
	# counts in steps).
	[ "$(profile "r['threads']['rss_timeline'][-1][1] > 1 << 20")" = True ]
	[ "$(profile "all(size <= 1.1 * r['summary']['peak_rss_bytes'] for ns, size in r['threads']['rss_timeline'])")" = True ]
	[ "$(profile "all(a[0] < b[0] for a, b in zip(r['threads']['rss_timeline'], r['threads']['rss_timeline'][1:]))")" = True ]
}

@test "profile: markers show long calls, and waits for a lock with its holder" {
	needs_samples
	[ "$(profile "any(d['function'] == 'compute' for d, ms in markers('Call'))")" = True ]
	[ "$(profile "max(ms for d, ms in markers('Call') if d['function'] == 'wait_a_bit') >= 8")" = True ]
	# There are as many waits as in the table; the lock's wait has its name, the waiting
	# function, and the holder.
	[ "$(profile "len(markers('LockWait')) > 0")" = True ]
	profile "markers('LockWait')"
	[ "$(profile "all('wait_for_lock' in d['at'] and d['waits'] >= 1 for d, ms in markers('LockWait') if d['lock'] == 'lock' and 'hold' in d['holder'])")" = True ]
	[ "$(profile "{d['on'] for d, ms in markers('Wait')} >= {'sleep', 'lock', 'pipe'} or not r['functions_cpu']['has_kernel']")" = True ]
}

@test "profile: the command that opens it is below the table" {
	needs_samples
	HOTPATH_REPORT=functions-cpu HOTPATH_PROFILE_DIR="$T/other" "$HP_RUN" "$T/choose" 2>"$T/table" >/dev/null
	grep -q "^[a-z]* load $T/other/[0-9-]*/hp.json.gz$" "$T/table"
	[ -s "$(sed -n 's/^[a-z]* load //p' "$T/table")" ]
}

@test "profile: none is written unless requested, and an impossible folder is reported" {
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/unasked" "$HP_RUN" "$T/choose" >/dev/null
	# Clients of the crate need the key.
	jq -e '[.. | .profile_path? // empty] | all(. == "")' "$T/unasked"
	needs_samples
	HOTPATH_REPORT=functions-cpu HOTPATH_PROFILE_DIR=/proc/none "$HP_RUN" "$T/choose" 2>"$T/table" >/dev/null
	grep -q "^\[hotpath\] the profile is not written: /proc/none: .*; HOTPATH_PROFILE_DIR names another folder" "$T/table"
	run -1 grep "^[a-z]* load" "$T/table"
}

# damaged NAME PYTHON - a copy of the profile that PYTHON changes (p), then checked.
damaged()
{
	python3 - "$PROFILE" "$T/$1.json" "$2" <<-'END'
		import gzip, json, sys
		p = json.loads(gzip.open(sys.argv[1]).read())
		t = p["threads"][0]
		exec(sys.argv[3])
		json.dump(p, open(sys.argv[2], "w"))
	END
	run "$HP_BUILD/hotpath" check "$T/$1.json"
	echo "$output"
	[ "$status" -eq 1 ]
}

@test "profile: check finds errors that viewers ignore" {
	needs_samples
	damaged stack 't["samples"]["stack"][0] = 10**6'
	[[ "$output" == *"samples.stack[0] is not below "* ]]
	damaged prefix 't["stackTable"]["prefix"][1] = 1'
	[[ "$output" == *"stackTable.prefix[1] is not before it"* ]]
	damaged length 't["frameTable"]["line"].pop()'
	[[ "$output" == *"frameTable.line has "*" entries, but the table has "* ]]
	damaged time 't["samples"]["time"].reverse()'
	[[ "$output" == *"samples.time is not in time order"* ]]
	damaged schema 'p["meta"]["markerSchema"] = []'
	[[ "$output" == *"which has no schema"* ]]
	damaged version 'p["meta"]["preprocessedProfileVersion"] = 12'
	[[ "$output" == *"has version 12; this command knows version 49"* ]]
	damaged id 'p["libs"][0]["breakpadId"] = "12"'
	[[ "$output" == *"must be 33 hex digits: 12"* ]]
	head -c 300 "$PROFILE" >"$T/cut.json.gz"
	run "$HP_BUILD/hotpath" check "$T/cut.json.gz"
	[ "$status" -eq 1 ]
	[[ "$output" == *"cannot unpack: damaged or truncated"* ]]
	run "$HP_BUILD/hotpath" check "$T/none.json.gz"
	[ "$status" -eq 1 ]
	[[ "$output" == *"none.json.gz: No such file or directory"* ]]
}

# The reader of the Firefox Profiler itself, without the browser.
@test "profile: the Firefox Profiler's own code reads the report's numbers from it" {
	only_in_full
	needs_samples
	command -v npm >/dev/null || skip "no npm here"
	mkdir -p "$HP_BUILD/npm"
	npm install --prefix "$HP_BUILD/npm" --ignore-scripts --no-audit --no-fund \
		@firefox-devtools/profiler-cli@0.10.0 >"$T/npm.log" 2>&1 || skip "no package: $(tail -n 1 "$T/npm.log")"
	export PROFILER_CLI_SESSION_DIR=$T/sessions
	pq() { node "$HP_BUILD/npm/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js" "$@"; }
	for try in 1 2 3; do pq load "$PROFILE" --session t && break; done
	pq thread samples --session t --json >"$T/samples.json"
	pq thread markers --session t --json >"$T/markers.json"
	pq strategy native-retained-allocations --session t
	pq thread samples --session t --json >"$T/retained.json"
	pq stop --all
	grep -q compute "$T/samples.json"
	grep -q "Lock wait" "$T/markers.json"
	python3 - "$T" "$T/json" "$PROFILE" <<-'END'
		import collections, gzip, json, sys
		r = json.load(open(sys.argv[2]))
		text = open(sys.argv[1] + "/samples.json").read()
		want = {row["name"]: row["inclusive_samples"] for row in r["functions_cpu"]["raw"]}
		got = {}
		def walk(x):
		    if isinstance(x, dict):
		        name = x.get("name", "")
		        if "totalSamples" in x:
		            got.setdefault(name.split("!")[-1], x["totalSamples"])
		        for y in x.values(): walk(y)
		    elif isinstance(x, list):
		        for y in x: walk(y)
		walk(json.loads(text))
		# The report counts samples in the profiler's own code for no function of the program. The
		# kernel may have interrupted that code.
		profile = json.load(gzip.open(sys.argv[3]))
		kernel = [c["name"] for c in profile["meta"]["categories"]].index("Kernel")
		thread = profile["threads"][0]
		own = collections.Counter()
		for stack in thread["samples"]["stack"]:
		    names = []
		    while stack is not None:
		        frame = thread["stackTable"]["frame"][stack]
		        if names or thread["frameTable"]["category"][frame] != kernel:
		            func = thread["frameTable"]["func"][frame]
		            names.append(thread["stringArray"][thread["funcTable"]["name"][func]])
		        stack = thread["stackTable"]["prefix"][stack]
		    if names and (names[0] == "[hotpath]" or names[0].startswith("__cyg_profile_func_")):
		        own.update(set(names))
		print(want, got, own)
		for name in ("compute", "allocate"):
		    assert got[name] == want[name] + own[name], name
		live = sum(row["live_bytes"] for row in r["alloc_sites"]["raw"])
		retained = json.dumps(json.load(open(sys.argv[1] + "/retained.json")))
		assert str(live) in retained, live
	END
}

@test "profile: waits for locks for pprof, by the path that waited" {
	HOTPATH_REPORT=waits,mutexes HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/waits" HOTPATH_LIMIT=0 \
		"$HP_RUN" "$T/choose" >/dev/null
	"$HP_BUILD/hotpath" report --export pprof-mutex -o "$T/mutex.pb.gz"
	gzip -t "$T/mutex.pb.gz"
	"$HP_RUN" "$T/nothing" 2>/dev/null
	run "$HP_BUILD/hotpath" report --export pprof-mutex
	[ "$status" -eq 1 ]
	[[ "$output" == *"nothing to export: no thread waited for a lock"* ]]
	command -v go >/dev/null || skip "no go here; the file is whole as far as gzip says"
	go tool pprof -raw "$T/mutex.pb.gz" >"$T/raw" 2>/dev/null
	grep -q "contentions/count delay/nanoseconds" "$T/raw"
	grep -q "lock:\[lock\]" "$T/raw"
	python3 - "$T/raw" "$T/waits" <<-'END'
		import json, re, sys
		got = [tuple(map(int, m.groups())) for m in re.finditer(r"^ +(\d+) +(\d+): \d", open(sys.argv[1]).read(), re.M)]
		want = json.load(open(sys.argv[2]))["waits"]["raw"]
		print(got, want)
		assert sum(n for n, ns in got) == sum(row["count"] for row in want)
		assert abs(sum(ns for n, ns in got) - sum(row["total_ns"] for row in want)) <= len(got)
	END
	go tool pprof -top -sample_index=delay "$T/mutex.pb.gz" 2>/dev/null | grep -q " wait_for_lock$"
}

@test "profile: a program that only waited has one, too" {
	needs_samples
	HOTPATH_SEGMENT_PATH="$T/waited" HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/waited.json" \
		HOTPATH_REPORT=offcpu LD_PRELOAD=$HP_LIB sleep 0.5
	[ "$(jq '.offcpu.raw | length > 0' "$T/waited.json")" = true ] || skip "no wait was seen here"
	"$HP_BUILD/hotpath" report "$T/waited" --export firefox -o "$T/waited.gz"
	"$HP_BUILD/hotpath" check "$T/waited.gz"
	[ "$(PROFILE=$T/waited.gz profile 'blocked() > 0')" = True ]
}
