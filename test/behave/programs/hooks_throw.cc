// SPDX-License-Identifier: MIT
//
// hooks_throw.cc - functions that are left by an exception: across instrumented
// and uninstrumented frames, through destructors, rethrown, from recursion,
// and by pthread_exit, which unwinds as an exception does.
#include "hooks.h"

#include <pthread.h>

#include <stdexcept>

static volatile long passes;

COUNTER(thrower);
SEEN static void thrower(long depth)
{
	CALLED(thrower);
	if (depth == 0)
		throw std::runtime_error("x");
	thrower(depth - 1);
	passes = passes + 1;
}

// This frame is compiled without hooks.
UNSEEN static void between(long depth)
{
	thrower(depth);
	passes = passes + 1;
}

COUNTER(cleaned);
SEEN static void cleaned()
{
	CALLED(cleaned);
	passes = passes + 1;
}

struct Guard {
	__attribute__((no_instrument_function)) ~Guard()
	{
		cleaned();
	}
};

COUNTER(holder);
SEEN static void holder(long depth)
{
	CALLED(holder);
	Guard guard;
	between(depth);
}

COUNTER(tail);
SEEN static void tail()
{
	CALLED(tail);
	spin_ns(500);
}

COUNTER(again_thrown);
SEEN static void again_thrown(long depth)
{
	CALLED(again_thrown);
	try {
		holder(depth);
	} catch (const std::exception &) {
		tail();
		throw;
	}
}

COUNTER(catcher);
SEEN static void catcher(long depth)
{
	CALLED(catcher);
	try {
		again_thrown(depth);
	} catch (const std::runtime_error &) {
		passes = passes + 1;
	}
	tail();
}

static void exceptions(long count)
{
	for (long i = 0; i < count; i++)
		catcher(i % 6);
}

COUNTER(leaver);
SEEN static void leaver(long depth)
{
	CALLED(leaver);
	Guard guard;
	if (depth == 0)
		pthread_exit(nullptr);
	leaver(depth - 1);
	passes = passes + 1;
}

COUNTER(threaded);
SEEN static void *threaded(void *depth)
{
	CALLED(threaded);
	leaver((long)depth);
	return nullptr;
}

static void exits(long count)
{
	for (long i = 0; i < count; i++) {
		pthread_t thread;

		DIE_IF(pthread_create(&thread, nullptr, threaded, (void *)(i % 6)));
		pthread_join(thread, nullptr);
	}
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "exceptions", exceptions },
		{ "exits", exits },
		{ nullptr, nullptr },
	};

	return scene_run(scenes, argc, argv);
}
