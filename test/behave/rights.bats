#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rights.bats - files and folders of ours are their user's alone, whatever the umask; files that other users,
# or the program itself, put in the place of one that we open (links, pipes, folders) are neither followed nor
# waited for.

load helper

setup_file()
{
	compile app <<<'void leaf(void) { } int main(void) { for (int i = 0; i < 10; i++) leaf(); return 0; }'
	# Runs code that it generates, named in /tmp/perf-PID.map; the argument is that
	# file.
	compile made -fno-instrument-functions <<-'EOF'
		#include <fcntl.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <sys/stat.h>
		#include <time.h>
		#include <unistd.h>
		/* Adds 1 to the word as often as told, then returns. */
		#if defined(__x86_64__)
		static const unsigned char code[] = { 0x48, 0xff, 0x07, 0x48, 0xff, 0xce, 0x75, 0xf8, 0xc3 };
		#else
		static const unsigned char code[] = { 0x02, 0x00, 0x40, 0xf9, 0x42, 0x04, 0x00, 0x91, 0x02, 0x00, 0x00, 0xf9,
			0x21, 0x04, 0x00, 0xf1, 0x81, 0xff, 0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6 };
		#endif
		int main(int argc, char **argv)
		{
			unsigned char *page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE | PROT_EXEC,
						   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			struct timespec t = { 0, 0 };
			char name[64], real[4096];
			unsigned long word = 0;
			if (argc < 3 || page == MAP_FAILED)
				return 1;
			memcpy(page + 64, code, sizeof(code));
			__builtin___clear_cache((char *)page, (char *)page + 4096);
			snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
			snprintf(real, sizeof(real), "%s/map", argv[2]);
			unlink(name);
			if (strcmp(argv[1], "pipe") == 0) {
				if (mkfifo(name, 0600) != 0)
					return 1;
			} else {
				FILE *map = fopen(strcmp(argv[1], "link") == 0 ? real : name, "w");
				fprintf(map, "%lx 40 made_here\n", (unsigned long)page + 64);
				fclose(map);
			}
			if (strcmp(argv[1], "link") == 0 && symlink(real, name) != 0)
				return 1;
			if (strcmp(argv[1], "foreign") == 0 && chown(name, 12345, 12345) != 0)
				return 1;
			while (t.tv_sec == 0 && t.tv_nsec < 300000000) {
				((void (*)(unsigned long *, unsigned long))(page + 64))(&word, 100000);
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
			}
			puts(name);
			return 0;
		}
	EOF
	# Opens a library, puts a pipe where it was, and works in it; with names for its parts after the end.
	compile plugin.so -shared -fPIC <<-'EOF'
		#include <time.h>
		__attribute__((noinline)) void plugged(void) { for (volatile int i = 0; i < 10000; i++) ; }
		void work(void)
		{
			struct timespec t = { 0, 0 };
			while (t.tv_sec == 0 && t.tv_nsec < 300000000) {
				plugged();
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
			}
		}
	EOF
	compile opener -ldl <<-'EOF'
		#include <dlfcn.h>
		#include <stdlib.h>
		#include <sys/stat.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			void *library = dlopen(argv[argc - 1], RTLD_NOW);
			if (!library || unlink(argv[argc - 1]) != 0 || mkfifo(argv[argc - 1], 0600) != 0)
				return 1;
			((void (*)(void))dlsym(library, "work"))();
			return 0;
		}
	EOF
}

setup()
{
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
}

# Rights and name of everything below a folder.
rights()
{
	find "$1" -mindepth 1 -printf '%m %y %P\n' | sort
}

@test "rights: our files are private to their user, whatever the umask" {
	mkdir "$BATS_TEST_TMPDIR/here" "$BATS_TEST_TMPDIR/profiles"
	(
		umask 000
		HOTPATH_SEGMENT_PATH=$BATS_TEST_TMPDIR/here/segment HOTPATH_OUTPUT_FORMAT=none \
			HOTPATH_PROFILE_DIR=$BATS_TEST_TMPDIR/profiles HOTPATH_REPORT=all,functions-cpu "$HP_RUN" "$T/made" plain \
			"$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/map"
	)
	rm -f "$(cat "$BATS_TEST_TMPDIR/map")"
	rights "$XDG_STATE_HOME"
	[ "$(stat -c %a "$XDG_STATE_HOME" "$XDG_STATE_HOME/hotpath" | sort -u)" = 700 ]
	[ "$(stat -c %a "$XDG_STATE_HOME"/hotpath/*)" = 600 ]
	[ "$(stat -c %a "$BATS_TEST_TMPDIR/here/segment")" = 600 ]
	rights "$BATS_TEST_TMPDIR/profiles"
	[ -z "$(rights "$BATS_TEST_TMPDIR/profiles" | grep -v -E '^(700 d|600 f) ')" ]
}

# with_map KIND - a program whose map of names has that kind; the report's text is in $T/said.
with_map()
{
	local map
	map=$(HOTPATH_REPORT=cpu HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/said HOTPATH_LIMIT=0 timeout 120 "$HP_RUN" "$T/made" "$1" \
		"$BATS_TEST_TMPDIR")
	rm -f "$map"
	# Read from the kept run, it says the same.
	HOTPATH_REPORT=cpu HOTPATH_LIMIT=0 "$HP_BUILD/hotpath" report >"$BATS_TEST_TMPDIR/again"
	cat "$BATS_TEST_TMPDIR/said"
	grep -Eq '\(.*[0-9] samples?' "$BATS_TEST_TMPDIR/said" || skip "no CPU samples here"
	[ "$(grep -c 'names are missing' "$BATS_TEST_TMPDIR/said")" = "$(grep -c 'names are missing' "$BATS_TEST_TMPDIR/again")" ]
}

# refused_map KIND REASON
refused_map()
{
	with_map "$1"
	grep -q "^note  *.*perf-.*map $2.*: names are missing" "$BATS_TEST_TMPDIR/said"
	! grep -q made_here "$BATS_TEST_TMPDIR/said" "$BATS_TEST_TMPDIR/again"
}

@test "rights: names of JIT code: a file of the user's" {
	with_map plain
	grep -q made_here "$BATS_TEST_TMPDIR/said"
	! grep -q 'names are missing' "$BATS_TEST_TMPDIR/said"
}

@test "rights: names of JIT code: not through a link, with a message" {
	refused_map link "is a link"
}

@test "rights: names of JIT code: not from a pipe, and without waiting for it" {
	refused_map pipe "is not a file"
}

@test "rights: names of JIT code: not of another user, with a message" {
	[ "$(id -u)" = 0 ] || skip "needs to be root"
	refused_map foreign "belongs to another user"
}

@test "rights: a pipe in place of a mapped library is not waited for" {
	cp "$T/plugin.so" "$BATS_TEST_TMPDIR/plugin.so"
	HOTPATH_REPORT=all HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/said timeout 120 "$HP_RUN" "$T/opener" "$BATS_TEST_TMPDIR/plugin.so"
	cat "$BATS_TEST_TMPDIR/said"
	grep -q "note .*plugin.so cannot be read: names are missing" "$BATS_TEST_TMPDIR/said"
}

@test "rights: a pipe, or an endless device, in place of a source file" {
	mkfifo "$BATS_TEST_TMPDIR/source"
	for source in "$BATS_TEST_TMPDIR/source" /dev/zero; do
		compile lines <<-EOF
			#include <time.h>
			# 1 "$source"
			__attribute__((noinline)) void burn(void)
			{
				struct timespec t = { 0, 0 };
				while (t.tv_sec == 0 && t.tv_nsec < 200000000) {
					for (volatile int i = 0; i < 10000; i++) ;
					clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
				}
			}
			int main(void) { burn(); return 0; }
		EOF
		HOTPATH_OUTPUT_FORMAT=none "$HP_RUN" "$T/lines"
		timeout 60 "$HP_BUILD/hotpath" report --annotate=burn >"$BATS_TEST_TMPDIR/said" 2>&1 || [ $? = 1 ]
		cat "$BATS_TEST_TMPDIR/said"
		if grep -q 'no samples' "$BATS_TEST_TMPDIR/said"; then
			skip "no CPU samples here"
		fi
		grep -q "$source: .*without their text" "$BATS_TEST_TMPDIR/said"
	done
}

# told_and_run PATH - the program ends normally, and a line explains the missing segment.
told_and_run()
{
	timeout 60 env HOTPATH_SEGMENT_PATH="$1" HOTPATH_OUTPUT_FORMAT=none HOTPATH_KEEP=0 LD_PRELOAD="$HP_LIB" "$T/app" \
		2>"$BATS_TEST_TMPDIR/err"
	cat "$BATS_TEST_TMPDIR/err"
	[ "$(grep -c 'HOTPATH_SEGMENT_PATH' "$BATS_TEST_TMPDIR/err")" = 1 ]
}

@test "rights: HOTPATH_SEGMENT_PATH replaces only a segment, and only its name" {
	cd "$BATS_TEST_TMPDIR"
	echo precious >precious
	ln -s precious link
	ln precious hard
	mkfifo pipe
	mkdir folder
	for name in link hard pipe folder /dev/null; do
		told_and_run "$name"
	done
	[ "$(cat precious)" = precious ]
	[ -L link ]
	[ -p pipe ]
	[ -d folder ]
	[ -c /dev/null ]
	# Links to replaceable files: the name goes, its file stays as it was.
	HOTPATH_SEGMENT_PATH=old HOTPATH_OUTPUT_FORMAT=none HOTPATH_KEEP=0 "$HP_RUN" "$T/app"
	eventually helpers_are_gone	# the writer, the exit status
	cp old copy
	ln -s old to_old
	ln old same
	for name in to_old same; do
		HOTPATH_SEGMENT_PATH=$name HOTPATH_OUTPUT_FORMAT=none HOTPATH_KEEP=0 "$HP_RUN" "$T/app"
		[ -f $name ]
		[ ! -L $name ]
		[ "$(stat -c %h $name)" = 1 ]
	done
	cmp old copy
}

@test "rights: a report goes where its user wants: through a link, into a pipe; a folder is an error" {
	cd "$BATS_TEST_TMPDIR"
	HOTPATH_OUTPUT_FORMAT=none "$HP_RUN" "$T/app"
	echo old >target
	ln -s target link
	mkfifo pipe
	mkdir folder
	"$HP_BUILD/hotpath" report -o link
	[ -L link ]
	grep -q leaf target
	timeout 60 cat pipe >through &
	timeout 60 "$HP_BUILD/hotpath" report -o pipe
	wait $!
	grep -q leaf through
	run "$HP_BUILD/hotpath" report -o folder
	echo "$output"
	[[ $output == *"folder: Is a directory"* ]]
	HOTPATH_OUTPUT_PATH=folder run "$HP_RUN" "$T/app"
	[ "$status" = 0 ]
	[[ $output == *"folder: Is a directory"*leaf* ]]
}

@test "rights: a report of something that is not a run fails at once, with a message" {
	cd "$BATS_TEST_TMPDIR"
	mkdir folder
	for name in ./folder /dev/null; do
		run timeout 60 "$HP_BUILD/hotpath" report "$name"
		echo "$output"
		[ "$status" = 1 ]
		[ "${#lines[@]}" = 1 ]
		[[ $output == *"$name"* ]]
	done
}

@test "rights: a folder of profiles in /tmp that is a link is not used" {
	unshare -rm true 2>/dev/null || skip "no mount namespaces here"
	mkdir -p "$BATS_TEST_TMPDIR/tmp" "$BATS_TEST_TMPDIR/elsewhere"
	cp "$T/made" "$BATS_TEST_TMPDIR/tmp"
	place=$(sed -n 's/^#define USUAL *"\(.*\)"$/\1/p' "$ROOT/report/export/profile_place.c")
	[ "${place%/*}" = /tmp ]
	mkdir "$BATS_TEST_TMPDIR/tmp/elsewhere"
	ln -s /tmp/elsewhere "$BATS_TEST_TMPDIR$place"
	# The build may lie below /tmp, too.
	run unshare -rm sh -c "mount --bind '$HP_BUILD' /mnt && mount --bind '$BATS_TEST_TMPDIR/tmp' /tmp && unset HOTPATH_PROFILE_DIR &&
		XDG_STATE_HOME=/tmp/state HOTPATH_REPORT=functions-cpu timeout 120 /mnt/hotpath-run /tmp/made plain /tmp; ls -A /tmp/elsewhere | wc -l"
	echo "$output"
	[[ $output == *"$place"* ]]
	[ "${lines[-1]}" = 0 ]
}

# A kept file may come from anybody: its texts must not contain terminal control sequences.
@test "rights: control characters in a kept file are not printed" {
	HOTPATH_OUTPUT_FORMAT=none "$HP_RUN" "$T/app"
	/usr/bin/python3 - "$XDG_STATE_HOME"/hotpath/*.gz "$BATS_TEST_TMPDIR/bad" <<-'END'
		import gzip, struct, sys
		data = gzip.open(sys.argv[1]).read()
		at, out = 16, data[:16]
		while at + 8 <= len(data):
		    kind, size = struct.unpack_from("<II", data, at)
		    piece = data[at + 8:at + 8 + size]
		    if kind == 1:
		        piece = piece.replace(b"\napp", b"\n\\x1b[31mapp") + b"label\t\\x1b[32m\\x07label\n"
		    if kind == 2:
		        lines = [line.split(b"\t") for line in piece.split(b"\n")]
		        for fields in lines:
		            if fields[0] == b"o":
		                fields[5] = b"\\x1b[34m is bad"
		            elif len(fields) > 4:
		                fields[4] = b"\\x1b[35m" + fields[4]
		        piece = b"\n".join(b"\t".join(fields) for fields in lines)
		    out += struct.pack("<II", kind, len(piece)) + piece
		    at += 8 + size
		gzip.open(sys.argv[2], "wb").write(out)
	END
	for options in "" --tree --folded; do
		HOTPATH_REPORT=all "$HP_BUILD/hotpath" report --color=never $options "$BATS_TEST_TMPDIR/bad" \
			>"$BATS_TEST_TMPDIR/said" 2>&1
		run -1 grep "$(printf '[\033\007]')" "$BATS_TEST_TMPDIR/said"
		[ "$options" ] || cat "$BATS_TEST_TMPDIR/said"
		[ "$options" ] || grep -q '\[32m' "$BATS_TEST_TMPDIR/said"
	done
	HOTPATH_REPORT=all "$HP_BUILD/hotpath" report "$BATS_TEST_TMPDIR/bad" | grep -q 'is bad'
}

@test "rights: a report goes through no link of another user in a folder for all" {
	[ "$(id -u)" = 0 ] || skip "needs to be root"
	local other="setpriv --reuid 65534 --regid 65534 --clear-groups"
	chmod 755 "$BATS_RUN_TMPDIR" "$T" 2>/dev/null || true
	mkdir -p "$T/all/own" "$T/victims"
	chmod 1777 "$T/all"
	chmod 755 "$T/victims"
	echo mine >"$T/victims/file"
	$other ln -s "$T/victims/file" "$T/all/report"
	$other ln -s "$T/victims/new" "$T/all/dangling"
	$other ln -s "$T/victims" "$T/all/folder"
	ln -s "$T/all/report" "$T/through"
	for path in all/report all/dangling all/folder/file through all/folder/fresh/report; do
		HOTPATH_KEEP=0 HOTPATH_OUTPUT_PATH=$T/$path LD_PRELOAD=$HP_LIB "$T/app" 2>"$T/err"
		grep "Permission denied; printing the report here" "$T/err" || { cat "$T/err"; return 1; }
	done
	[ "$(cat "$T/victims/file")" = mine ]
	[ "$(ls "$T/victims")" = file ]
	# One's own links are followed, there and elsewhere, and so is /dev/stderr.
	ln -s "$T/victims/file" "$T/all/mine"
	ln -s ../victims "$T/all/own/link"
	ln -s own/link/other "$T/all/relative"
	mkdir "$T/all/victims"
	for path in all/mine all/relative; do
		HOTPATH_KEEP=0 HOTPATH_OUTPUT_PATH=$T/$path LD_PRELOAD=$HP_LIB "$T/app" 2>"$T/err"
		[ ! -s "$T/err" ]
	done
	grep leaf "$T/victims/file"
	grep leaf "$T/all/victims/other"
	HOTPATH_KEEP=0 HOTPATH_OUTPUT_PATH=/dev/stderr LD_PRELOAD=$HP_LIB "$T/app" 2>"$T/out"
	grep leaf "$T/out"
	rm -rf "$T/all" "$T/victims" "$T/through"
}
