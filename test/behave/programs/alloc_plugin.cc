// SPDX-License-Identifier: MIT
// alloc_plugin.cc - a library for alloc_open.c: two blocks per round, of 24 and 101 bytes, freed
// again. None through libstdc++, which resolves operator new in the scope of its first user.
#include <vector>

struct Node {
	long number, left, right;
};

struct Text {
	char text[101];
};

static std::vector<int> early(100, 3);

extern "C" __attribute__((noinline)) long work(int rounds)
{
	long sum = early[5];
	for (int i = 0; i < rounds; i++) {
		Node *volatile node = new Node{ i, 1, 2 };
		Text *volatile text = new Text;
		text->text[50] = char('a' + i % 26);
		sum += node->number + text->text[50];
		delete text;
		delete node;
	}
	return sum;
}
