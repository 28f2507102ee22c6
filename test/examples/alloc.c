/* SPDX-License-Identifier: MIT */
/*
 * alloc.c - a list, a tree of text and a growing buffer: three ways to use the
 * heap, each in separate functions.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *left;
	struct node *right;
	char *key;
	int count;
};

static uint32_t seed = 1;

static uint32_t number(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void *need(size_t size)
{
	void *memory = malloc(size);

	if (!memory)
		abort();
	return memory;
}

static char *make_key(void)
{
	char *key = need(16);

	snprintf(key, 16, "key-%u", number(5000));
	return key;
}

static struct node *make_node(char *key)
{
	struct node *node = need(sizeof(*node));

	*node = (struct node){ .key = key, .count = 1 };
	return node;
}

static void insert(struct node **place, char *key)
{
	while (*place) {
		int order = strcmp(key, (*place)->key);

		if (order == 0) {
			(*place)->count++;
			free(key);
			return;
		}
		place = order < 0 ? &(*place)->left : &(*place)->right;
	}
	*place = make_node(key);
}

static size_t release(struct node *node)
{
	size_t released;

	if (!node)
		return 0;
	released = 1 + release(node->left) + release(node->right);
	free(node->key);
	free(node);
	return released;
}

static size_t grow_buffer(size_t pieces)
{
	char *buffer = NULL;
	size_t used = 0, size = 0;

	for (size_t i = 0; i < pieces; i++) {
		if (used + 100 > size) {
			size = size ? size * 2 : 128;
			buffer = realloc(buffer, size);
			if (!buffer)
				abort();
		}
		memset(buffer + used, 'x', 100);
		used += 100;
	}
	free(buffer);
	return used;
}

int main(void)
{
	struct node *root = NULL;
	size_t bytes;

	for (int i = 0; i < 200000; i++)
		insert(&root, make_key());
	bytes = grow_buffer(200000);
	printf("%zu keys, %zu bytes\n", release(root), bytes);
	return 0;
}
