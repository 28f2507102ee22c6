/* SPDX-License-Identifier: MIT */
/*
 * report_name_test.c - C++ names keep their distinguishing parts, as far as there is room.
 */
#include "test/test.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/elf/demangle.h"
#include "report/name/name.h"
#include "report/name/namesake.h"
#include "report/name/short.h"
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

TEST(name, scopes_in_brackets_are_not_split)
{
	check_short("a::(anonymous namespace)::f(b::c)", 2, "(anonymous namespace)::f(b::c)");
	check_short("x::main::{lambda(a::b)#1}::operator()(a::b) const", 1,
		    "main::{lambda(a::b)#1}::operator()(a::b) const");
	check_short("v<a::b, c::d>::push(e::f)", 1, "push(e::f)");
}

TEST(name, the_library_s_inner_names_become_their_outer_ones)
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
	check_fit(name, 12, "\342\200\246push_back");
	check_fit(name, 8, "\342\200\246sh_back");
	check_fit(name, 1, "\342\200\246");
	check_fit(name, 0, "");
	check_fit("log (dir/file.c:12)", 19, "log (dir/file.c:12)");
	check_fit("log (dir/file.c:12)", 18, "log (file.c:12)");
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

/* Output of c++filt for symbols of g++ 12 -std=c++20. */
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
	CHECK_STR(hp_format_bytes(&cell, 999), "999 B");
	CHECK_STR(hp_format_bytes(&cell, 1500), "1.5 KB");
	CHECK_STR(hp_format_bytes(&cell, 2 << 20), "2.1 MB");
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

static void check_display(const char *name, size_t depth, const char *want)
{
	char *got = hp_name_display(name, depth, HP_NAME_SHORT);

	CHECK_STR(got, want);
	free(got);
}

TEST(name, uninformative_parts_are_not_shown)
{
	check_display("luaV_execute", 2, "luaV_execute");
	check_display("main.main", 2, "main.main");
	check_display("module+0x1234", 2, "module+0x1234");
	check_display("libfoo.so (deleted)", 2, "libfoo.so (deleted)");
	check_display("foo.constprop.0.isra.0", 2, "foo");
	check_display("foo.part.0.cold", 2, "foo");
	check_display("foo(int) [clone .cold]", 2, "foo");
	check_display("foo[abi:cxx11](int)", 2, "foo");
	check_display("(anonymous namespace)::helper(int)", 2, "helper");
	check_display("std::__1::vector<int>::push_back(int)", 0, "std::vector‹int›::push_back");
	check_display("void a::b::f<int>(int) const", 2, "b::f‹int›");
	check_display("non-virtual thunk to app::Base::run()", 2, "Base::run");
}

TEST(name, template_arguments_are_one_word_or_an_ellipsis)
{
	check_display("void std::vector<Job, std::allocator<Job> >::_M_realloc_insert<Job const&>"
		      "(__gnu_cxx::__normal_iterator<Job*, std::vector<Job> >, Job const&)",
		      0, "std::vector‹Job›::_M_realloc_insert‹…›");
	check_display("std::map<int, app::Job, std::less<int> >::operator[](int const&)", 2,
		      "map‹int›::operator[]");
	check_display("std::vector<app::Job>::erase(x)", 2, "vector‹Job›::erase");
	check_display("std::operator<< <std::char_traits<char> >(std::basic_ostream<char>&)", 2,
		      "std::operator<<‹…›");
	check_display("std::__cxx11::basic_string<char, std::char_traits<char>, "
		      "std::allocator<char> >::_M_mutate(unsigned long)",
		      0, "std::string::_M_mutate");
}

TEST(name, a_lambda_is_called_by_its_function)
{
	check_display("main::{lambda()#1}::operator()() const", 2, "main::λ#1");
	check_display("app::run(int)::{lambda:38}::operator()(int) const", 1, "run::λ:38");
	check_display("main::$_0::operator()() const", 2, "main::λ#1");
	check_display("a::run(int) const::{lambda(int)#2}::operator()(int) const", 2,
		      "a::run::λ#2");
	check_display("app::main::{{closure}}::h0123456789abcdef", 2, "app::main::λ");
	check_display("std::thread::_State_impl<std::thread::_Invoker<std::tuple<shop::serve(int)"
		      "::{lambda(int)#2}, int> > >::_M_run()",
		      2, "shop::serve::λ#2");
	check_display("std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)(int), "
		      "int> > >::_M_run()",
		      2, "_State_impl‹…›::_M_run");
	check_display("echo(int, int) [clone .actor]", 2, "echo [clone .actor]");
}

TEST(name, rust_types_stand_without_their_traits)
{
	check_display("<alloc::vec::Vec<T> as core::iter::FromIterator<T>>::from_iter::"
		      "h0123456789abcdef",
		      0, "alloc::vec::Vec‹T›::from_iter");
	check_display("core::fmt::impls::<impl core::fmt::Display for u32>::fmt", 2, "u32::fmt");
	check_display("<app::Store>::find::<i32>", 2, "Store::find‹i32›");
	check_display("<[T] as app::Sort>::sort", 2, "[T]::sort");
	check_display("core::ptr::drop_in_place<alloc::vec::Vec<u8>>", 2, "ptr::drop_in_place‹…›");
}

static void check_apart(const char *const *names, const char *const *want, size_t count)
{
	char *display[8] = { NULL };

	hp_names_display(names, count, 2, display);
	for (size_t i = 0; i < count; i++) {
		CHECK_STR(display[i], want[i]);
		free(display[i]);
	}
}

TEST(name, names_that_differ_look_different)
{
	static const char *const scopes[] = { "x::app::Job::run(int)", "y::app::Job::run(int)",
					      "z::f(int)" };
	static const char *const scopes_apart[] = { "x::app::Job::run", "y::app::Job::run",
						    "z::f" };
	static const char *const arguments[] = { "std::map<int, A>::find(int)",
						 "std::map<int, B>::find(int)" };
	static const char *const arguments_apart[] = { "std::map‹int, A›::find",
						       "std::map‹int, B›::find" };
	static const char *const parameters[] = { "a::f(int)", "a::f(long)", "a::f(int)" };
	static const char *const parameters_apart[] = { "a::f(int)", "a::f(long)", "a::f(int)" };
	static const char *const clones[] = { "f", "f.cold" };
	static const char *const traits[] = { "<&str as core::fmt::Debug>::fmt",
					      "<&str as core::fmt::Display>::fmt" };
	static const char *const traits_apart[] = { "&str::Debug::fmt", "&str::Display::fmt" };

	check_apart(scopes, scopes_apart, 3);
	check_apart(arguments, arguments_apart, 2);
	check_apart(parameters, parameters_apart, 3);
	check_apart(clones, clones, 2);
	check_apart(traits, traits_apart, 2);
}

TEST(name, outer_scopes_go_first_and_the_last_part_stays)
{
	check_fit("shop::store::Catalog::find_by_name", 25, "…Catalog::find_by_name");
	check_fit("shop::store::Catalog::find_by_name", 13, "…find_by_name");
	check_fit("shop::store::Catalog::find_by_name", 10, "find_b…ame");
	check_fit("shop::Catalog::run::λ:14", 12, "…run::λ:14");
	check_fit("std::vector‹Job›::_M_realloc_insert‹…›", 20, "…_M_realloc_insert");
	check_fit("/usr/lib/libfoo.so", 12, "/us…ibfoo.so");
}

TEST(name, overloads_keep_the_function_and_show_where_they_differ)
{
	char *texts[] = {
		hp_xstrdup("node::AddLinkedBinding(node::Environment*, napi_module const&)"),
		hp_xstrdup("node::AddLinkedBinding(node::Environment*, node_module const&)")
	};
	const char *want[] = { "AddLinkedBinding(…ent*, napi_module con…",
			       "AddLinkedBinding(…ent*, node_module con…" };

	hp_names_fit(texts, 2, 40);
	for (int i = 0; i < 2; i++) {
		CHECK_STR(texts[i], want[i]);
		free(texts[i]);
	}
}

TEST(name, cut_texts_show_where_they_differ)
{
	char *texts[] = { hp_xstrdup("handle_request_of_the_first_kind_in_a_queue"),
			  hp_xstrdup("handle_request_of_the_other_kind_in_a_queue"),
			  hp_xstrdup("main") };
	char *paths[] = { hp_xstrdup(
				  "l_alloc lauxlib.c:1018 ← luaM_malloc_ ← luaH_resize ← rehash"),
			  hp_xstrdup("l_alloc lauxlib.c:1018 ← luaM_malloc_ ← luaS_new ← f_parser"),
			  hp_xstrdup("main a.c:3") };

	hp_names_fit(texts, 3, 16);
	CHECK(strcmp(texts[0], texts[1]) != 0);
	CHECK_STR(texts[2], "main");
	hp_paths_fit(paths, 3, 40);
	CHECK_STR(paths[0], "l_alloc lauxlib.c:1… ← … ← luaH_resize …");
	CHECK_STR(paths[1], "l_alloc lauxlib.c:1… ← … ← luaS_new ← f…");
	CHECK_STR(paths[2], "main a.c:3");
	for (int i = 0; i < 3; i++) {
		CHECK(hp_text_width(texts[i]) <= 16);
		CHECK(hp_text_width(paths[i]) <= 40);
		free(texts[i]);
		free(paths[i]);
	}
}

TEST(name, paths_keep_the_places_behind_their_names)
{
	char *got =
		hp_name_display_path("std::vector<int>::push_back a.cc:12 (std::copy) ← b::c(int)"
				     " ← main",
				     2);

	CHECK_STR(got, "vector‹int›::push_back a.cc:12 (std::copy) ← b::c ← main");
	free(got);
}

/* Comparing each with each would take minutes. */
static char *detail_of(void *context, size_t row, unsigned detail)
{
	static const char *const details[][3] = { { "a.c", "1", "#1" },
						  { "a.c", "1", "#2" },
						  { "b.c", NULL, "#3" },
						  { "c.c", "1", "#4" } };

	(void)context;
	return detail < 3 && details[row][detail] ? hp_xstrdup(details[row][detail]) : NULL;
}

TEST(name, rows_of_one_name_get_details_until_they_differ)
{
	static const char *const want[] = { "f (a.c) (#1)", "f (a.c) (#2)", "f (b.c)", "f" };
	static const uint32_t kinds[] = { 1, 1, 1, 2 };
	char *names[4];

	for (size_t i = 0; i < 4; i++)
		names[i] = hp_xstrdup("f");
	hp_names_part(names, kinds, 4, detail_of, NULL);
	for (size_t i = 0; i < 4; i++) {
		CHECK_STR(names[i], want[i]);
		free(names[i]);
	}
}

TEST(name, many_that_look_alike)
{
	enum { MANY = 200000 };
	char **names = hp_xcalloc(MANY, sizeof(*names)), **paths = hp_xcalloc(MANY, sizeof(*paths));

	for (size_t i = 0; i < MANY; i++) {
		names[i] = hp_xstrdup(i ? "one_name_of_a_function" : "one_name_of_another");
		paths[i] = hp_xprintf("malloc ← the_same ← number_%zu", i / 2);
	}
	hp_names_fit(names, MANY, 14);
	hp_paths_fit(paths, MANY, 22);
	CHECK(strcmp(names[0], names[1]) != 0);
	CHECK_STR(names[MANY - 1], names[1]);
	CHECK_STR(paths[1], paths[0]);
	for (size_t i = 0; i < MANY; i++) {
		free(names[i]);
		free(paths[i]);
	}
	free(names);
	free(paths);
}
