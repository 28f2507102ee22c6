/* SPDX-License-Identifier: MIT */
/* planted.cc NAME [fixed] - like planted.c, for C++ programs. */
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <regex>
#include <stdexcept>
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

/* The fix appends. */
APART std::string page()
{
	std::string text;

	for (int i = 0; i < 6000; i++) {
		std::string row = "<tr><td>" + std::to_string(i) + "</td></tr>\n";
		if (is_fixed)
			text += row;
		else
			text = text + row;
	}
	return text;
}

void concats()
{
	size_t length = 0;

	for (int i = 0; i < 20; i++)
		length += page().size();
	printf("%zu\n", length);
}

APART double smoothed(int seed)
{
	double sum = seed;

	for (int i = 0; i < 400000; i++)
		sum = sum * .999 + i % 7;
	return sum;
}

/* Several threads hand numbers over to one, or, with the fix, to two. */
class Belt
{
      public:
	APART void put(int number)
	{
		std::unique_lock<std::mutex> lock(guard);

		room.wait(lock, [this] { return numbers.size() < 4; });
		numbers.push_back(number);
		any.notify_one();
	}
	APART int take()
	{
		std::unique_lock<std::mutex> lock(guard);

		any.wait(lock, [this] { return !numbers.empty(); });
		int number = numbers.front();
		numbers.erase(numbers.begin());
		room.notify_one();
		return number;
	}

      private:
	std::mutex guard;
	std::condition_variable room, any;
	std::vector<int> numbers;
};

void slow_taker()
{
	enum { MAKERS = 2, EACH = 400 };
	Belt belt;
	std::vector<std::thread> threads;
	const int takers = is_fixed ? 2 : 1;
	double sums[2] = {};

	for (int i = 0; i < MAKERS; i++)
		threads.emplace_back([&belt] {
			for (int k = 0; k < EACH; k++)
				belt.put(k);
		});
	for (int i = 0; i < takers; i++)
		threads.emplace_back([&belt, &sums, i, takers] {
			for (int k = 0; k < MAKERS * EACH / takers; k++)
				sums[i] += smoothed(belt.take());
		});
	for (auto &thread : threads)
		thread.join();
	printf("%g\n", sums[0] + sums[1]);
}

/* Reads a number again and again until another thread, which mostly sleeps, changes it. */
void spins()
{
	std::atomic<int> number{ 0 };
	std::thread other([&number] {
		for (int i = 0; i < 50; i++) {
			std::this_thread::sleep_for(std::chrono::milliseconds(5));
			number.store(i + 1, std::memory_order_release);
		}
	});
	long sum = 0;

	for (int seen = 0; seen < 50; sum += seen) {
		while (number.load(std::memory_order_acquire) <= seen)
			;
		seen = number.load(std::memory_order_acquire);
	}
	other.join();
	printf("%ld\n", sum);
}

/* Healthy: the thread that writes rightly waits for the one that computes. */
void writer()
{
	enum { LINES = 800 };
	Belt belt;
	double sum = 0;
	std::thread other([&belt] {
		long all = 0;

		for (int i = 0; i < LINES; i++)
			all += belt.take();
		printf("%ld\n", all);
	});

	for (int i = 0; i < LINES; i++) {
		sum += smoothed(i);
		belt.put(i);
	}
	other.join();
	printf("%g\n", sum);
}

APART int number_of(const std::string &text)
{
	int number = -1;

	if (is_fixed) {
		std::from_chars(text.data(), text.data() + text.size(), number);
		return number;
	}
	if (text[0] < '0' || text[0] > '9')
		throw std::invalid_argument("not a number");
	std::from_chars(text.data(), text.data() + text.size(), number);
	return number;
}

void throws()
{
	const std::string texts[] = { "17", "x17", "4", "none" };
	long sum = 0;

	for (int i = 0; i < 400000; i++) {
		try {
			sum += number_of(texts[i % 4]);
		} catch (const std::exception &) {
			sum--;
		}
		for (int k = 0; k < 300; k++)
			sum = sum * 31 + k;
	}
	printf("%ld\n", sum);
}

APART bool is_setting(const std::string &line)
{
	static const std::regex kept("([a-z]+)=([0-9]+)");

	return is_fixed ? std::regex_match(line, kept)
			: std::regex_match(line, std::regex("([a-z]+)=([0-9]+)"));
}

void regexes()
{
	long sum = 0;

	for (int i = 0; i < 6000; i++)
		sum += is_setting("value=" + std::to_string(i));
	printf("%ld\n", sum);
}

const struct {
	const char *name;
	void (*run)();
} faults[] = { { "search", search },	     { "erases", erases },  { "churn", churn },
	       { "copies", copies },	     { "shared", shared },  { "concats", concats },
	       { "slow-taker", slow_taker }, { "spins", spins },    { "writer", writer },
	       { "throws", throws },	     { "regexes", regexes } };

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
