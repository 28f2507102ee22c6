// SPDX-License-Identifier: MIT
// alloc_stl.cc - containers, and exceptions on their way through frames that hold blocks.
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static int thrower(int depth, const std::string &text)
{
	std::vector<std::string> held(3, text);

	if (depth == 0)
		throw std::runtime_error(held[1] +
					 " and a text too long for its place in the string");
	return thrower(depth - 1, text) + static_cast<int>(held.size());
}

struct alignas(128) Wide {
	char bytes[256];
};

int main()
{
	std::map<std::string, std::vector<int>> map;
	int caught = 0;

	for (int i = 0; i < 500; i++) {
		map["a key that is longer than sixteen bytes " + std::to_string(i % 100)].push_back(
			i);
		try {
			caught += thrower(i % 7,
					  std::to_string(i) + " is the number of this one here");
		} catch (const std::exception &error) {
			caught += error.what()[0];
		}
		auto wide = std::make_unique<Wide>();
		wide->bytes[0] = static_cast<char>(i);
		caught += wide->bytes[0];
	}
	std::printf("%zu %d\n", map.size(), caught);
	return 0;
}
