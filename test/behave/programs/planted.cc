/* SPDX-License-Identifier: MIT */
/* planted.cc NAME [fixed] - like planted.c, for C++ programs. */
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#define APART __attribute__((noinline))

namespace
{

bool is_fixed;

struct Item {
	std::string name;
	int price;
};

struct Catalog {
	std::vector<Item> items;
	std::unordered_map<std::string, const Item *> by_name;

	APART const Item *find_by_name(const std::string &name) const
	{
		if (is_fixed)
			return by_name.find(name)->second;
		return &*std::find_if(items.begin(), items.end(),
				      [&](const Item &item) { return item.name == name; });
	}
};

void search()
{
	Catalog catalog;
	long sum = 0;

	for (int i = 0; i < 20000; i++)
		catalog.items.push_back({ "item number " + std::to_string(i), i });
	for (auto &item : catalog.items)
		catalog.by_name[item.name] = &item;
	for (int i = 0; i < 12000; i++)
		sum += catalog.find_by_name("item number " + std::to_string(i * 7919 % 20000))
			       ->price;
	printf("%ld\n", sum);
}

APART long pop(std::vector<long> &queue)
{
	long value = queue.front();

	queue.erase(queue.begin());
	return value;
}

void erases()
{
	std::vector<long> queue(150000);
	std::deque<long> fast(150000);
	long sum = 0;

	if (is_fixed)
		for (; !fast.empty(); fast.pop_front())
			sum += fast.front();
	else
		while (!queue.empty())
			sum += pop(queue);
	printf("%ld\n", sum);
}

APART std::string label(int i)
{
	std::string text = "a rather long prefix for item ";

	text += std::to_string(i);
	return text;
}

APART size_t hash_of(const std::string &text)
{
	size_t hash = 0;

	for (char c : text)
		hash = hash * 31 + (unsigned char)c;
	return hash;
}

void churn()
{
	const std::string prefix = "a rather long prefix for item ";
	std::string text;
	size_t hash = 0;

	for (int i = 0; i < 5000000; i++) {
		if (!is_fixed) {
			hash += hash_of(label(i));
			continue;
		}
		text = prefix;
		text += std::to_string(i);
		hash += hash_of(text);
	}
	printf("%zu\n", hash);
}

struct Matrix {
	std::vector<double> cells;
	Matrix() : cells(200000)
	{
	}
};

APART double trace_of_copy(Matrix matrix, int i)
{
	return matrix.cells[(size_t)i];
}

APART double trace(const Matrix &matrix, int i)
{
	return matrix.cells[(size_t)i];
}

void copies()
{
	Matrix matrix;
	double sum = 0;

	for (int i = 0; i < 6000; i++)
		sum += is_fixed ? trace(matrix, i) : trace_of_copy(matrix, i);
	printf("%g\n", sum);
}

struct Cache {
	std::mutex guard;
	double value = 0;

	APART void use()
	{
		std::lock_guard<std::mutex> lock(guard);

		for (int k = 0; k < 30000; k++)
			value = value + k * .5;
	}
};

void shared()
{
	auto common = std::make_unique<Cache>();
	Cache own[2];
	std::vector<std::thread> threads;

	for (int i = 0; i < 2; i++)
		threads.emplace_back([&, i] {
			for (int k = 0; k < 6000; k++)
				is_fixed ? own[i].use() : common->use();
		});
	for (auto &thread : threads)
		thread.join();
}

const struct {
	const char *name;
	void (*run)();
} faults[] = { { "search", search },
	       { "erases", erases },
	       { "churn", churn },
	       { "copies", copies },
	       { "shared", shared } };

} // namespace

int main(int argc, char **argv)
{
	is_fixed = argc > 2;
	for (const auto &fault : faults)
		if (argc > 1 && strcmp(fault.name, argv[1]) == 0) {
			fault.run();
			return 0;
		}
	return 2;
}
