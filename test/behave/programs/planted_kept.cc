// SPDX-License-Identifier: MIT
// planted_kept.cc NAME [fixed] - like planted.c: what could be kept, and what is kept too long.
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <unistd.h>

#define APART __attribute__((noinline))

namespace
{

bool is_fixed;
volatile long sink;

APART long mixed(long x)
{
	for (int i = 0; i < 1500; i++)
		x = x * 1103515245 + 12345;
	return x & 1023;
}

/* --- resolves: the path of each item, all of one directory --- */

APART bool is_inside(const std::string &folder, const std::string &path)
{
	static std::string known;
	char buffer[PATH_MAX], parent[PATH_MAX];

	if (is_fixed) {
		if (known.empty() && realpath(folder.c_str(), buffer))
			known = buffer;
		return path.compare(0, folder.size(), folder) == 0 && !known.empty();
	}
	return realpath(folder.c_str(), parent) && realpath(path.c_str(), buffer) &&
	       std::string(buffer).rfind(parent, 0) == 0;
}

std::string here()
{
	char buffer[PATH_MAX];

	return getcwd(buffer, sizeof(buffer)) ? buffer : "/";
}

void resolves()
{
	const std::string folder = here();

	for (int i = 0; i < 60000; i++)
		sink += is_inside(folder, folder + (i % 2 ? "/words" : "/words2")) + mixed(i);
}

/* Healthy: it asks for the target of each link, as ls -l does. */
APART long target_length(const std::string &path)
{
	char buffer[PATH_MAX];

	return readlink(path.c_str(), buffer, sizeof(buffer));
}

void links()
{
	const std::string path = "/proc/self/exe";

	for (int i = 0; i < 200000; i++)
		sink += target_length(path) + (i % 64 ? i : mixed(i));
}

const struct {
	const char *name;
	void (*run)();
} programs[] = {
	{ "resolves", resolves },
	{ "links", links },
};

} // namespace

int main(int argc, char **argv)
{
	is_fixed = argc > 2;
	for (const auto &program : programs)
		if (argc > 1 && strcmp(program.name, argv[1]) == 0) {
			program.run();
			return 0;
		}
	return 2;
}
