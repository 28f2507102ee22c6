// SPDX-License-Identifier: MIT
//
// alloc_lost.cc - unfreed blocks: reachable from data, the stack, thread-local storage, by a
// pointer into their middle, through others; and lost ones. Valgrind's memcheck is asked the same.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

struct Node {
	Node *left, *right;
	char text[40];
};

struct Counted {
	long number;
	~Counted()
	{
		number = 0;
	}
};

Node *volatile kept_tree;
char *volatile kept_middle;
Counted *volatile kept_array;
std::string *volatile kept_text;
static thread_local char *volatile kept_local;
void *volatile kept_large;
char *volatile kept_end;

__attribute__((noinline)) static Node *tree(int depth)
{
	Node *node = (Node *)calloc(1, sizeof(*node));
	if (depth) {
		node->left = tree(depth - 1);
		node->right = tree(depth - 1);
	}
	return node;
}

__attribute__((noinline)) static void keep_tree()
{
	kept_tree = tree(5);
}
__attribute__((noinline)) static void keep_middle()
{
	kept_middle = (char *)malloc(500) + 77;
}
__attribute__((noinline)) static void keep_array()
{
	kept_array = new Counted[20];
}
__attribute__((noinline)) static void keep_text()
{
	kept_text = new std::string(300, 'x');
}
__attribute__((noinline)) static void keep_local()
{
	kept_local = (char *)malloc(123);
}
__attribute__((noinline)) static void keep_large()
{
	kept_large = malloc(3 << 20);
	memset(kept_large, 1, 100);
}

// The list is reachable through its last node, in a block that only a large block points to.
__attribute__((noinline)) static void keep_list()
{
	Node *list = nullptr;
	for (int i = 0; i < 100; i++) {
		Node *node = (Node *)calloc(1, sizeof(*node));
		node->left = list;
		list = node;
	}
	((Node **)kept_large)[1000] = list;
}

__attribute__((noinline)) static void lose_list()
{
	Node *list = nullptr;
	for (int i = 0; i < 50; i++) {
		Node *node = (Node *)calloc(1, sizeof(*node));
		node->left = list;
		list = node;
	}
}

// Two nodes that point only to each other, and nothing else does.
__attribute__((noinline)) static void lose_circle()
{
	Node *a = (Node *)calloc(1, sizeof(*a)), *b = (Node *)calloc(1, sizeof(*b));
	a->left = b;
	b->right = a;
}

__attribute__((noinline)) static void lose_tree()
{
	tree(4);
}
__attribute__((noinline)) static void lose_large()
{
	char *volatile p = (char *)malloc(2 << 20);
	p[0] = 1;
}
__attribute__((noinline)) static void lose_text()
{
	new std::string(200, 'y');
}
__attribute__((noinline)) static void lose_empty()
{
	char *volatile p = (char *)malloc(0);
	(void)p;
}

// A pointer to just after a block does not point to it.
__attribute__((noinline)) static void lose_end()
{
	kept_end = (char *)malloc(72) + 72;
}

// In the arena of an ended thread; something points to one of its blocks.
__attribute__((noinline)) static void in_thread()
{
	lose_list();
	keep_list();
	std::vector<int> some(1000, 7);
	char *volatile of_thread = (char *)malloc(some.size());
	(void)of_thread;
}

// The lost blocks' addresses must not remain on the stack.
__attribute__((noinline)) static void wipe(int depth)
{
	volatile char room[512];
	for (unsigned i = 0; i < sizeof(room); i++)
		room[i] = 0;
	if (depth)
		wipe(depth - 1);
	room[0] = 1;
}

int main(int argc, char **argv)
{
	char *volatile on_stack = (char *)malloc(321);

	keep_tree();
	keep_middle();
	keep_array();
	keep_text();
	keep_local();
	keep_large();
	keep_list();
	lose_list();
	lose_circle();
	lose_tree();
	lose_large();
	lose_text();
	lose_empty();
	lose_end();
	if (argc > 1 && strcmp(argv[1], "thread") == 0)
		std::thread(in_thread).join();
	if (argc > 1 && strcmp(argv[1], "beside") == 0)
		std::thread([] {
			for (;;)
				std::this_thread::sleep_for(std::chrono::seconds(1));
		}).detach();
	wipe(20);
	puts("done");
	wipe(20);
	on_stack[0] = 1;
	exit(0);
}
