# SPDX-License-Identifier: MIT
# core.sh - a core dump is as good for gdb as without us, and not much larger. Core files lie where the kernel puts
# them: only where that is the folder there is something to see.
ulimit -c unlimited
[ "$(cat /proc/sys/kernel/core_pattern)" = core ] || { echo "no core files here"; exit; }
cat >x.c <<END
#include <stdlib.h>
static int deep(int n) { return n ? deep(n - 1) + 1 : *(volatile int *)8; }
int main(void) { free(malloc(100)); return deep(4); }
END
gcc -g -O0 -o x x.c
./x
echo "status $?"
core=$(ls | grep '^core' | head -n 1)
[ "$(stat -c %b "$core")" -lt 20000 ] && echo "less than 10 MB on disk"
gdb -batch -nx -ex bt ./x "$core" 2>&1 | grep '^#'
rm -f x x.c "$core"
