#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# large.bats - large real programs with everything that is recorded by default print and exit as
# without us. Small test programs have few call paths and few locks: their records fit into the
# first chunks.

load helper

setup()
{
	unset HOTPATH_REPORT HOTPATH_PROFILE_DIR HOTPATH_TIMING
	export HOME=$BATS_TEST_TMPDIR/home
	mkdir -p "$HOME"
	cd "$BATS_TEST_TMPDIR" || return
}

# same NAME COMMAND... - what it prints and how it ends. Both runs start in an empty folder NAME.
same()
{
	local name=$1 status plain
	shift
	command -v "$1" >/dev/null || skip "no $1 here"
	mkdir "$name"
	plain=0
	(cd "$name" && "$@" <"$BATS_TEST_TMPDIR/input" >../plain.out 2>../plain.err) || plain=$?
	rm -rf "$name"
	mkdir "$name"
	status=0
	(
		cd "$name" || exit
		HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/report LD_PRELOAD=$HP_LIB \
			"$@" <"$BATS_TEST_TMPDIR/input" >../with.out 2>../with.err
	) || status=$?
	echo "$*: $plain without us, $status with us"
	[ "$status" = "$plain" ]
	cmp plain.out with.out
	sed -i '/^hotpath: the report takes longer than/d' with.err
	diff plain.err with.err
	[ -s plain.out ] # it did something
	eventually test -s "$BATS_TEST_TMPDIR/report"
}

@test "large: bash" {
	seq 3000 >input
	cat >script <<-'END'
		declare -A seen
		fib() { (($1 < 2)) && echo "$1" || echo $(($(fib $(($1 - 1))) + $(fib $(($1 - 2))))); }
		while read -r n; do
			seen[$((n % 97))]+="$n,"
			[[ $n =~ ^1(.*)7$ ]] && list+=("${BASH_REMATCH[1]:-none}")
			case $n in *99) printf '%s %q\n' "${n/9/x}" "${list[*]: -3}" ;; esac
		done
		for key in "${!seen[@]}"; do printf '%s=%.40s\n' "$key" "${seen[$key]}"; done | sort | cksum
		fib 8
		mapfile -t lines < <(printf '%s\n' {a..z}{0..9})
		trap 'echo "ends with ${#lines[@]}"' EXIT
		text=$(cat <<<"${lines[*]^^}")
		eval "function made { local x=\$1; echo \"\${x//[0-9]/}\"; }"
		made "$text" | fold -w 20 | tail -2
		exit 7
	END
	same bash bash "$BATS_TEST_TMPDIR/script"
}

@test "large: python3" {
	seq 2000 >input
	cat >script.py <<-'END'
		import collections, concurrent.futures, decimal, hashlib, json, re, subprocess, sys, threading

		numbers = [int(line) for line in sys.stdin]
		tree = {str(n): {"half": n // 2, "text": "x" * (n % 50), "list": list(range(n % 7))} for n in numbers}
		print(hashlib.sha256(json.dumps(json.loads(json.dumps(tree)), sort_keys=True).encode()).hexdigest())
		with concurrent.futures.ThreadPoolExecutor(8) as pool:
		    print(sum(pool.map(lambda n: len(re.findall(r"(\d)\1", str(n * n))), numbers)))
		done = collections.Counter()
		lock = threading.Condition()
		def count(name):
		    for _ in range(50):
		        with lock:
		            done[name % 3] += 1
		            lock.notify_all()
		threads = [threading.Thread(target=count, args=(n,)) for n in range(16)]
		[thread.start() for thread in threads]
		[thread.join() for thread in threads]
		print(sorted(done.items()), decimal.Decimal(2).sqrt())
		print(subprocess.run(["tr", "a-z", "A-Z"], input="child", capture_output=True, text=True).stdout)
		sys.exit(5)
	END
	same python python3 "$BATS_TEST_TMPDIR/script.py"
}

@test "large: node" {
	seq 2000 >input
	cat >script.js <<-'END'
		const { execFileSync } = require("child_process"), crypto = require("crypto"), fs = require("fs");
		const { Worker, isMainThread, parentPort } = require("worker_threads");
		if (!isMainThread) {
			let sum = 0;
			for (let i = 0; i < 200000; i++) sum = (sum * 31 + i) % 1000003;
			parentPort.postMessage(sum);
		} else {
			const lines = fs.readFileSync(0, "utf8").trim().split("\n").map(Number);
			const workers = [1, 2, 3].map(() => new Promise((done) => new Worker(__filename).on("message", done)));
			const hash = new Promise((done) => crypto.pbkdf2("a", "b", 2000, 32, "sha256", (e, key) => done(key.toString("hex"))));
			const map = new Map(lines.map((n) => [`k${n % 101}`, { n, s: String(n).repeat(3) }]));
			Promise.all([...workers, hash]).then((all) => {
				console.log(all.join(" "), JSON.stringify([...map].slice(0, 5)));
				console.log(execFileSync("echo", ["child"], { encoding: "utf8" }).trim());
				process.exitCode = 6;
			});
		}
	END
	same node node "$BATS_TEST_TMPDIR/script.js"
}

@test "large: perl" {
	seq 3000 >input
	cat >script.pl <<-'END'
		use strict; use warnings;
		my (%seen, @list);
		while (<STDIN>) { chomp; $seen{$_ % 89} .= "$_,"; push @list, $1 if /^(\d)\d*\1$/; }
		print join(" ", map { "$_=" . length $seen{$_} } sort { $a <=> $b } keys %seen), "\n", scalar @list, "\n";
		my $sub = eval 'sub { my $s = shift; $s =~ s/(\w+)/\u$1/g; $s }'; print $sub->("some words here"), "\n";
		my $pid = fork // die; if (!$pid) { print "child\n"; exit 3 } waitpid $pid, 0; print $? >> 8, "\n";
		print `printf %s from-a-shell`, "\n"; exit 9;
	END
	same perl perl "$BATS_TEST_TMPDIR/script.pl"
}

@test "large: git" {
	seq 50 >input
	cat >script.sh <<-'END'
		export GIT_AUTHOR_DATE='2001-01-01 00:00 +0000' GIT_COMMITTER_DATE='2001-01-01 00:00 +0000'
		export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
		git -c init.defaultBranch=main init -q . || exit
		while read -r n; do seq "$n" >"file$n"; done
		git add . && git commit -q -m first && git checkout -q -b other
		rm file1 && echo more >>file2 && git commit -q -a -m second && git gc -q
		git log --stat --format='%H %s' && git diff main --name-status && git grep -c 7 | tail -5
		git fsck && git nothing
	END
	same git sh "$BATS_TEST_TMPDIR/script.sh"
}

@test "large: gcc" {
	cat >input <<-'END'
		#include <math.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		static int by(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
		struct node { struct node *next; char text[20]; };
		int main(void)
		{
			int numbers[100];
			struct node *list = NULL;
			for (int i = 0; i < 100; i++) {
				struct node *node = malloc(sizeof(*node));
				numbers[i] = i * 7919 % 101;
				snprintf(node->text, sizeof(node->text), "%d", numbers[i]);
				node->next = list;
				list = node;
			}
			qsort(numbers, 100, sizeof(int), by);
			printf("%d %s %.3f\n", numbers[50], list->text, sqrt(numbers[99]));
			return 4;
		}
	END
	same gcc sh -c 'gcc -x c -O2 -g -Wall -o out - -lm && ./out'
}
