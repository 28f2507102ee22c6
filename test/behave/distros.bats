#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# distros.bats - programs compiled as other distributions compile theirs: exact counts, names, the same output.

load helper

# Defaults of Ubuntu 24.04 (dpkg-buildflags) and Fedora 40 (redhat-rpm-config), as far as this compiler has them.
fortified="-O2 -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection -fcf-protection
	-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fPIE -pie -Wl,-z,relro,-z,now -Wp,-D_GLIBCXX_ASSERTIONS"
ubuntu="-flto=auto -ffat-lto-objects -Wl,-Bsymbolic-functions"
fedora="-Wl,-z,pack-relative-relocs -Wl,--build-id=sha1 -Wl,--as-needed -gdwarf-5 -gz"

program()
{
	cat <<-'EOF'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/select.h>
		#include <unistd.h>
		static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
		static const char *const words[] = { "one", "two", "three" };	/* relocations */
		static const char *const *volatile some = words;
		__attribute__((noinline)) static int step(int i)
		{
			char text[16], *copy;
			pthread_mutex_lock(&mutex);
			snprintf(text, sizeof(text), "%s", some[i % 3]);
			copy = strdup(text);
			int length = (int)strlen(copy);
			free(copy);
			pthread_mutex_unlock(&mutex);
			return length;
		}
		static void *run(void *argument)
		{
			long sum = 0;
			for (int i = 0; i < 3000; i++)
				sum += step(i);
			return (void *)sum;
		}
		int main(void)
		{
			pthread_t thread;
			void *sum;
			int ends[2];
			char buffer[8];
			fd_set set;
			FD_ZERO(&set);
			if (pipe(ends) || write(ends[1], "abc", 3) != 3)
				return 1;
			FD_SET(ends[0], &set);
			if (select(ends[0] + 1, &set, NULL, NULL, NULL) != 1 ||
			    read(ends[0], buffer, sizeof(buffer)) != 3)
				return 1;
			pthread_create(&thread, NULL, run, NULL);
			pthread_join(thread, &sum);
			printf("%ld %.3s\n", (long)sum + (long)run(NULL), buffer);
			return 6;
		}
	EOF
}

# is_right NAME FLAGS... - compiles it with FLAGS, and checks its behaviour and the report.
is_right()
{
	local name=$1
	shift
	# shellcheck disable=SC2086
	program | compile "$name" $fortified "$@" || skip "this compiler has not all of it: $*"
	rm -f "$T/report"
	run env HOTPATH_REPORT=functions-timing,alloc,mutexes,channels HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/report" "$HP_RUN" "$T/$name"
	echo "$output"
	[ "$status" = 6 ]
	[ "$output" = "22000 abc" ]
	report_comes "$T/report"
	counts_in "$T/report" | tee "$T/counts"
	grep -qx "run 2" "$T/counts"
	grep -q "^step.* 6000$" "$T/counts"
	python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
assert report["functions_alloc"]["allocated_count"] >= 6000, report["functions_alloc"]
assert any(row["count"] == 6000 for row in report["mutexes"]["raw"]), report["mutexes"]
' "$T/report"
}

@test "distributions: a program as Ubuntu compiles it" {
	# shellcheck disable=SC2086
	is_right ubuntu $ubuntu
}

@test "distributions: a program as Fedora compiles it, with packed relocations" {
	# shellcheck disable=SC2086
	is_right fedora $fedora
	readelf -dW "$T/fedora" | grep -q RELR
}

@test "distributions: a program marked for shadow stacks" {
	is_right marked -Wl,-z,shstk -Wl,-z,ibt
	readelf -nW "$T/marked" | grep -q SHSTK
}

# Bytes of writable private mappings, untouched pages included, that the kernel would write into a
# pipe.
@test "distributions: a core dump through a pipe is not much larger" {
	cat >"$T/dumped.py" <<-'EOF'
		import re
		total = size = 0
		for line in open("/proc/self/smaps"):
		    if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) (....) ", line):
		        size = int(found[2], 16) - int(found[1], 16) if found[3][1] == "w" else 0
		    elif line.startswith("VmFlags:") and "dd" not in line.split():
		        total += size
		print(total >> 10)
	EOF
	local without with
	without=$(/usr/bin/python3 "$T/dumped.py")
	with=$(LD_PRELOAD=$HP_LIB HOTPATH_OUTPUT_FORMAT=none HOTPATH_REPORT=all /usr/bin/python3 "$T/dumped.py")
	echo "without $without KiB, with $with KiB"
	[ "$with" -lt $((without + 4096)) ]
}
