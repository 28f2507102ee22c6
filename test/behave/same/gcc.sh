# SPDX-License-Identifier: MIT
# gcc.sh - C and C++ of some size, and the compiled result.
gcc -O2 -D_GNU_SOURCE -c "$SAME/probe.c" -o p.o
sha256sum p.o
g++ -O2 -x c++ -c - -o q.o <<END
#include <map>
#include <regex>
#include <string>
int f(std::map<std::string, int> &m) { return m["a"] + std::regex_match("x", std::regex("x*")); }
END
sha256sum q.o
