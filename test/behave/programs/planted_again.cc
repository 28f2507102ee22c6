// SPDX-License-Identifier: MIT
// planted_again.cc NAME [fixed] - like planted.c: the same work again and again.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define APART __attribute__((noinline))

namespace
{

bool is_fixed;
volatile long sink;

/* --- sorts: one entry changes, and all are sorted --- */

struct Entry {
	uint32_t key;
	uint32_t id;
};

APART bool is_before(const Entry &a, const Entry &b)
{
	return a.key != b.key ? a.key < b.key : a.id < b.id;
}

APART void entry_change(std::vector<Entry> &entries, size_t at, uint32_t key)
{
	entries[at].key = key;
	if (!is_fixed) {
		std::sort(entries.begin(), entries.end(), is_before);
		return;
	}
	for (; at > 0 && is_before(entries[at], entries[at - 1]); at--)
		std::swap(entries[at], entries[at - 1]);
	for (; at + 1 < entries.size() && is_before(entries[at + 1], entries[at]); at++)
		std::swap(entries[at], entries[at + 1]);
}

APART long entries_sum(const std::vector<Entry> &entries)
{
	long sum = 0;

	for (int round = 0; round < 3; round++)
		for (const Entry &entry : entries)
			sum = sum * 31 + entry.id;
	return sum;
}

std::vector<Entry> entries_make(size_t count)
{
	std::mt19937 random(5);
	std::vector<Entry> entries;

	for (size_t i = 0; i < count; i++)
		entries.push_back({ (uint32_t)(random() % 1000003), (uint32_t)i });
	return entries;
}

void sorts()
{
	std::vector<Entry> entries = entries_make(2000);
	std::mt19937 random(6);

	std::sort(entries.begin(), entries.end(), is_before);
	for (int i = 0; i < 20000; i++) {
		entry_change(entries, random() % entries.size(), random() % 1000003);
		sink += entries_sum(entries);
	}
}

/* Healthy: one long sort. */
void sort_once()
{
	std::vector<Entry> entries = entries_make(4000000);

	std::sort(entries.begin(), entries.end(), is_before);
	sink += entries_sum(entries);
}

/* --- values: a loop takes each element by value --- */

struct Zone {
	int id;
	std::string name;
	std::vector<double> outline;
	std::vector<std::string> tariffs;
};

APART int zone_find(const std::vector<Zone> &zones, int id)
{
	if (is_fixed) {
		for (const Zone &zone : zones)
			if (zone.id == id)
				return (int)zone.name.size();
		return 0;
	}
	for (auto zone : zones)
		if (zone.id == id)
			return (int)zone.name.size();
	return 0;
}

Zone zone_make(int id)
{
	return { id,
		 "the zone with the number " + std::to_string(id),
		 std::vector<double>(60, id),
		 { "standard", "express before nine o'clock" } };
}

APART long numbers_sum(int from)
{
	long sum = 0;

	for (int i = 0; i < 3000; i++)
		sum = sum * 31 + (from ^ i);
	return sum;
}

void values()
{
	std::vector<Zone> zones;

	for (int i = 0; i < 100; i++)
		zones.push_back(zone_make(i));
	for (int i = 0; i < 150000; i++)
		sink += zone_find(zones, i % 100) + numbers_sum(i);
}

/* Healthy: objects are made, and none is copied. */
struct Sum {
	std::vector<long> parts;

	APART explicit Sum(int from) : parts(16)
	{
		for (int i = 0; i < 40000; i++)
			parts[(size_t)i % 16] += (from ^ i) * 31;
	}
};

void made()
{
	for (int i = 0; i < 30000; i++)
		sink += Sum(i).parts[3];
}

/* --- stamps: the C library checks the file of the time zone for each --- */

APART long stamp_of(time_t when)
{
	struct tm parts;
	struct tm *tm = is_fixed ? localtime_r(&when, &parts) : localtime(&when);

	return tm->tm_hour * 3600 + tm->tm_min * 60 + tm->tm_sec;
}

void stamps()
{
	unsetenv("TZ");
	tzset();
	for (int i = 0; i < 800000; i++)
		sink += stamp_of(1790000000 + i / 50) + (i % 64 ? i : numbers_sum(i));
}

/* --- herd: each item wakes all workers --- */

struct Inbox {
	std::mutex mutex;
	std::condition_variable ready;
	std::deque<int> items;
	bool is_closed = false;

	APART void put(int item)
	{
		std::lock_guard<std::mutex> hold(mutex);

		items.push_back(item);
		if (is_fixed && item >= 0)
			ready.notify_one();
		else
			ready.notify_all();
	}

	APART int take()
	{
		std::unique_lock<std::mutex> hold(mutex);

		ready.wait(hold, [this] { return is_closed || !items.empty(); });
		if (items.empty())
			return -1;
		int item = items.front();
		items.pop_front();
		return item;
	}
};

void herd()
{
	Inbox in, out;
	std::vector<std::thread> pool;

	for (int i = 0; i < 32; i++)
		pool.emplace_back([&] {
			for (int item; (item = in.take()) >= 0;) {
				sink += numbers_sum(item);
				out.put(item);
			}
		});
	for (int i = 0; i < 30000; i++) {
		in.put(i);
		if (i)
			out.take();
	}
	{
		std::lock_guard<std::mutex> hold(in.mutex);

		in.is_closed = true;
		in.ready.notify_all();
	}
	for (std::thread &thread : pool)
		thread.join();
}

/* --- scans: a thread reads a large table under a lock from time to time, and others wait --- */

struct Table {
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	std::vector<long> rows = std::vector<long>(10000000, 7);

	APART void change(size_t at)
	{
		pthread_rwlock_wrlock(&lock);
		rows[at]++;
		pthread_rwlock_unlock(&lock);
	}

	APART long scan()
	{
		size_t part = is_fixed ? 1024 : rows.size();
		long sum = 0;

		for (size_t from = 0; from < rows.size(); from += part) {
			size_t to = std::min(from + part, rows.size());

			pthread_rwlock_rdlock(&lock);
			for (size_t i = from; i < to; i++)
				sum = (sum ^ rows[i]) * 31;
			pthread_rwlock_unlock(&lock);
		}
		return sum;
	}
};

void scans()
{
	Table table;
	std::atomic<bool> is_open{ true };
	std::thread reader([&] {
		while (is_open) {
			sink += table.scan();
			usleep(5000);
		}
	});
	std::thread writer([&] {
		for (int i = 0; i < 8000; i++) {
			table.change((size_t)i * 977 % table.rows.size());
			if (i % 4 == 0)
				usleep(200);
		}
	});

	writer.join();
	is_open = false;
	reader.join();
}

/* --- messages: header and body are sent apart, over TCP --- */

struct Message {
	int size = 60;
	char body[60] = "";
};

bool is_slow;

APART void message_send(int fd, const Message &message)
{
	if (is_fixed || is_slow) {
		if (send(fd, &message, sizeof(message), 0) < 0)
			abort();
		return;
	}
	if (send(fd, &message.size, sizeof(message.size), 0) < 0 ||
	    send(fd, message.body, sizeof(message.body), 0) < 0)
		abort();
}

APART bool message_receive(int fd, Message &message)
{
	return recv(fd, &message.size, sizeof(message.size), MSG_WAITALL) > 0 &&
	       recv(fd, message.body, sizeof(message.body), MSG_WAITALL) > 0;
}

void messages()
{
	sockaddr_in address = {};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	Message message;

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (sockaddr *)&address, length) || listen(listener, 1) ||
	    getsockname(listener, (sockaddr *)&address, &length) ||
	    connect(fd, (sockaddr *)&address, length))
		abort();
	std::thread server([&] {
		int peer = accept(listener, nullptr, nullptr);
		Message request;

		while (message_receive(peer, request)) {
			if (is_slow)
				usleep(42000);
			message_send(peer, request);
		}
		close(peer);
	});
	for (int i = 0; i < 30; i++) {
		message_send(fd, message);
		message_receive(fd, message);
	}
	close(fd);
	server.join();
	close(listener);
}

/* Healthy: the server waits that long for a reason. */
void slow_messages()
{
	is_slow = true;
	messages();
}

/* --- texts: each is formatted, and the log does not want it --- */

bool is_verbose = false;

APART std::string text_of(int i)
{
	std::ostringstream out;

	out << "item number " << i << " of the group " << i % 17 << " with the weight " << i % 100;
	return out.str();
}

APART void log_write(const std::string &text)
{
	if (is_verbose)
		fprintf(stderr, "%s\n", text.c_str());
}

void texts()
{
	for (int i = 0; i < 1000000; i++) {
		if (!is_fixed || is_verbose)
			log_write(text_of(i));
		sink += i % 64 ? i : numbers_sum(i) % 2;
	}
}

/* Healthy: it prints what it formats. */
APART void line_print(int i)
{
	std::cout << "item number " << i << " of the group " << i % 17 << " with the weight "
		  << i % 100 << " and some more text\n";
}

void prints()
{
	for (int i = 0; i < 3000000; i++)
		line_print(i);
}

/* --- healthy: a map compares strings, and no container is searched --- */

APART long keys_sum(std::map<std::string, long> &map, const std::vector<std::string> &names)
{
	for (const std::string &name : names)
		map[name]++;
	return (long)map.size();
}

void keys()
{
	std::vector<std::string> names;
	std::map<std::string, long> map;

	for (int i = 0; i < 2000; i++)
		names.push_back("the group with the number " + std::to_string(i * 7919 % 300));
	for (int i = 0; i < 8000; i++)
		sink += keys_sum(map, names);
}

/* --- healthy: its data are there from the start to the end --- */

void holds()
{
	std::vector<unsigned char> data(150 << 20, 3);

	for (int round = 0; round < 10; round++)
		for (size_t i = 0; i < data.size(); i++)
			data[i] = (unsigned char)(data[i] * 31 + i);
	sink += data[77];
}

const struct {
	const char *name;
	void (*run)();
} faults[] = { { "sorts", sorts },
	       { "sort-once", sort_once },
	       { "values", values },
	       { "made", made },
	       { "stamps", stamps },
	       { "herd", herd },
	       { "scans", scans },
	       { "keys", keys },
	       { "holds", holds },
	       { "texts", texts },
	       { "prints", prints },
	       { "messages", messages },
	       { "slow-messages", slow_messages } };

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
