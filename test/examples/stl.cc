// SPDX-License-Identifier: MIT
//
// stl.cc - C++ with the standard library's templates, whose names are long, and
// with exceptions that leave several functions at once.

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace shop
{

struct Order {
	std::string customer;
	unsigned amount;
};

class Ledger
{
      public:
	void add(const Order &order)
	{
		if (order.amount == 0)
			throw std::invalid_argument("order of nothing");
		sums_[order.customer] += order.amount;
		orders_.push_back(std::make_unique<Order>(order));
	}

	std::vector<std::pair<std::string, unsigned>> best(size_t count) const
	{
		std::vector<std::pair<std::string, unsigned>> all(sums_.begin(), sums_.end());

		std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) {
			return a.second != b.second ? a.second > b.second : a.first < b.first;
		});
		all.resize(std::min(count, all.size()));
		return all;
	}

      private:
	std::unordered_map<std::string, unsigned> sums_;
	std::vector<std::unique_ptr<Order>> orders_;
};

template <typename T> class Generator
{
      public:
	explicit Generator(T seed) : state_(seed)
	{
	}

	T next(T below)
	{
		state_ = state_ * 1664525u + 1013904223u;
		return (state_ >> 8) % below;
	}

      private:
	T state_;
};

// Goes down some levels before it fails, so that the exception leaves them all.
static void check(const Order &order, unsigned depth)
{
	if (depth > 0)
		return check(order, depth - 1);
	if (order.amount % 97 == 0)
		throw std::runtime_error("amount looks wrong");
}

static unsigned fill(Ledger &ledger, unsigned count)
{
	Generator<unsigned> random(42);
	unsigned refused = 0;

	for (unsigned i = 0; i < count; i++) {
		Order order{ "customer-" + std::to_string(random.next(500)), random.next(1000) };

		try {
			check(order, order.amount % 5);
			ledger.add(order);
		} catch (const std::exception &) {
			refused++;
		}
	}
	return refused;
}

} // namespace shop

int main()
{
	shop::Ledger ledger;
	unsigned refused = shop::fill(ledger, 20000);
	std::map<std::string, std::function<unsigned(unsigned)>> steps = {
		{ "double", [](unsigned x) { return x * 2; } },
		{ "half", [](unsigned x) { return x / 2; } },
	};

	for (const auto &[name, sum] : ledger.best(3))
		std::printf("%s %u\n", name.c_str(), steps.at("half")(steps.at("double")(sum)));
	std::printf("%u refused\n", refused);
	return 0;
}
