/* SPDX-License-Identifier: MIT */
/*
 * hooks_library.c - a library for hooks_load.c, its function named by NAME.
 * All libraries built from it have the same layout.  With LIFE, its constructor and
 * destructor run instrumented code: before our constructor, after our destructor.
 */
#define JOIN(a, b) a##b
#define MADE(name) JOIN(name, _made)

long MADE(NAME);
void NAME(void);

static __attribute__((noinline)) void shared_name(void)
{
	MADE(NAME)++;
}

void NAME(void)
{
	shared_name();
}

#ifdef LIFE
static __attribute__((noinline)) void in_constructor(void)
{
	MADE(NAME)++;
}

static __attribute__((noinline)) void in_destructor(void)
{
	MADE(NAME)++;
}

__attribute__((constructor)) static void construct(void)
{
	for (int i = 0; i < 7; i++)
		in_constructor();
}

__attribute__((destructor)) static void destruct(void)
{
	for (int i = 0; i < 9; i++)
		in_destructor();
}
#endif
