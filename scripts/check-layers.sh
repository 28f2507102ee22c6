#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-layers.sh [ROOT [BUILD]] - checks that folders only use the folders
# declared in their headers, without cycles; check_layers.py has the rules.

here=$(dirname "$0")
if ! command -v python3 >/dev/null; then
	echo "check-layers: no python3 here; not checked"
	exit 0
fi
exec python3 -B "$here/check_layers.py" "${1:-$here/..}" "${2:-}"
