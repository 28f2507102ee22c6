#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# header.bats - include/hotpath.h: compiled in every way, with the library and without it, the
# program does the same; and what it marks is counted, timed and named as it says.

load helper

PROGRAM=$ROOT/test/behave/programs/header.c
STRICT="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I$ROOT/include"

# Ways to link a program: NAME FLAGS...
modes()
{
	cat <<-END
		pie -O2 -fPIE -pie
		nopic -O2 -fno-pic -no-pie
		debug -O0 -g
		lto -O2 -flto
		now -O2 -fvisibility=hidden -Wl,-z,now -Wl,-z,relro -Wl,--as-needed
		static -O2 -static
		stripped -Os -ffunction-sections -fdata-sections -Wl,--gc-sections -s
		hooked -O2 $2
		nopiclto -O2 -fno-pic -no-pie -flto
		staticpie -O2 -static-pie
		noplt -O3 -fno-plt
		library -O2 -fPIC
	END
}

# With a linker of its own, where it is there.
linkers()
{
	local linker
	for linker in gold lld mold; do
		if command -v "ld.$linker" "$linker" >/dev/null; then
			echo "$linker-pie -O2 -fPIE -pie -fuse-ld=$linker"
			echo "$linker-nopic -O2 -fno-pic -no-pie -fuse-ld=$linker"
		fi
	done
}

# build DIRECTORY/NAME COMPILER FLAGS... - the program, or a program and a library.
build()
{
	local name=$1 cc=$2
	shift 2
	# shellcheck disable=SC2086
	if [[ $name = *library* ]]; then
		"$cc" $STRICT "$@" -DLIBRARY -shared -Wl,--no-undefined -o "$name.so" "$PROGRAM" &&
			"$cc" $STRICT "$@" -DPROGRAM -o "$name" "$PROGRAM" -x none "$name.so"
	else
		"$cc" $STRICT "$@" -o "$name" "$PROGRAM"
	fi
}

# same DIRECTORY/NAME EXPECTED - what it does, with the library and without it.
same()
{
	local status=0
	"$1" >"$1.out" 2>"$1.err" || status=$?
	[ $status = 7 ] && cmp "$1.out" "$2" && [ ! -s "$1.err" ] || return 1
	status=0
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$1.report HOTPATH_FUNCTIONS_LIMIT=0 \
		LD_PRELOAD=$HP_LIB "$1" >"$1.out" 2>"$1.err" || status=$?
	[ $status = 7 ] && cmp "$1.out" "$2" && [ ! -s "$1.err" ] || return 1
	# ld.so loads nothing into a static program.
	[[ $1 = *static* ]] || [ -s "$1.report" ]
}

# expected COMPILER FLAGS... - what it prints if nothing of the header is compiled.
expected()
{
	local cc=$1
	shift
	# shellcheck disable=SC2086
	"$cc" $STRICT -O1 "$@" -o "$T/plain" "$PROGRAM" && { "$T/plain" || [ $? = 7 ]; }
}

# matrix COMPILER LANGUAGE HOOKS STANDARD... - each mode with one of the standards in turn, so that
# each of both is there; in the long run each with each.
matrix()
{
	local cc=$1 language=$2 hooks=$3 directory=$T/$1 turn=0 failed=0 name flags standard
	local standards=("${@:4}")
	mkdir -p "$directory"
	while read -r name flags; do
		for standard in "${standards[@]}"; do
			((turn++ % ${#standards[@]} == line % ${#standards[@]})) || [ -n "$HP_TEST_FULL" ] ||
				continue
			[ -s "$directory/$standard" ] ||
				expected "$cc" -x "$language" "-std=$standard" >"$directory/$standard"
			# shellcheck disable=SC2086
			build "$directory/$name.$standard" "$cc" -DHOTPATH -x "$language" \
				"-std=$standard" $flags && same "$directory/$name.$standard" "$directory/$standard" && continue
			echo "failed: $cc -std=$standard $flags"
			cat "$directory/$name.$standard.err"
			failed=1
		done
		((++line))
	done < <(modes "$language" "$hooks"; linkers)
	"$ROOT/test/behave/header_check.py" "$directory" || failed=1
	return $failed
}

@test "header: gcc, C" {
	line=0 matrix gcc c -finstrument-functions c99 c11 gnu99 c17 gnu17
}

@test "header: clang, C" {
	line=0 matrix clang c -finstrument-functions c99 c11 gnu99 c17 gnu17
}

@test "header: g++" {
	line=0 matrix g++ c++ -finstrument-functions c++11 c++14 c++17 c++20 gnu++98
}

@test "header: clang++" {
	line=0 matrix clang++ c++ -finstrument-functions-after-inlining c++11 c++14 c++17 c++20 gnu++98
}

@test "header: without -DHOTPATH nothing of it is compiled" {
	local cc language
	for cc in gcc clang g++ clang++; do
		language=c
		[[ $cc = *++ ]] && language=c++
		# shellcheck disable=SC2086
		"$cc" $STRICT -x $language -O2 -c -o "$T/nothing.o" "$PROGRAM"
		if grep -a -q -e hotpath_ -e 'note[.]hotpath' "$T/nothing.o"; then
			echo "$cc left something of it"
			return 1
		fi
	done
}
