# SPDX-License-Identifier: MIT
# suite.sh SECONDS PROGRAM... - runs each test program by itself in its own folder, at most so long, and says
# how it ended. Its output is not shown. Failing tests are run twice again: tests of times fail now and then
# on a machine that others share.
limit=$1
shift
exec 2>/dev/null	# bash reports each one that is killed
for program in "$@"; do
	[ -f "$program" ] && [ -x "$program" ] || continue
	for _ in 1 2 3; do
		mkdir -p room
		(cd room && HOME=$PWD exec timeout -k 5 "$limit" "$program" >../out 2>&1 </dev/null)
		status=$?
		{ [ $status != 0 ] && [ $status != 77 ]; } || break
		chmod -R u+rwx room
		rm -rf room
	done
	echo "${program##*/} $status"
	[ $status = 0 ] || [ $status = 77 ] || [ -z "$SUITE_LOG" ] || { echo "== $program $status"; tail -n 20 out; } >>"$SUITE_LOG"
	chmod -R u+rwx .
	rm -rf ./*
done
