// SPDX-License-Identifier: MIT
/*
 * loop_asio.cc - an event loop of boost.asio: prints what it did as "NAME NUMBER" lines.
 *
 * Two pipes are read one byte at a time, 300 times in all, and the 150th stalls for 60 ms.
 */
#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <cstdio>
#include <unistd.h>

using boost::asio::posix::stream_descriptor;

static unsigned long called, stalled_ns;

static unsigned long now_ns()
{
	return std::chrono::duration_cast<std::chrono::nanoseconds>(
		       std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

struct reader {
	stream_descriptor from;
	int to;
	std::array<char, 1> byte;
	reader *other;

	void next()
	{
		from.async_wait(stream_descriptor::wait_read,
				[this](boost::system::error_code error) {
					char byte;

					if (error || ::read(from.native_handle(), &byte, 1) != 1)
						return;
					if (++called == 150) {
						unsigned long begin = now_ns();

						while (now_ns() - begin < 60000000)
							;
						stalled_ns = now_ns() - begin;
					}
					if (called >= 300) {
						other->from.cancel();
						return;
					}
					next();
					if (::write(other->to, "", 1) != 1)
						std::exit(2);
				});
	}
};

int main()
{
	boost::asio::io_context context;
	int one[2], two[2];

	if (pipe(one) != 0 || pipe(two) != 0)
		return 2;
	reader first{ stream_descriptor(context, one[0]), one[1], {}, nullptr };
	reader second{ stream_descriptor(context, two[0]), two[1], {}, &first };

	first.other = &second;
	first.next();
	second.next();
	if (write(one[1], "", 1) != 1)
		return 2;
	context.run();
	std::printf("called %lu\nstalled_ns %lu\n", called, stalled_ns);
	return 0;
}
