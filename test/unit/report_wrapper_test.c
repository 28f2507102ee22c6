/* SPDX-License-Identifier: MIT */
/*
 * report_wrapper_test.c - which names belong to a language's library, and which to the program.
 */
#include "test/test.h"

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
