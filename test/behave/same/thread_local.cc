// SPDX-License-Identifier: MIT
//
// thread_local.cc - thread-local objects whose constructors and destructors allocate, lock and read
// files; some are made by the destructors of others.
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::mutex mutex;
static int ends;

struct Late {
	std::vector<std::string> texts = std::vector<std::string>(20, std::string(50, 'x'));
	~Late()
	{
		std::unique_ptr<char[]> block(new char[100000]);
		std::lock_guard<std::mutex> lock(mutex);
		FILE *file = fopen("/proc/self/maps", "r");

		if (file) {
			fclose(file);
			ends++;
		}
		texts.clear();
	}
};

static thread_local Late late;

struct Early {
	std::string text = "early";
	~Early()
	{
		// Constructed while another one is destroyed.
		late.texts.push_back(text + std::to_string(late.texts.size()));
	}
};

static thread_local Early early;

static void work()
{
	early.text += " used";
}

int main()
{
	for (int round = 0; round < 20; round++) {
		std::thread threads[4] = { std::thread(work), std::thread(work), std::thread(work),
					   std::thread(work) };
		for (std::thread &thread : threads)
			thread.join();
	}
	work();
	printf("%d ended\n", ends);
	return ends == 80 ? 7 : 1;
}
