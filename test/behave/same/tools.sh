# SPDX-License-Identifier: MIT
# tools.sh FOLDER - compiles the programs that the cases use.
cd "$(dirname "$0")" || exit
flags='-O1 -g -D_GNU_SOURCE -Wall -Wextra'
set -e
gcc $flags -o "$1/probe" probe.c
gcc $flags -DPROBE_LIBRARY -shared -fPIC -o "$1/probe.so" probe.c
gcc $flags -shared -fPIC -o "$1/bad_guest.so" bad_guest.c
gcc $flags -shared -fPIC -o "$1/plugin.so" plugin.c
if [ "$(uname -m)" = x86_64 ]; then
	gcc $flags -no-pie -o "$1/registers" registers.c
	gcc $flags -fno-builtin -shared -fPIC -o "$1/behind.so" behind.c
fi
for program in process signal memory refused; do
	for suffix in '' .hooks; do
		gcc $flags ${suffix:+-finstrument-functions} -o "$1/$program$suffix" $program.c
	done
done
