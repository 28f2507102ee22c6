/* SPDX-License-Identifier: MIT */
/*
 * report_name_test.c - C++ names keep what tells them apart, as long as there is room.
 */
#include "test/test.h"

#include <stdlib.h>

#include "report/base/format.h"
#include "report/elf/demangle.h"
#include "report/name/name.h"
#include "report/name/wrapper.h"

static void check_short(const char *name, size_t depth, const char *want)
{
	char *got = hp_name_short(name, depth);

	CHECK_STR(got, want);
	free(got);
}

static void check_fit(const char *name, size_t width, const char *want)
{
	char *got = hp_name_fit(name, width);

	CHECK_STR(got, want);
	CHECK(hp_text_width(got) <= width);
	free(got);
}

TEST(name, c_names_stay)
{
	check_short("luaV_execute", 2, "luaV_execute");
	check_short("foo.constprop.0", 1, "foo.constprop.0");
	check_short("module+0x1234", 1, "module+0x1234");
}

TEST(name, depth_keeps_the_last_parts)
{
	check_short("a::b::c::d(int)", 2, "c::d(int)");
	check_short("a::b::c::d(int)", 1, "d(int)");
	check_short("a::b::c::d(int)", 0, "a::b::c::d(int)");
	check_short("app::main", 2, "app::main");
}

TEST(name, a_lambda_keeps_the_function_that_it_is_in)
{
	check_short("main::{lambda()#1}::operator()() const", 2,
		    "main::{lambda()#1}::operator()() const");
	check_short("a::b::c::{lambda:38}::operator()", 2, "b::c::{lambda:38}::operator()");
	check_short("a::b::c::{{closure}}", 1, "c::{{closure}}");
	check_short("a::b::run(int)::{lambda(int)#1}::operator()(int) const", 2,
		    "b::run(int)::{lambda(int)#1}::operator()(int) const");
}

TEST(name, return_types_go)
{
	check_short("void foo<int>(int)", 2, "foo<int>(int)");
	check_short("std::pair<int, char>& a::b<int>::c<x>(q) const", 2, "b<int>::c<x>(q) const");
	check_short("decltype (x()) a::b(int)", 2, "a::b(int)");
}

TEST(name, operators_are_not_brackets)
{
	check_short("a::b::operator()(int) const", 2, "b::operator()(int) const");
	check_short("a::operator<<(int)", 2, "a::operator<<(int)");
	check_short("bool std::operator< <char>(int)", 2, "std::operator< <char>(int)");
	check_short("a::b::operator->() const", 1, "operator->() const");
	check_short("x::operator new(unsigned long)", 2, "x::operator new(unsigned long)");
	check_short("my_operator<a::b>::c()", 2, "my_operator<a::b>::c()");
	check_short("bool x::operator!=<a::b*, c>(d const&)", 2,
		    "x::operator!=<a::b*, c>(d const&)");
	check_short("auto operator<=><a::b>(a::b)", 2, "operator<=><a::b>(a::b)");
	check_short("x::y& operator>><a::b>(x::y&)", 2, "operator>><a::b>(x::y&)");
	check_short("int operator-<a::b>(a::b)", 2, "operator-<a::b>(a::b)");
}

TEST(name, scopes_in_brackets_are_no_parts)
{
	check_short("a::(anonymous namespace)::f(b::c)", 2, "(anonymous namespace)::f(b::c)");
	check_short("x::main::{lambda(a::b)#1}::operator()(a::b) const", 1,
		    "main::{lambda(a::b)#1}::operator()(a::b) const");
	check_short("v<a::b, c::d>::push(e::f)", 1, "push(e::f)");
}

TEST(name, the_library_s_inner_names_are_told_by_their_outer_ones)
{
	check_short("f(std::__cxx11::basic_string<char, std::char_traits<char>, "
		    "std::allocator<char> > const&)",
		    2, "f(std::string const&)");
	check_short("f(a<b<c> >)", 2, "f(a<b<c>>)");
}

TEST(name, gives_way_in_steps)
{
	const char *name = "vector<int>::push_back(int const&)";

	check_fit(name, 40, name);
	check_fit(name, 33, "vector<\342\200\246>::push_back(int const&)");
	check_fit(name, 24, "vector<\342\200\246>::push_back(\342\200\246)");
	check_fit(name, 21, "vector::push_back(\342\200\246)");
	check_fit(name, 17, "vector::push_back");
	check_fit(name, 12, "vec\342\200\246ush_back");
	check_fit(name, 1, "\342\200\246");
	check_fit(name, 0, "");
}

static void check_plain(const char *name, const char *expected)
{
	char *plain = hp_name_plain(name);

	CHECK_STR(plain, expected);
	free(plain);
}

TEST(name, plain_ones_have_no_parameters)
{
	check_plain("f(int)", "f");
	check_plain("a<void (*)(), b>::c(d)", "a::c");
	check_plain("operator()(int) const", "operator()");
	check_plain("std::operator+<char>(int)", "std::operator+");
	check_plain("plain", "plain");
}

static void check_coroutine(const char *name, const char *expected)
{
	char *got = hp_name_of_coroutine(name);

	CHECK_STR(got, expected);
	free(got);
}

/* What c++filt makes of symbols of g++ 12 -std=c++20. */
TEST(name, coroutines_have_their_own)
{
	check_coroutine("echo(echo(int, int)::_Z4echoii.Frame*) [clone .actor]",
			"echo(int, int) [clone .actor]");
	check_coroutine("net::Server<int>::run(net::Server<int>::run(int)::"
			"_ZN3net6ServerIiE3runEi.Frame*) [clone .destroy]",
			"net::Server<int>::run(int) [clone .destroy]");
	check_coroutine(
		"main::{lambda(int)#1}::operator()(main::{lambda(int)#1}::operator()(int) const"
		"::_ZZ4mainENKUliE_clEi.Frame*) [clone .actor]",
		"main::{lambda(int)#1}::operator()(int) const [clone .actor]");
	check_coroutine("Task f<int>(f<int>(int)::_Z1fIiE4Taski.Frame*) [clone .actor]",
			"f<int>(int) [clone .actor]");
	check_coroutine("f(g(int)::_Z1gi.Frame*) [clone .actor]",
			"f(g(int)::_Z1gi.Frame*) [clone .actor]");
	check_coroutine("f(.Frame*) [clone .", "f(.Frame*) [clone .");
	check_coroutine("f(int)", "f(int)");
	check_coroutine("", "");
}

TEST(name, the_scope_is_behind_the_type)
{
	CHECK_STR(hp_name_scope("void std::f<int (*)()>(int)"), "std::f<int (*)()>(int)");
	CHECK_STR(hp_name_scope("std::pair<a, b> x::f<c>(d)"), "x::f<c>(d)");
	CHECK_STR(hp_name_scope("std::f(int)"), "std::f(int)");
	CHECK_STR(hp_name_scope("main"), "main");
	CHECK_STR(hp_name_scope(""), "");
}

TEST(name, wrappers_of_waits_are_known_by_name)
{
	CHECK(hp_wrapper_waits("std::mutex::lock()"));
	CHECK(hp_wrapper_waits("__gthread_mutex_lock(pthread_mutex_t*)"));
	CHECK(hp_wrapper_waits("std::unique_lock<std::mutex>::lock()"));
	CHECK(hp_wrapper_waits("void std::condition_variable::wait<f()::{lambda()#1}>(int)"));
	CHECK(hp_wrapper_waits("g_mutex_lock"));
	CHECK(hp_wrapper_waits("uv_sem_wait@plt"));
	CHECK(!hp_wrapper_waits("uv_sem_waits"));
	CHECK(!hp_wrapper_waits("my::std::mutex::lock()"));
	CHECK(!hp_wrapper_waits("stdx::lock()"));
	CHECK(!hp_wrapper_waits("void f<std::mutex>()"));
	CHECK(!hp_wrapper_waits(""));
}

TEST(name, hostile_names_end)
{
	static const char *const names[] = { "",      ":",	  "::",	       "<",
					     ">>>((", "operator", "operator<", "a::operator",
					     "(((((", "))))",	  "a::",       "::a",
					     " ",     "-",	  "->",	       "{",
					     "f(",    "\377\376", "a<b" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (size_t width = 0; width < 12; width++) {
			char *last = hp_name_short(names[i], width);
			char *fitted = hp_name_fit(last, width);

			CHECK(hp_text_width(fitted) <= width);
			free(last);
			free(fitted);
		}
}

TEST(format, times)
{
	struct hp_text_cell cell;

	CHECK_STR(hp_format_time(&cell, 0), "0 ns");
	CHECK_STR(hp_format_time(&cell, 999), "999 ns");
	CHECK_STR(hp_format_time(&cell, 1500), "1.50 \302\265s");
	CHECK_STR(hp_format_time(&cell, 999999), "1000.00 \302\265s");
	CHECK_STR(hp_format_time(&cell, 1e6), "1.00 ms");
	CHECK_STR(hp_format_time(&cell, 3.25e9), "3.25 s");
	CHECK_STR(hp_format_time(&cell, -5), "0 ns");
	CHECK_STR(hp_format_elapsed(&cell, 123860000), "123.86ms");
	CHECK_STR(hp_format_elapsed(&cell, 17090), "17.09\302\265s");
}

TEST(format, counts_bytes_percent)
{
	struct hp_text_cell cell;

	CHECK_STR(hp_format_count(&cell, 0), "0");
	CHECK_STR(hp_format_count(&cell, 999), "999");
	CHECK_STR(hp_format_count(&cell, 1000), "1,000");
	CHECK_STR(hp_format_count(&cell, UINT64_MAX), "18,446,744,073,709,551,615");
	CHECK_STR(hp_format_bytes(&cell, 0), "0 B");
	CHECK_STR(hp_format_bytes(&cell, 1023), "1023 B");
	CHECK_STR(hp_format_bytes(&cell, 1536), "1.5 KB");
	CHECK_STR(hp_format_bytes(&cell, 2 << 20), "2.0 MB");
	CHECK_STR(hp_format_percent(&cell, 12.345, 1), "12.3%");
	CHECK_STR(hp_format_percentile(&cell, 95), "95");
	CHECK_STR(hp_format_percentile(&cell, 99.9), "99.9");
}

TEST(format, foreign_text_cannot_drive_the_terminal)
{
	char *clean = hp_text_clean("a\033[31mb\nc\177d\302\233e\377f\342\200\256g");

	CHECK_STR(clean, "a?[31mb?c?d?e?f?g");
	free(clean);
	CHECK_EQ(hp_text_width("\303\244\302\265\342\200\246"), 3);
	CHECK_EQ(hp_text_width("\346\274\242"), 2);
	CHECK_EQ(hp_text_width("e\314\201"), 1);
}
