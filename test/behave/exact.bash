# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# exact.bash - does the report have the true count of every function?  Runs a
# program three times on the same input: natively under the oracle and under
# hotpath, and in callgrind (with the oracle in the same run, since addresses
# differ there); compare_counts.py compares the numbers.

build_oracle()
{
	gcc -O2 -g -fPIC -shared -o "$T/oracle.so" "$ROOT/test/behave/oracle.c"
}

# In callgrind, everything has its full name.
callgrind()
{
	ORACLE=$T/callgrind.oracle LD_PRELOAD=$T/oracle.so valgrind -q --tool=callgrind \
		--callgrind-out-file="$T/callgrind.out" --compress-strings=no --compress-pos=no \
		--demangle=no "$@"
}

# exact PROGRAM [ARGS...] - stdin, if any, is the file named by INPUT.
exact()
{
	local program=$1 input=${INPUT:-/dev/null}

	rm -f "$T"/*.oracle "$T/callgrind.out" "$T/report.json"
	ORACLE=$T/native.oracle LD_PRELOAD=$T/oracle.so "$@" <"$input" >"$T/native.txt" || return
	callgrind "$@" <"$input" >"$T/callgrind.txt" || return
	HOTPATH_REPORT=functions-timing HOTPATH_OUTPUT_FORMAT=json HOTPATH_FUNCTIONS_LIMIT=0 \
		HOTPATH_OUTPUT_PATH=$T/report.json "$HP_RUN" "$@" <"$input" >"$T/hotpath.txt" || return
	cmp "$T/native.txt" "$T/hotpath.txt" || return
	"$ROOT/test/behave/compare_counts.py" --program "$program" --callgrind "$T/callgrind.out" \
		--callgrind-oracle "$T/callgrind.oracle" --oracle "$T/native.oracle" \
		--report "$T/report.json"
}

# Text, tables, closures and errors, all small, since callgrind is 50 times slower.
lua_script()
{
	cat <<'END'
local t = {}
for i = 1, 2000 do t[i] = (i * 7919) % 10007 end
table.sort(t, function(a, b) return a < b end)
local s = {}
for i = 1, 200 do s[#s + 1] = string.format("%d:%s", i, ("x"):rep(i % 7)) end
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(15), #table.concat(s), t[1000], pcall(error, "x"))
local c = coroutine.wrap(function() for i = 1, 100 do coroutine.yield(i) end error("end") end)
for i = 1, 100 do c() end
print(pcall(c), load("return 1 + ")) print(("a b c"):gsub("%a", "%0%0"))
END
}

# exact_lua CC FLAGS... - the interpreter without its random seed, and without its
# cache of strings by address: its behaviour must not depend on its address.
# (DWARF 4: callgrind does not understand clang's other code.)
exact_lua()
{
	local cc=$1 source
	shift
	source=$(debian_source lua5.4 2>&1) || skip "$source"
	CC=$cc "$ROOT/scripts/build-program" lua5.4 "$source" "$T/lua" -g -gdwarf-4 \
		-finstrument-functions '-Dluai_makeseed(L)=42' -DSTRCACHE_N=1 -DSTRCACHE_M=1 "$@" || return
	lua_script >"$T/script.lua"
	exact "$T/lua" "$T/script.lua"
}

sqlite_script()
{
	cat <<'END'
create table item(id integer primary key, name text, price real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
	insert into item select i, 'item ' || (i * 7919 % 1009), i % 97 / 7.0 from n;
create index by_name on item(name);
select count(*), sum(price), max(name) from item where name between 'item 2' and 'item 5';
select a.name, b.name from item a join item b on a.id = b.id * 31 order by a.price, b.name limit 5;
update item set price = price * 2 where id % 3 = 0;
begin; delete from item where id > 900; rollback;
select json_group_array(price) from (select price from item order by price desc limit 5);
END
}

exact_sqlite()
{
	local cc=$1 source
	shift
	source=$(debian_source sqlite3 2>&1) || skip "$source"
	CC=$cc "$ROOT/scripts/build-program" sqlite3 "$source" "$T/sqlite3.program" -g -gdwarf-4 \
		-finstrument-functions "$@" || return
	sqlite_script >"$T/script.sql"
	exact "$T/sqlite3.program" -batch :memory: ".read $T/script.sql"
}

# clang++ cannot link libstdc++'s always_inline members with -finstrument-functions.
exact_cxx()
{
	local cxx=$1 flag=-finstrument-functions
	shift
	[ "$cxx" = g++ ] || flag=-finstrument-functions-after-inlining
	"$cxx" -std=c++17 -g -gdwarf-4 "$flag" "$@" -o "$T/stl" "$ROOT/test/examples/stl.cc" || return
	exact "$T/stl"
}
