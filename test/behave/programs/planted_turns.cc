// SPDX-License-Identifier: MIT
// planted_turns.cc NAME [fixed] - like planted.c: threads that take turns, and room that is made anew.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define APART __attribute__((noinline))

namespace
{

bool is_fixed;
std::atomic<long> sink;

APART long numbers_sum(int from, int count)
{
	long sum = 0;

	for (int i = 0; i < count; i++)
		sum = sum * 31 + (from ^ i);
	return sum;
}

/* --- reserves: the exact room, for each few elements --- */

APART void points_add(std::vector<double> &points, const std::vector<double> &more)
{
	if (!is_fixed)
		points.reserve(points.size() + more.size());
	points.insert(points.end(), more.begin(), more.end());
}

void reserves()
{
	for (int round = 0; round < 8; round++) {
		std::vector<double> points;

		for (int i = 0; i < 8000; i++)
			points_add(points, std::vector<double>(8, i));
		sink += (long)points.back();
	}
}

/* Healthy: each vector is a new one, and reserves once. */
APART long squares_sum(int from)
{
	std::vector<long> squares;
	long sum = 0;

	squares.reserve(4000);
	for (int i = 0; i < 4000; i++)
		squares.push_back((long)i * (i ^ from));
	for (long square : squares)
		sum = sum * 31 + square;
	return sum;
}

void reserve_once()
{
	for (int i = 0; i < 60000; i++)
		sink += squares_sum(i);
}

/* --- maps: a part of a file is mapped for each look --- */

constexpr size_t part_size = 1 << 17, parts = 64;

APART int part_look(int fd, size_t part, size_t at)
{
	void *map = mmap(nullptr, part_size, PROT_READ, MAP_SHARED, fd, (off_t)(part * part_size));
	int value = static_cast<const unsigned char *>(map)[at];

	munmap(map, part_size);
	return value;
}

void maps()
{
	char name[] = "planted-maps-XXXXXX";
	int fd = mkstemp(name);

	unlink(name);
	if (ftruncate(fd, part_size * parts))
		abort();
	std::vector<char> data(part_size, 3);
	for (size_t part = 0; part < parts; part++)
		if (write(fd, data.data(), data.size()) < 0)
			abort();
	void *whole = mmap(nullptr, part_size * parts, PROT_READ, MAP_SHARED, fd, 0);
	for (size_t i = 0; i < 300000; i++) {
		size_t part = i * 31 % parts, at = i * 977 % part_size;

		sink += is_fixed ? static_cast<unsigned char *>(whole)[part * part_size + at]
				 : part_look(fd, part, at);
		sink += numbers_sum((int)i, 100);
	}
}

/* --- draws: all threads draw from one generator, which has a lock inside the library --- */

APART long draws_sum(unsigned seed, int count)
{
	long sum = 0;

	for (int i = 0; i < count; i++)
		sum += (is_fixed ? rand_r(&seed) : rand()) >> 8;
	return sum;
}

void draws()
{
	std::vector<std::thread> threads;

	for (unsigned i = 0; i < 4; i++)
		threads.emplace_back([i] { sink += draws_sum(i, 80000000); });
	for (std::thread &thread : threads)
		thread.join();
}

/* Healthy: one thread draws, and nobody waits. */
void draw_alone()
{
	std::thread other([] { sink += numbers_sum(3, 600000000); });

	sink += draws_sum(1, 150000000);
	other.join();
}

/* --- asks: the first thread asks two pipes, and does not wait --- */

APART long results_read(int *fds)
{
	pollfd in[2] = { { fds[0], POLLIN, 0 }, { fds[1], POLLIN, 0 } };
	long sum = 0, value;

	for (int open = 2; open;) {
		if (poll(in, 2, is_fixed ? -1 : 0) < 1)
			continue;
		for (pollfd &one : in) {
			if (!one.revents)
				continue;
			if (read(one.fd, &value, sizeof(value)) <= 0) {
				one.fd = -1;
				open--;
			} else {
				sum += value;
			}
		}
	}
	return sum;
}

/* Two threads that send results, each after so much work. */
void pipes_run(int results, int work)
{
	int ends[2][2];
	std::vector<std::thread> threads;

	for (int i = 0; i < 2; i++) {
		if (pipe(ends[i]))
			abort();
		threads.emplace_back([=] {
			for (int k = 0; k < results; k++) {
				long value = numbers_sum(k, work);

				if (write(ends[i][1], &value, sizeof(value)) < 0)
					abort();
			}
			close(ends[i][1]);
		});
	}
	int fds[2] = { ends[0][0], ends[1][0] };
	sink += results_read(fds);
	for (std::thread &thread : threads)
		thread.join();
}

void asks()
{
	pipes_run(300, 3000000);
}

/* Healthy: there is always something to read. */
void asks_rightly()
{
	is_fixed = true;
	pipes_run(300000, 100);
}

/* --- timeouts: nobody signals, so each item waits for the worker's timeout --- */

struct Bench {
	std::mutex mutex;
	std::condition_variable arrived, done;
	int item = 0;
	bool is_closed = false;

	APART void work()
	{
		std::unique_lock<std::mutex> hold(mutex);

		while (!is_closed) {
			if (!item) {
				arrived.wait_for(hold, std::chrono::milliseconds(4));
				continue;
			}
			sink += numbers_sum(item, 20000);
			item = 0;
			done.notify_one();
		}
	}

	APART void ask(int number)
	{
		std::unique_lock<std::mutex> hold(mutex);

		item = number;
		if (is_fixed)
			arrived.notify_one();
		done.wait(hold, [this] { return !item; });
	}

	void close()
	{
		std::lock_guard<std::mutex> hold(mutex);

		is_closed = true;
	}
};

void timeouts()
{
	Bench bench;
	std::thread worker([&] { bench.work(); });

	for (int i = 1; i < 300; i++)
		bench.ask(i);
	bench.close();
	worker.join();
}

/* Healthy: a thread looks from time to time, and nobody waits for it. */
void looks()
{
	Bench bench;
	std::thread worker([&] { bench.work(); });

	for (int i = 0; i < 300; i++)
		sink += numbers_sum(i, 4000000);
	bench.close();
	worker.join();
}

/* --- pairs: two threads hand over one small item at a time --- */

struct Slot {
	std::mutex mutex;
	std::condition_variable filled, emptied;
	std::vector<int> items;

	APART void give(std::vector<int> &more)
	{
		std::unique_lock<std::mutex> hold(mutex);

		emptied.wait(hold, [this] { return items.empty(); });
		items.swap(more);
		filled.notify_one();
	}

	APART void take(std::vector<int> &some)
	{
		std::unique_lock<std::mutex> hold(mutex);

		filled.wait(hold, [this] { return !items.empty(); });
		some.swap(items);
		emptied.notify_one();
	}
};

void pairs()
{
	const int all = 200000, each = is_fixed ? 500 : 1;
	Slot slot;
	std::thread taker([&] {
		for (int i = 0; i < all; i += each) {
			std::vector<int> some;

			slot.take(some);
			for (int item : some)
				sink += numbers_sum(item, 300);
		}
	});

	for (int i = 0; i < all; i += each) {
		std::vector<int> more;

		for (int k = 0; k < each; k++)
			more.push_back(i + k);
		slot.give(more);
	}
	taker.join();
}

/* Healthy: in each step all threads have work. */
struct Crew {
	std::mutex mutex;
	std::condition_variable start, end;
	int step = 0, left = 0;

	APART void work(int steps)
	{
		for (int seen = 0; seen < steps;) {
			{
				std::unique_lock<std::mutex> hold(mutex);

				start.wait(hold, [&] { return step > seen; });
				seen = step;
			}
			sink += numbers_sum(seen, 80000);
			std::lock_guard<std::mutex> hold(mutex);
			if (!--left)
				end.notify_one();
		}
	}

	APART void next(int threads)
	{
		std::unique_lock<std::mutex> hold(mutex);

		left = threads;
		step++;
		start.notify_all();
		end.wait(hold, [this] { return !left; });
	}
};

void steps()
{
	const int count = 12000;
	std::vector<std::thread> threads;
	Crew crew;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&] { crew.work(count); });
	for (int i = 0; i < count; i++)
		crew.next(4);
	for (std::thread &thread : threads)
		thread.join();
}

/* --- rests: a text without its first line, for each line --- */

APART std::string line_take(std::string &text)
{
	size_t end = text.find('\n');
	std::string line = text.substr(0, end);

	text = text.substr(end + 1);
	return line;
}

void rests()
{
	std::string text;

	for (int i = 0; i < 16000; i++)
		text += "a line of some text with the number " + std::to_string(i) + "\n";
	for (size_t at = 0; is_fixed && at < text.size();) {
		size_t end = text.find('\n', at);

		sink += (long)text.substr(at, end - at).size();
		at = end + 1;
	}
	while (!is_fixed && !text.empty())
		sink += (long)line_take(text).size();
}

/* --- healthy: a server that always has requests --- */

APART bool request_serve(int fd)
{
	char request[32];

	return read(fd, request, sizeof(request)) > 0 &&
	       write(fd, request, sizeof(request)) == (ssize_t)sizeof(request);
}

APART void requests_wait(int poller)
{
	for (int open = 2; open;) {
		epoll_event events[8];
		int count = epoll_wait(poller, events, 8, -1);

		for (int i = 0; i < count; i++)
			if (!request_serve(events[i].data.fd)) {
				epoll_ctl(poller, EPOLL_CTL_DEL, events[i].data.fd, nullptr);
				open--;
			}
	}
}

void serves()
{
	int poller = epoll_create1(0);
	std::vector<std::thread> clients;

	for (int i = 0; i < 2; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			abort();
		epoll_event event = {};
		event.events = EPOLLIN;
		event.data.fd = ends[0];
		epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event);
		clients.emplace_back([fd = ends[1]] {
			std::vector<char> many(32 * 100);

			for (int k = 0; k < 4000; k++) {
				if (write(fd, many.data(), many.size()) < 0)
					abort();
				for (size_t got = 0; got < many.size();) {
					ssize_t more = read(fd, many.data(), many.size() - got);

					if (more <= 0)
						abort();
					got += (size_t)more;
				}
			}
			shutdown(fd, SHUT_RDWR);
		});
	}
	requests_wait(poller);
	for (std::thread &client : clients)
		client.join();
}

/* --- numbers: an array is searched by a number, in a function whose name does not say it --- */

struct Member {
	uint32_t number;
	int visits;
	long room[4];
};

APART Member *member_of(std::vector<Member> &members, uint32_t number)
{
	if (is_fixed) {
		auto at = std::lower_bound(members.begin(), members.end(), number,
					   [](const Member &member, uint32_t than) {
						   return member.number < than;
					   });

		return at != members.end() && at->number == number ? &*at : nullptr;
	}
	for (size_t i = 0; i < members.size(); i++)
		if (members[i].number == number)
			return &members[i];
	return nullptr;
}

void numbers()
{
	std::vector<Member> members;

	for (uint32_t i = 0; i < 5000; i++)
		members.push_back({ 100000 + i * 13, 0, {} });
	for (uint32_t i = 0; i < 500000; i++)
		member_of(members, 100000 + i * 7919 % 5000 * 13)->visits++;
	sink += members[7].visits;
}

struct Link {
	Link *next;
	uint32_t number;
	int visits;
};

/* Healthy: a hash map with chains, larger than the caches. */
APART Link **chain_of(std::vector<Link *> &chains, uint32_t number)
{
	return &chains[number * 2654435761u >> 12];
}

APART Link *chained(std::vector<Link *> &chains, uint32_t number)
{
	Link *link = *chain_of(chains, number);

	while (link && link->number != number)
		link = link->next;
	return link;
}

void chains()
{
	std::vector<Link *> chains(1 << 20);
	std::vector<Link> all(1 << 21);

	for (uint32_t i = 0; i < all.size(); i++) {
		Link **chain = chain_of(chains, i * 77);

		all[i] = { *chain, i * 77, 0 };
		*chain = &all[i];
	}
	for (uint32_t i = 0; i < 6000000; i++)
		chained(chains, i * 2654435761u % (1 << 21) * 77)->visits++;
	sink += all[7].visits;
}

/* --- locks: threads wait in a loop until an exchange succeeds --- */

std::atomic_flag flag = ATOMIC_FLAG_INIT;
std::mutex lock;

APART void locked_work(int i)
{
	if (is_fixed) {
		std::lock_guard<std::mutex> hold(lock);

		sink += numbers_sum(i, 2000);
		return;
	}
	while (flag.test_and_set(std::memory_order_acquire))
		;
	sink += numbers_sum(i, 2000);
	flag.clear(std::memory_order_release);
}

void flags()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([] {
			for (int k = 0; k < 150000; k++)
				locked_work(k);
		});
	for (std::thread &thread : threads)
		thread.join();
}

/* Healthy: such a lock is nearly always free. */
void flags_alone()
{
	std::thread other([] {
		for (int i = 0; i < 1000; i++)
			sink += numbers_sum(i, 500000);
	});

	for (int k = 0; k < 400000; k++)
		locked_work(k);
	other.join();
}

/* Healthy: a table with hashed places, larger than the caches. */
APART uint32_t *place_of(std::vector<uint32_t> &places, uint32_t number)
{
	size_t mask = places.size() - 1, at = number * 2654435761u & mask;

	while (places[at] && places[at] != number)
		at = (at + 1) & mask;
	return &places[at];
}

void places()
{
	std::vector<uint32_t> places(1 << 24);

	for (uint32_t i = 1; i < 8000000; i++)
		*place_of(places, i * 97) = i * 97;
	for (uint32_t i = 1; i < 16000000; i++)
		sink += *place_of(places, i * 89 % 776000000);
}

/* --- healthy: it sorts many arrays, each another one --- */

struct Person {
	std::string name;
	int group;
};

APART std::vector<Person> group_of(const std::vector<Person> &people, int group)
{
	std::vector<Person> some;

	for (const Person &person : people)
		if (person.group == group)
			some.push_back(person);
	return some;
}

void sort_others()
{
	std::vector<Person> people;
	std::mt19937 random(4);

	for (int i = 0; i < 2400000; i++)
		people.push_back(
			{ "person number " + std::to_string(random()), (int)(random() % 12) });
	for (int group = 0; group < 12; group++) {
		std::vector<Person> some = group_of(people, group);

		std::sort(some.begin(), some.end(),
			  [](const Person &a, const Person &b) { return a.name < b.name; });
		sink += some[some.size() / 2].name.back();
	}
}

/* --- tasks: each one's result is asked for before the next task is made --- */

APART void tasks_run(int count)
{
	std::vector<std::future<long>> tasks;

	for (int i = 0; i < count; i++) {
		tasks.push_back(
			std::async(std::launch::async, [i] { return numbers_sum(i, 10000000); }));
		if (!is_fixed)
			sink += tasks.back().get();
	}
	for (auto &task : tasks)
		sink += task.valid() ? task.get() : 0;
}

void tasks()
{
	tasks_run(40);
}

const struct {
	const char *name;
	void (*run)();
} programs[] = {
	{ "reserves", reserves },
	{ "reserve-once", reserve_once },
	{ "maps", maps },
	{ "draws", draws },
	{ "draw-alone", draw_alone },
	{ "asks", asks },
	{ "asks-rightly", asks_rightly },
	{ "timeouts", timeouts },
	{ "looks", looks },
	{ "pairs", pairs },
	{ "steps", steps },
	{ "rests", rests },
	{ "serves", serves },
	{ "numbers", numbers },
	{ "chains", chains },
	{ "flags", flags },
	{ "flags-alone", flags_alone },
	{ "places", places },
	{ "sort-others", sort_others },
	{ "tasks", tasks },
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
