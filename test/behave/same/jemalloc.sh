# SPDX-License-Identifier: MIT
# jemalloc.sh - jemalloc's own tests, each a program with its own allocator linked: how it ends, and how many of its parts
# passed, were skipped and failed. `jemalloc.sh build DIR` makes them, from Debian's source, where they are run from
# afterwards; without network they are not there, and the case is skipped.
place=$TOOLS/jemalloc
if [ "$1" = build ]; then
	[ ! -x "$place/test/unit/a0" ] || exit 0
	source=$("${0%/*}/../../../scripts/fetch-source" jemalloc "$2") || exit
	cp -a "$source" "$place" && cd "$place" && ./configure >log 2>&1 && make -j2 tests >>log 2>&1
	exit
fi
here=$PWD
cd "$place" || exit
find test/unit test/integration -type f -perm -100 ! -name '*.sh' | sort | while read -r test; do
	(
		# As its own test/test.sh does it.
		enable_fill=1 enable_prof=0 MALLOC_CONF=
		[ ! -e "$test.sh" ] || . "$test.sh"
		export MALLOC_CONF
		timeout -k 5 100 "$test" "$place/" "$place/" >"$here/out" 2>&1 </dev/null
		echo "$test $? $(grep -c ': pass' "$here/out") $(grep -c ': skip' "$here/out") $(grep -c ': fail' "$here/out")"
	)
done
rm -f "$here/out"
