/* SPDX-License-Identifier: MIT */
/*
 * report_wrapper_test.c - which names belong to a language's library, and which to the program.
 */
#include "test/test.h"

#include <string.h>

#include "report/name/wrapper.h"

TEST(wrapper, the_library_of_rust_is_known_by_its_crates)
{
	static const char *const names[] = {
		"core::fmt::write",
		"alloc::alloc::alloc",
		"alloc::fmt::format::format_inner",
		"std::sys::sync::mutex::futex::Mutex::lock_contended",
		"hashbrown::raw::RawTable<T,A>::find::{{closure}}",
		"core::hash::sip::Hasher<S>::reset",
		"<alloc::string::String as core::fmt::Write>::write_str",
		"<std::hash::random::RandomState as core::hash::BuildHasher>::build_hasher",
		"<&mut core::slice::Iter<app::Item> as core::iter::Iterator>::next",
		"<[app::Item] as core::clone::Clone>::clone",
		"<*mut u8>::add",
		"<u64>::wrapping_add",
		"<str as alloc::string::ToString>::to_string",
		"<T as core::convert::Into<U>>::into",
		"<F as core::ops::function::FnOnce<(A, B)>>::call_once",
		"__rustc::__rust_dealloc",
		"core::ops::function::FnOnce::call_once{{vtable.shim}}",
		"core::ptr::drop_in_place<alloc::vec::Vec<fn(u8) -> app::Item>>",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_STR(hp_wrapper_is_library(names[i]) ? "" : names[i], "");
}

TEST(wrapper, what_the_program_wrote_is_its_own)
{
	static const char *const names[] = {
		"app::main",
		"app::main::{{closure}}",
		"<app::Item as core::fmt::Display>::fmt",
		"<app::Item as core::clone::Clone>::clone",
		"<T as app::Shape>::area",
		"<u64 as app::Shape>::area",
		"<alloc_app::Pool>::take",
		"corelib::run",
		/* C++: namespaces with these names belong to the program. */
		"core::Engine::run(int)",
		"alloc::Pool::take(unsigned long)",
		"core::Engine::run(std::vector<int, std::allocator<int> > const&) const",
		"core::Engine::run(int) [clone .cold]",
		"main",
		"alloc",
		"core_run",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_STR(hp_wrapper_is_library(names[i]) ? names[i] : "", "");
}

TEST(wrapper, the_library_of_cxx_is_known_by_its_namespace)
{
	CHECK(hp_wrapper_is_library(
		"std::vector<int, std::allocator<int> >::push_back(int const&)"));
	CHECK(hp_wrapper_is_library("void std::sort<int*>(int*, int*)"));
	CHECK(hp_wrapper_is_library(
		"__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)"));
	CHECK(!hp_wrapper_is_library("app::run(std::vector<int, std::allocator<int> >&)"));
	CHECK(!hp_wrapper_is_library("operator<<(std::ostream&, app::Item const&)"));
}

/* Each pattern that three characters can make, on each text: the search skips ahead. */
static bool matches_slowly(const char *pattern, const char *name)
{
	if (!*pattern)
		return true;
	if (*pattern == '*')
		return matches_slowly(pattern + 1, name) ||
		       (*name && matches_slowly(pattern, name + 1));
	return *name == *pattern && matches_slowly(pattern + 1, name + 1);
}

static const char *word_of(unsigned number, char text[8])
{
	size_t length = 0;

	for (; number; number /= 4)
		text[length++] = " ab*"[number % 4];
	text[length] = 0;
	return text;
}

TEST(wrapper, a_star_stands_for_any_text)
{
	char pattern[8], name[8];

	for (unsigned i = 1; i < 1024; i++) {
		for (unsigned k = 1; k < 1024; k++) {
			size_t length;

			word_of(i, pattern);
			length = strlen(pattern);
			pattern[length++] = '*';
			pattern[length] = 0;
			word_of(k, name);
			if (strchr(name, '*') || strstr(pattern, "**"))
				continue;
			CHECK_EQ(hp_wrapper_matches(pattern, length, name),
				 matches_slowly(pattern, name));
		}
	}
}

TEST(wrapper, outermost_functions)
{
	static const char *const names[] = { "main", "_start", "start_thread", "clone3",
					     "__libc_start_main" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_STR(hp_wrapper_is_outermost(names[i]) ? "" : names[i], "");
	CHECK(!hp_wrapper_is_outermost("_start_all"));
	CHECK(!hp_wrapper_is_outermost("main_loop"));
}
