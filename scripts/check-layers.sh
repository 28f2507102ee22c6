#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-layers.sh [ROOT [BUILD]] - the folders of the tree use each other only as their
# headers say, and only downwards: see check_layers.py for the rules.

here=$(dirname "$0")
if ! command -v python3 >/dev/null; then
	echo "check-layers: no python3 here; not checked"
	exit 0
fi
exec python3 -B "$here/check_layers.py" "${1:-$here/..}" "${2:-}"
