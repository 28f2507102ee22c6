/* SPDX-License-Identifier: MIT */
/*
 * report_names_test.c - 40 names of real programs in C++, Rust and C, in narrow columns, and as in
 * the default report at 80 and at 120 columns.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/name/name.h"
#include "report/name/short.h"
#include "test/test.h"

#define WIDTHS 3

static const size_t widths[WIDTHS] = { 16, 32, 52 };

static const struct {
	const char *whole;
	const char *shown[WIDTHS];
} names[] = {
	{ "std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>(__gnu_cx"
	  "x::__normal_iterator<int*, std::vector<int, std::allocator<int> > >, int const"
	  "&)",
	  { "_M_realloc…nsert", "vector‹int›::_M_realloc_insert",
	    "vector‹int›::_M_realloc_insert‹…›" } },
	{ "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
	  ">::_M_replace_aux(unsigned long, unsigned long, unsigned long, char)",
	  { "…_M_replace_aux", "string::_M_replace_aux", "string::_M_replace_aux" } },
	{ "std::_Rb_tree<std::__cxx11::basic_string<char, std::char_traits<char>, std::al"
	  "locator<char> >, std::pair<std::__cxx11::basic_string<char, std::char_traits<c"
	  "har>, std::allocator<char> > const, double>, std::_Select1st<std::pair<std::__"
	  "cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const"
	  ", double> >, std::less<std::__cxx11::basic_string<char, std::char_traits<char>"
	  ", std::allocator<char> > >, std::allocator<std::pair<std::__cxx11::basic_strin"
	  "g<char, std::char_traits<char>, std::allocator<char> > const, double> > >::_M_"
	  "get_insert_unique_pos(std::__cxx11::basic_string<char, std::char_traits<char>,"
	  " std::allocator<char> > const&)",
	  { "_M_get_ins…e_pos", "…_M_get_insert_unique_pos",
	    "_Rb_tree‹string›::_M_get_insert_unique_pos" } },
	{ "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#2}> "
	  "> >::_M_run()",
	  { "main::λ#2", "main::λ#2", "main::λ#2" } },
	{ "main::{lambda(int)#1}::operator()(int) const",
	  { "main::λ#1", "main::λ#1", "main::λ#1" } },
	{ "shop::Catalog::find_by_name(std::__cxx11::basic_string<char, std::char_traits<"
	  "char>, std::allocator<char> > const&) const",
	  { "…find_by_name", "Catalog::find_by_name", "Catalog::find_by_name" } },
	{ "__gnu_cxx::__enable_if<std::__is_char<char>::__value, bool>::__type std::opera"
	  "tor==<char>(std::__cxx11::basic_string<char, std::char_traits<char>, std::allo"
	  "cator<char> > const&, std::__cxx11::basic_string<char, std::char_traits<char>,"
	  " std::allocator<char> > const&)",
	  { "operator==‹char›", "std::operator==‹char›", "std::operator==‹char›" } },
	{ "(anonymous namespace)::Parser::next[abi:cxx11](char const*)",
	  { "Parser::next", "Parser::next", "Parser::next" } },
	{ "void std::__introsort_loop<__gnu_cxx::__normal_iterator<Order*, std::vector<Or"
	  "der, std::allocator<Order> > >, long, __gnu_cxx::__ops::_Iter_comp_iter<by_tot"
	  "al(std::vector<Order, std::allocator<Order> >&)::{lambda(Order const&, Order c"
	  "onst&)#1}> >(__gnu_cxx::__normal_iterator<Order*, std::vector<Order, std::allo"
	  "cator<Order> > >, __gnu_cxx::__normal_iterator<Order*, std::vector<Order, std:"
	  ":allocator<Order> > >, long, __gnu_cxx::__ops::_Iter_comp_iter<by_total(std::v"
	  "ector<Order, std::allocator<Order> >&)::{lambda(Order const&, Order const&)#1}"
	  ">)",
	  { "__introsort_loop", "std::__introsort_loop‹…›", "std::__introsort_loop‹…›" } },
	{ "non-virtual thunk to icu_72::number::impl::MixedUnitLongNameHandler::getModifi"
	  "er(icu_72::number::impl::Signum, icu_72::StandardPlural::Form) const",
	  { "…getModifier", "…getModifier", "MixedUnitLongNameHandler::getModifier" } },
	{ "icu_72::number::NumberFormatterSettings<icu_72::number::UnlocalizedNumberForma"
	  "tter>::sign(UNumberSignDisplay) const &",
	  { "…sign", "NumberFormatterSettings‹…›::sign", "NumberFormatterSettings‹…›::sign" } },
	{ "v8::internal::Heap::CollectGarbage(v8::internal::AllocationSpace, v8::internal"
	  "::GarbageCollectionReason, v8::GCCallbackFlags)",
	  { "…CollectGarbage", "Heap::CollectGarbage", "Heap::CollectGarbage" } },
	{ "v8::internal::(anonymous namespace)::ElementsAccessorBase<v8::internal::(anony"
	  "mous namespace)::FastHoleySmiElementsAccessor, v8::internal::(anonymous namesp"
	  "ace)::ElementsKindTraits<(v8::internal::ElementsKind)1> >::GrowCapacity(v8::in"
	  "ternal::Handle<v8::internal::JSObject>, unsigned int)",
	  { "…GrowCapacity", "…GrowCapacity", "ElementsAccessorBase‹…›::GrowCapacity" } },
	{ "node::MakeLibuvRequestCallback<uv_fs_s, void (*)(uv_fs_s*)>::Wrapper(uv_fs_s*)",
	  { "…Wrapper", "…Wrapper", "MakeLibuvRequestCallback‹uv_fs_s›::Wrapper" } },
	{ "v8::base::OS::Allocate(void*, unsigned long, unsigned long, v8::base::OS::Memo"
	  "ryPermission)",
	  { "OS::Allocate", "OS::Allocate", "OS::Allocate" } },
	{ "operator new(unsigned long, std::align_val_t, std::nothrow_t const&)",
	  { "operator new", "operator new", "operator new" } },
	{ "std::function<void (int)>::operator()(int) const",
	  { "…operator()", "function‹…›::operator()", "function‹…›::operator()" } },
	{ "std::shared_ptr<Session>::~shared_ptr()",
	  { "…~shared_ptr", "shared_ptr‹Session›::~shared_ptr",
	    "shared_ptr‹Session›::~shared_ptr" } },
	{ "std::basic_ostream<char, std::char_traits<char> >& std::operator<< <std::char_"
	  "traits<char> >(std::basic_ostream<char, std::char_traits<char> >&, char const*"
	  ")",
	  { "std::operator<<", "std::operator<<‹…›", "std::operator<<‹…›" } },
	{ "Matrix<double, 4, 4>::operator*(Matrix<double, 4, 4> const&) const",
	  { "…operator*", "Matrix‹double›::operator*", "Matrix‹double›::operator*" } },
	{ "rocksdb::BlockBasedTable::NewIndexIterator(rocksdb::ReadOptions const&, bool, "
	  "rocksdb::IndexBlockIter*, rocksdb::GetContext*, rocksdb::BlockCacheLookupConte"
	  "xt*) const [clone .constprop.0]",
	  { "NewIndexIterator", "…NewIndexIterator", "BlockBasedTable::NewIndexIterator" } },
	{ "absl::container_internal::raw_hash_set<absl::container_internal::FlatHashMapPo"
	  "licy<int, long>, absl::hash_internal::Hash<int>, std::equal_to<int>, std::allo"
	  "cator<std::pair<int const, long> > >::resize(unsigned long)",
	  { "…resize", "raw_hash_set‹…›::resize", "raw_hash_set‹…›::resize" } },
	{ "fmt::v9::detail::buffer<char>::push_back(char const&)",
	  { "…push_back", "buffer‹char›::push_back", "buffer‹char›::push_back" } },
	{ "boost::asio::detail::scheduler::do_run_one(boost::asio::detail::conditionally_"
	  "enabled_mutex::scoped_lock&, boost::asio::detail::scheduler_thread_info&, boos"
	  "t::system::error_code const&)",
	  { "…do_run_one", "scheduler::do_run_one", "scheduler::do_run_one" } },
	{ "<alloc::raw_vec::RawVec<cargo_util_schemas::lockfile::TomlLockfileDependency>>"
	  "::grow_one",
	  { "RawVec::grow_one", "RawVec‹…›::grow_one", "RawVec‹…›::grow_one" } },
	{ "<cargo::sources::overlay::DependencyConfusionThreatOverlaySource as cargo::sou"
	  "rces::source::Source>::query_vec",
	  { "…query_vec", "…query_vec", "DependencyConfusionThreatOverlaySource::query_vec" } },
	{ "core::ptr::drop_in_place::<core::array::iter::IntoIter<(alloc::string::String,"
	  " toml::value::Value), 1>>",
	  { "…drop_in_place", "ptr::drop_in_place‹…›", "ptr::drop_in_place‹…›" } },
	{ "<&gix_ref::store_impl::packed::transaction::prepare::Error as core::fmt::Debug"
	  ">::fmt",
	  { "Error::fmt", "Error::fmt", "Error::fmt" } },
	{ "alloc::vec::Vec<T,A>::extend_desugared::h0123456789abcdef",
	  { "extend_desugared", "Vec‹T›::extend_desugared", "Vec‹T›::extend_desugared" } },
	{ "<core::iter::adapters::map::Map<I,F> as core::iter::traits::iterator::Iterator"
	  ">::fold::h00112233445566aa",
	  { "Map‹I›::fold", "Map‹I›::fold", "Map‹I›::fold" } },
	{ "serde_json::de::Deserializer<R>::parse_value::{{closure}}::hfedcba9876543210",
	  { "…parse_value::λ", "Deserializer‹R›::parse_value::λ",
	    "Deserializer‹R›::parse_value::λ" } },
	{ "tokio::runtime::scheduler::multi_thread::worker::Context::run_task",
	  { "…run_task", "Context::run_task", "Context::run_task" } },
	{ "core::slice::sort::stable::driftsort_main::<addr2line::function::InlinedFuncti"
	  "onAddress, <[addr2line::function::InlinedFunctionAddress]>::sort_by<u8>>",
	  { "…driftsort_main", "stable::driftsort_main‹…›", "stable::driftsort_main‹…›" } },
	{ "<impl core::convert::From<E> for alloc::boxed::Box<dyn core::error::Error>>::f"
	  "rom",
	  { "Box‹…›::from", "Box‹…›::from", "Box‹…›::from" } },
	{ "__memmove_avx_unaligned_erms",
	  { "__memmove_…_erms", "__memmove_avx_unaligned_erms", "__memmove_avx_unaligned_erms" } },
	{ "sqlite3BtreeTableMoveto.part.0",
	  { "sqlite3Btr…oveto", "sqlite3BtreeTableMoveto", "sqlite3BtreeTableMoveto" } },
	{ "_PyEval_EvalFrameDefault",
	  { "_PyEval_Ev…fault", "_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefault" } },
	{ "ossl_slh_dsa_shake_192s_to_EncryptedPrivateKeyInfo_pem_encoder_functions",
	  { "ossl_slh_d…tions", "ossl_slh_dsa_shake_1…r_functions",
	    "ossl_slh_dsa_shake_192s_to_Encrypt…encoder_functions" } },
	{ "finish_task_switch.isra.0",
	  { "finish_tas…witch", "finish_task_switch", "finish_task_switch" } },
	{ "lzma_mt_block_size",
	  { "lzma_mt_bl…_size", "lzma_mt_block_size", "lzma_mt_block_size" } },
};

TEST(names, real_ones_at_three_widths)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *display = hp_name_display(names[i].whole, 2, HP_NAME_SHORT);

		for (int w = 0; w < WIDTHS; w++) {
			char *text = hp_name_fit(display, widths[w]);

			CHECK_STR(text, names[i].shown[w]);
			CHECK(hp_text_width(text) <= widths[w]);
			free(text);
		}
		free(display);
	}
}

TEST(names, details_of_rows_of_one_name_are_kept)
{
	static const char *const texts[][2] = {
		{ "os::PlatformMonitor::wait(long) (0xc37680)",
		  "PlatformMonitor::wait (0xc37680)" },
		{ "os::Monitor::wait (Monitor(int)) (#2)", "Monitor::wait (Monitor(int)) (#2)" },
		{ "int (anonymous namespace)::next(int)", "next" },
		{ "worker (tid 12)", "worker (tid 12)" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *display = hp_name_display(texts[i][0], 2, HP_NAME_SHORT);

		CHECK_STR(display, texts[i][1]);
		free(display);
	}
}
