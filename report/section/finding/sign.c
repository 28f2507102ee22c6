/* SPDX-License-Identifier: MIT */
/*
 * sign.c - see sign.h.
 */
#include "report/section/finding/sign.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "report/name/wrapper.h"

struct word {
	const char *text;	/* a leading `^`: the name begins with it, `=`: it is the full name */
	enum hp_sign mark;
};

static const struct word library[] = {
	{ "^std::find", HP_SIGN_FIND },
	{ "^std::__find", HP_SIGN_FIND },
	{ "^std::any_of", HP_SIGN_FIND },
	{ "^std::none_of", HP_SIGN_FIND },
	{ "^std::ranges::__find", HP_SIGN_FIND },
	{ "=lfind", HP_SIGN_FIND },
	{ "=lsearch", HP_SIGN_FIND },
	{ "^std::sort", HP_SIGN_SORT },
	{ "^std::__sort", HP_SIGN_SORT },
	{ "^std::stable_sort", HP_SIGN_SORT },
	{ "^std::partial_sort", HP_SIGN_SORT },
	{ "^std::__introsort", HP_SIGN_SORT },
	{ "^std::__final_insertion_sort", HP_SIGN_SORT },
	{ "^std::__stable_sort", HP_SIGN_SORT },
	{ "^std::__merge_sort", HP_SIGN_SORT },
	{ "^std::ranges::__sort", HP_SIGN_SORT },
	{ "^std::ranges::__stable_sort", HP_SIGN_SORT },
	{ "=qsort", HP_SIGN_SORT },
	{ "=qsort_r", HP_SIGN_SORT },
	{ "=__qsort_r", HP_SIGN_SORT },
	{ "^msort_with_tmp", HP_SIGN_SORT },
	{ "^std::map", HP_SIGN_KEY },
	{ "^std::set", HP_SIGN_KEY },
	{ "^std::multi", HP_SIGN_KEY },
	{ "^std::unordered_", HP_SIGN_KEY },
	{ "^std::_Rb_tree", HP_SIGN_KEY },
	{ "^std::_Hashtable", HP_SIGN_KEY },
	{ "^std::lower_bound", HP_SIGN_KEY },
	{ "^std::upper_bound", HP_SIGN_KEY },
	{ "^std::binary_search", HP_SIGN_KEY },
	{ "=bsearch", HP_SIGN_KEY },
	{ "=tsearch", HP_SIGN_KEY },
	{ "=tfind", HP_SIGN_KEY },
	{ "=hsearch", HP_SIGN_KEY },
	{ "=hsearch_r", HP_SIGN_KEY },
	{ "::erase", HP_SIGN_MOVE },
	{ "::_M_erase", HP_SIGN_MOVE },
	{ "::insert", HP_SIGN_MOVE },
	{ "::_M_insert_aux", HP_SIGN_MOVE },
	{ "::_M_insert_rval", HP_SIGN_MOVE },
	{ "^std::remove", HP_SIGN_MOVE },
	{ "strcmp", HP_SIGN_COMPARE },
	{ "strncmp", HP_SIGN_COMPARE },
	{ "strcasecmp", HP_SIGN_COMPARE },
	{ "strncasecmp", HP_SIGN_COMPARE },
	{ "memcmp", HP_SIGN_COMPARE },
	{ "strlen", HP_SIGN_LENGTH },
	{ "strnlen", HP_SIGN_LENGTH },
	{ "strcat", HP_SIGN_LENGTH },
	{ "strncat", HP_SIGN_LENGTH },
	{ "rawmemchr", HP_SIGN_LENGTH },
	{ "wcslen", HP_SIGN_LENGTH },
	{ "memcpy", HP_SIGN_COPY },
	{ "memmove", HP_SIGN_COPY },
	{ "mempcpy", HP_SIGN_COPY },
	{ "ostringstream", HP_SIGN_FORMAT },
	{ "stringstream", HP_SIGN_FORMAT },
	{ "^std::stringbuf", HP_SIGN_FORMAT },
	{ "^std::ostream", HP_SIGN_FORMAT },
	{ "^std::basic_ostream", HP_SIGN_FORMAT },
	{ "^std::operator<<", HP_SIGN_FORMAT },
	{ "^std::to_string", HP_SIGN_FORMAT },
	{ "^std::format", HP_SIGN_FORMAT },
	{ "^std::vformat", HP_SIGN_FORMAT },
	{ "snprintf", HP_SIGN_FORMAT },
	{ "sprintf", HP_SIGN_FORMAT },
	{ "uninitialized_copy", HP_SIGN_COPIED },
	{ "__do_uninit_copy", HP_SIGN_COPIED },
	{ "_M_realloc_", HP_SIGN_GROW },
	{ "_M_allocate_and_copy", HP_SIGN_GROW },
	{ "_M_default_append", HP_SIGN_GROW },
	{ "_move_if_noexcept", HP_SIGN_GROW },
	{ "^std::operator+", HP_SIGN_JOIN },
	{ "_create_node", HP_SIGN_BUILD },
	{ "_allocate_node", HP_SIGN_BUILD },
	{ "_deallocate_node", HP_SIGN_BUILD },
	{ "_drop_node", HP_SIGN_BUILD },
	{ "_Scoped_node", HP_SIGN_BUILD },
	{ "strdup", HP_SIGN_BUILD },
	{ "strndup", HP_SIGN_BUILD },
	{ "wcsdup", HP_SIGN_BUILD },
	{ "=memdup", HP_SIGN_BUILD },
	{ "asprintf", HP_SIGN_BUILD },
	{ "=malloc", HP_SIGN_ALLOC },
	{ "=free", HP_SIGN_ALLOC },
	{ "=cfree", HP_SIGN_ALLOC },
	{ "=_int_malloc", HP_SIGN_ALLOC },
	{ "=_int_free", HP_SIGN_ALLOC },
	{ "=_int_realloc", HP_SIGN_ALLOC },
	{ "^malloc_consolidate", HP_SIGN_ALLOC },
	{ "^unlink_chunk", HP_SIGN_ALLOC },
	{ "^operator delete", HP_SIGN_ALLOC },
	{ "sched_yield", HP_SIGN_YIELD },
	{ "=read", HP_SIGN_FILE },
	{ "=__read", HP_SIGN_FILE },
	{ "=write", HP_SIGN_FILE },
	{ "=write", HP_SIGN_WRITE },
	{ "=__write", HP_SIGN_FILE },
	{ "=__write", HP_SIGN_WRITE },
	{ "^pread64", HP_SIGN_FILE },
	{ "^pwrite64", HP_SIGN_FILE },
	{ "^pwrite64", HP_SIGN_WRITE },
	{ "=lseek64", HP_SIGN_FILE },
	{ "=recv", HP_SIGN_SOCKET },
	{ "=__recv", HP_SIGN_SOCKET },
	{ "=__libc_recv", HP_SIGN_SOCKET },
	{ "=recvfrom", HP_SIGN_SOCKET },
	{ "=recvmsg", HP_SIGN_SOCKET },
	{ "=send", HP_SIGN_SOCKET },
	{ "=__send", HP_SIGN_SOCKET },
	{ "=__libc_send", HP_SIGN_SOCKET },
	{ "=sendto", HP_SIGN_SOCKET },
	{ "=sendmsg", HP_SIGN_SOCKET },
	{ "^fopen", HP_SIGN_OPEN },
	{ "^_IO_new_fopen", HP_SIGN_OPEN },
	{ "=__fopen_internal", HP_SIGN_OPEN },
	{ "=open", HP_SIGN_OPEN },
	{ "=open64", HP_SIGN_OPEN },
	{ "=__open", HP_SIGN_OPEN },
	{ "=__open64", HP_SIGN_OPEN },
	{ "=__libc_open64", HP_SIGN_OPEN },
	{ "=openat", HP_SIGN_OPEN },
	{ "=openat64", HP_SIGN_OPEN },
	{ "=__openat64", HP_SIGN_OPEN },
	{ "=__libc_openat64", HP_SIGN_OPEN },
	{ "=fclose", HP_SIGN_CLOSE },
	{ "^_IO_new_fclose", HP_SIGN_CLOSE },
	{ "=close", HP_SIGN_CLOSE },
	{ "=__close", HP_SIGN_CLOSE },
	{ "=__libc_close", HP_SIGN_CLOSE },
	{ "=fsync", HP_SIGN_SYNC },
	{ "=fdatasync", HP_SIGN_SYNC },
	{ "=msync", HP_SIGN_SYNC },
	{ "=__cxa_throw", HP_SIGN_THROW },
	{ "=__cxa_rethrow", HP_SIGN_THROW },
	{ "=__cxa_allocate_exception", HP_SIGN_THROW },
	{ "=__cxa_free_exception", HP_SIGN_THROW },
	{ "=__cxa_begin_catch", HP_SIGN_THROW },
	{ "=__cxa_end_catch", HP_SIGN_THROW },
	{ "=__cxa_get_exception_ptr", HP_SIGN_THROW },
	{ "^_Unwind_RaiseException", HP_SIGN_THROW },
	{ "^_Unwind_Resume", HP_SIGN_THROW },
	{ "=_Unwind_DeleteException", HP_SIGN_THROW },
	{ "memset", HP_SIGN_CLEAR },
	{ "=bzero", HP_SIGN_CLEAR },
	{ "=explicit_bzero", HP_SIGN_CLEAR },
	{ "=connect", HP_SIGN_CONNECT },
	{ "=__connect", HP_SIGN_CONNECT },
	{ "=__libc_connect", HP_SIGN_CONNECT },
};

static const struct word kernel[] = {
	{ "page_fault", HP_SIGN_FAULT },      { "do_user_addr_fault", HP_SIGN_FAULT },
	{ "sys_futex", HP_SIGN_LOCK },	      { "do_futex", HP_SIGN_LOCK },
	{ "sched_yield", HP_SIGN_YIELD },     { "sys_read", HP_SIGN_FILE },
	{ "sys_write", HP_SIGN_FILE },	      { "sys_write", HP_SIGN_WRITE },
	{ "sys_pwrite", HP_SIGN_WRITE },      { "ksys_write", HP_SIGN_WRITE },
	{ "sys_pread", HP_SIGN_FILE },	      { "sys_pwrite", HP_SIGN_FILE },
	{ "sys_lseek", HP_SIGN_FILE },	      { "^ksys_", HP_SIGN_FILE },
	{ "sys_send", HP_SIGN_SOCKET },	      { "sys_recv", HP_SIGN_SOCKET },
	{ "^sock_", HP_SIGN_SOCKET },	      { "^tcp_", HP_SIGN_SOCKET },
	{ "^unix_", HP_SIGN_SOCKET },	      { "copy_to_", HP_SIGN_DATA },
	{ "copy_from_", HP_SIGN_DATA },	      { "copy_folio_", HP_SIGN_DATA },
	{ "copy_page_", HP_SIGN_DATA },	      { "copy_user", HP_SIGN_DATA },
	{ "rep_movs", HP_SIGN_DATA },	      { "memcpy", HP_SIGN_DATA },
	{ "clear_page", HP_SIGN_DATA },	      { "clear_user", HP_SIGN_DATA },
	{ "get_random_bytes", HP_SIGN_DATA }, { "chacha", HP_SIGN_DATA },
	{ "sys_fsync", HP_SIGN_SYNC },	      { "sys_open", HP_SIGN_OPEN },
	{ "sys_close", HP_SIGN_CLOSE },	      { "sys_fdatasync", HP_SIGN_SYNC },
	{ "sys_msync", HP_SIGN_SYNC },	      { "sys_clone", HP_SIGN_START },
	{ "sys_vfork", HP_SIGN_START },	      { "sys_fork", HP_SIGN_START },
	{ "sys_exec", HP_SIGN_START },	      { "sys_exit", HP_SIGN_START },
	{ "sys_connect", HP_SIGN_CONNECT },
};

/* Work that the kernel does once per call, however small the request; by the innermost function. */
static const struct word call[] = {
	{ "do_syscall_64", HP_SIGN_CALL },
	{ "^entry_SYSCALL", HP_SIGN_CALL },
	{ "^syscall_", HP_SIGN_CALL },
	{ "_sys_", HP_SIGN_CALL },
	{ "^ksys_", HP_SIGN_CALL },
	{ "^vfs_", HP_SIGN_CALL },
	{ "rw_verify_area", HP_SIGN_CALL },
	{ "fdget", HP_SIGN_CALL },
	{ "^security_", HP_SIGN_CALL },
	{ "^apparmor_", HP_SIGN_CALL },
	{ "^aa_", HP_SIGN_CALL },
	{ "atime", HP_SIGN_CALL },
	{ "file_update_time", HP_SIGN_CALL },
	{ "_file_read_iter", HP_SIGN_CALL },
	{ "_file_write_iter", HP_SIGN_CALL },
	{ "^new_sync_", HP_SIGN_CALL },
	{ "_buffered_write_iter", HP_SIGN_CALL },
	{ "ktime_get_coarse", HP_SIGN_CALL },
	{ "indirect_thunk", HP_SIGN_CALL },
	{ "el0_svc", HP_SIGN_CALL },
	{ "invoke_syscall", HP_SIGN_CALL },
	{ "fsnotify", HP_SIGN_CALL },
	{ "=read", HP_SIGN_CALL },
	{ "=__read", HP_SIGN_CALL },
	{ "=write", HP_SIGN_CALL },
	{ "=__write", HP_SIGN_CALL },
	{ "^write_null", HP_SIGN_CALL },
	{ "^read_zero", HP_SIGN_CALL },
};

static bool is_word(const char *name, const char *word)
{
	if (word[0] == '^')
		return strncmp(name, word + 1, strlen(word + 1)) == 0;
	if (word[0] == '=')
		return strcmp(name, word + 1) == 0;
	return strstr(name, word) != NULL;
}

static uint32_t marks_of(const char *name, const struct word *words, size_t count)
{
	uint32_t marks = 0;

	for (size_t i = 0; i < count; i++)
		if (is_word(name, words[i].text))
			marks |= HP_SIGN_BIT(words[i].mark);
	return marks;
}

/* Containers with contiguous elements: an insertion into others moves nothing. */
static bool is_in_one_piece(const char *name)
{
	return strstr(name, "vector") || strstr(name, "deque") || strstr(name, "basic_string") ||
	       strstr(name, "std::string") || strncmp(name, "std::remove", 11) == 0;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

bool hp_sign_is_value(const char *name)
{
	const char *own = NULL, *outer = name;
	size_t length;

	for (const char *at = name; at[0] && at[1]; at++)
		if (at[0] == ':' && at[1] == ':') {
			outer = own ? own : name;
			own = at + 2;
		}
	if (!own)
		return false;
	own += *own == '~';
	for (length = 0; is_name_char(own[length]);)
		length++;
	return length && strncmp(own, outer, length) == 0 && !is_name_char(outer[length]);
}

uint32_t hp_signs_of_library(const char *name)
{
	uint32_t marks = marks_of(name, library, sizeof(library) / sizeof(library[0]));

	if (!is_in_one_piece(name))
		marks &= ~HP_SIGN_BIT(HP_SIGN_MOVE);
	if (hp_wrapper_allocates(name))
		marks |= HP_SIGN_BIT(HP_SIGN_ALLOC);
	return marks;
}

uint32_t hp_signs_of_kernel(const char *name)
{
	/* It reads no file's data. */
	if (strstr(name, "readlink"))
		return 0;
	return marks_of(name, kernel, sizeof(kernel) / sizeof(kernel[0]));
}

uint32_t hp_signs_of_call(const char *name)
{
	return marks_of(name, call, sizeof(call) / sizeof(call[0]));
}
