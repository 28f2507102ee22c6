// SPDX-License-Identifier: MIT
//
// hooks_tls.cc - constructors and destructors of thread_local objects, which
// run before and after everything else of a thread, and of static ones.
#include "hooks.h"

#include <thread>

COUNTER(born);
SEEN static void born()
{
	CALLED(born);
	spin_ns(100);
}

COUNTER(died);
SEEN static void died()
{
	CALLED(died);
	spin_ns(100);
}

struct Life {
	Life()
	{
		born();
	}
	~Life()
	{
		died();
	}
	volatile int value = 0;
};

static thread_local Life first, second;

// Its destructor runs after the numbers are printed, so it does not count itself.
struct Whole {
	Whole()
	{
		born();
	}
	~Whole()
	{
		value = 0;
	}
	volatile int value = 0;
};

static Whole whole;

COUNTER(body);
SEEN static void body()
{
	CALLED(body);
	first.value = 1;
	second.value = 1;
}

static void threads(long count)
{
	for (long i = 0; i < count; i++)
		std::thread(body).join();
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = { { "threads", threads }, { nullptr, nullptr } };
	int status = scene_run(scenes, argc, argv);

	whole.value = 1;
	return status;
}
