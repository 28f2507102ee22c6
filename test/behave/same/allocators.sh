# SPDX-License-Identifier: MIT
# allocators.sh build FOLDER - tcmalloc's and mimalloc's own tests, from Debian's sources, where they are run from
# afterwards; those without network, or without the packages, are not there, and their cases are skipped.
place=$TOOLS/allocators
fetch=${0%/*}/../../../scripts/fetch-source
tcmalloc="realloc thread_dealloc markidle memalign large_heap_fragmentation tcmalloc_large"
mimalloc="test-api test-api-fill test-stress"
mkdir -p "$place"

# The results of their configure.
config()
{
	for name in HAVE_MMAP HAVE_PTHREAD HAVE_FORK HAVE_SBRK HAVE_STDINT_H HAVE_INTTYPES_H HAVE_SYS_TYPES_H \
		HAVE_UNISTD_H HAVE_SYS_MMAN_H HAVE_FCNTL_H HAVE_MALLOC_H HAVE_STRUCT_MALLINFO HAVE___ATTRIBUTE__ \
		HAVE_GETPAGESIZE HAVE_BUILTIN_EXPECT HAVE_TLS ENABLE_SIZED_DELETE; do
		echo "#define $name 1"
	done
	printf '#define PERFTOOLS_DLL_DECL\n#define PRIuS "zu"\n#define PRIxPTR "lx"\n#define TCMALLOC_PAGE_SIZE_SHIFT 13\n'
}

# first FILE... - the first existing file, of a library that is linked by its path.
first()
{
	for file; do [ ! -e "$file" ] || { echo "$file"; return; }; done
	return 1
}

if library=$(first /usr/lib/*/libtcmalloc_minimal.so.4) && source=$("$fetch" google-perftools "$2"); then
	config >"$place/config.h"
	for test in $tcmalloc; do
		g++ -O1 -w -fpermissive -std=gnu++17 -fno-builtin -I"$place" -I"$source/src" -include "$place/config.h" \
			-o "$place/$test" "$source/src/tests/${test}_unittest.cc" "$source/src/tests/testutil.cc" \
			"$library" -lpthread
	done
fi
if library=$(first /usr/lib/*/libmimalloc.so.2.0) && source=$("$fetch" mimalloc "$2"); then
	for test in $mimalloc; do
		gcc -O1 -w -I"$source/include" -I"$source/test" -o "$place/$test" "$source/test/$test.c" \
			"$library" -lpthread
	done
fi
