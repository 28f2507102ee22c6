#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-tests.sh [FILE...] - checks that each assertion in the bats files can
# fail; check_tests.py lists the forms that cannot. Without FILEs it checks all
# of test/.

here=$(dirname "$0")
if ! command -v python3 >/dev/null; then
	echo "check-tests: no python3 here; not checked"
	exit 0
fi
if [ $# = 0 ]; then
	cd "$here/.." && here=scripts || exit 2
	set -- test/*/*.bats test/*/*.bash
fi
exec python3 -B "$here/check_tests.py" "$@"
