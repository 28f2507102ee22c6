/* SPDX-License-Identifier: MIT */
/*
 * storm_object.cc - a C++ library with constructors and destructors, of the library and of each
 * thread. LETTER is in the names of counted functions. With OTHER it opens another library and
 * closes it in its destructor.
 */
#include <dlfcn.h>

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define OWN(name) PASTE(name, LETTER)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

/* The program's own count. */
extern "C" void said(const char *name) __attribute__((no_instrument_function));

#define COUNTED(name) \
	extern "C" __attribute__((noinline)) void OWN(name)() \
	{ \
		said(TEXT(OWN(name))); \
	}

COUNTED(made_)
COUNTED(gone_)
COUNTED(used_)
COUNTED(left_)

namespace
{
#ifdef OTHER
struct Other {
	void *handle = dlopen(OTHER, RTLD_NOW);
	~Other()
	{
		dlclose(handle);
	}
} other;
#endif

struct Whole {
	int *block = new int[10];
	Whole()
	{
		OWN(made_)();
	}
	~Whole()
	{
		OWN(gone_)();
		delete[] block;
	}
} whole;

struct Own {
	int *block = new int[20];
	~Own()
	{
		OWN(left_)();
		delete[] block;
	}
};
thread_local Own own;
} // namespace

/* With `stays` the thread gets its own object, and the library stays until the thread ends. */
extern "C" __attribute__((no_instrument_function)) void entry(int stays)
{
	OWN(used_)();
	if (stays)
		own.block[0]++;
}
