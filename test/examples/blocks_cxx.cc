// SPDX-License-Identifier: MIT
//
// blocks_cxx.cc - include/hotpath.h in C++: guards, exceptions, templates.
//
//	c++ -O2 -DHOTPATH -I include $(hotpath flags c++) blocks_cxx.cc -o blocks
//	hotpath-run ./blocks
//
// A block ends with its scope, so an exception ends it too.  A guard with a name
// can be ended earlier. Blocks of a template are one row, whatever its arguments.
#include <hotpath.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

HOTPATH_DEFAULTS("percentiles=50,99");

HOTPATH_SKIP static unsigned random_next()
{
	static std::uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return static_cast<unsigned>(state >> 33);
}

template <typename T> static std::vector<T> sorted(std::size_t count)
{
	HOTPATH_BLOCK("sort");
	std::vector<T> values(count);

	for (T &value : values)
		value = static_cast<T>(random_next());
	std::sort(values.begin(), values.end());
	return values;
}

static std::size_t parse(const std::string &text)
{
	HOTPATH_BLOCK("parse");

	for (std::size_t i = 0; i < text.size(); i++)
		if (text[i] == '?')
			throw std::runtime_error("what is that?");
	return text.size();
}

struct account {
	std::string name;
	long sum = 0;

	void book(long amount)
	{
		HOTPATH_NAME("account.book");

		HOTPATH_GUARD(checking, "checking");
		for (char c : name)
			amount ^= c;
		checking.end(); // the rest is not part of it
		sum += amount;
		HOTPATH_RESULT(name.c_str());
	}
};

int main()
{
	account accounts[] = { { "rent" }, { "bread" }, { "books" } };
	std::size_t parsed = 0, refused = 0;

	for (int i = 0; i < 3000; i++) {
		try {
			parsed += parse(i % 10 ? "a line of some text" : "a line? or not");
		} catch (const std::runtime_error &) {
			refused++;
		}
		accounts[i % 3].book(i);
	}
	parsed += sorted<int>(20000).size() + sorted<double>(20000).size();
	std::printf("%zu parsed, %zu refused, %ld\n", parsed, refused,
		    accounts[0].sum + accounts[1].sum + accounts[2].sum);
	return 0;
}
