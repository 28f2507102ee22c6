/* SPDX-License-Identifier: MIT */
/*
 * coroutines.cc - a generator, a task and awaiters of all kinds, recorded as futures with
 * include/hotpath_coroutine.h. Prints their counts, the same with the library, without it and
 * without -DHOTPATH.
 *
 *	coroutines		all of them
 *	coroutines bench N	ns per resume
 */
#include <hotpath_coroutine.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/* --- a generator --- */

struct generator {
	struct promise_type : hotpath::promise {
		int value = 0;
		generator get_return_object()
		{
			return generator{ std::coroutine_handle<promise_type>::from_promise(
				*this) };
		}
		auto initial_suspend()
		{
			return watch_initial(std::suspend_always{});
		}
		auto final_suspend() noexcept
		{
			return watch_final(std::suspend_always{});
		}
		auto yield_value(int v)
		{
			value = v;
			return watch(std::suspend_always{});
		}
		void return_void()
		{
			hotpath_result("drained");
		}
		void unhandled_exception()
		{
			throw;
		}
	};

	std::coroutine_handle<promise_type> handle;
	explicit generator(std::coroutine_handle<promise_type> h) : handle(h)
	{
	}
	generator(generator &&other) noexcept : handle(std::exchange(other.handle, {}))
	{
	}
	~generator()
	{
		if (handle)
			handle.destroy();
	}
	bool next()
	{
		handle.resume();
		return !handle.done();
	}
};

static generator count_up(int to)
{
	std::unique_ptr<int> kept;

	for (int i = 0; i < to; i++) {
		kept = std::make_unique<int>(i);
		co_yield *kept;
	}
}

static generator throws_at(int n)
{
	for (int i = 0;; i++) {
		if (i == n)
			throw std::runtime_error("enough");
		co_yield i;
	}
}

static void generators()
{
	int sum = 0, caught = 0;

	for (int n = 1; n <= 10; n++) {
		generator all = count_up(n);

		while (all.next())
			sum += all.handle.promise().value;
	}
	for (int n = 0; n < 5; n++) {
		generator some = count_up(100);

		some.next();
		some.next();
	}
	{
		generator never = count_up(3);
		generator bad = throws_at(1);

		bad.next();
		try {
			bad.next();
		} catch (const std::runtime_error &) {
			caught++;
		}
	}
	std::printf("generators: %d, %d caught\n", sum, caught);
}

/* --- a task that starts at once, and may be waited for --- */

struct task {
	struct promise_type : hotpath::promise {
		std::coroutine_handle<> waiter;
		int value = 0;
		task get_return_object()
		{
			return task{ std::coroutine_handle<promise_type>::from_promise(*this) };
		}
		auto initial_suspend()
		{
			return watch_initial(std::suspend_never{});
		}
		struct last {
			bool await_ready() noexcept
			{
				return false;
			}
			std::coroutine_handle<> await_suspend(
				std::coroutine_handle<promise_type> h) noexcept
			{
				return h.promise().waiter ? h.promise().waiter
							  : std::noop_coroutine();
			}
			void await_resume() noexcept
			{
			}
		};
		auto final_suspend() noexcept
		{
			return watch_final(last{});
		}
		void return_value(int v)
		{
			value = v;
		}
		void unhandled_exception()
		{
			std::terminate();
		}
	};

	std::coroutine_handle<promise_type> handle;
	explicit task(std::coroutine_handle<promise_type> h) : handle(h)
	{
	}
	task(task &&other) noexcept : handle(std::exchange(other.handle, {}))
	{
	}
	~task()
	{
		if (handle)
			handle.destroy();
	}

	/* Cannot be moved: constructed where it is awaited. */
	struct awaiter {
		std::coroutine_handle<promise_type> handle;
		explicit awaiter(std::coroutine_handle<promise_type> h) : handle(h)
		{
		}
		awaiter(const awaiter &) = delete;
		bool await_ready()
		{
			return handle.done();
		}
		void await_suspend(std::coroutine_handle<> waiter)
		{
			handle.promise().waiter = waiter;
		}
		int await_resume()
		{
			return handle.promise().value;
		}
	};
	awaiter operator co_await()
	{
		return awaiter(handle);
	}
};

/* Suspends, is not suspended after all, or throws. */
struct doubtful {
	int how;
	bool await_ready()
	{
		return how == 0;
	}
	bool await_suspend(std::coroutine_handle<>)
	{
		if (how == 2)
			throw std::runtime_error("not now");
		return false;
	}
	int await_resume()
	{
		return how;
	}
};

static std::coroutine_handle<> parked;

struct park {
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		parked = h;
	}
	void await_resume()
	{
	}
};

static task inner(int times)
{
	for (int i = 0; i < times; i++)
		co_await park{};
	co_return times;
}

static task outer()
{
	int sum = co_await doubtful{ 0 } + co_await doubtful{ 1 };

	try {
		co_await doubtful{ 2 };
	} catch (const std::runtime_error &) {
		sum += 10;
	}
	task one = inner(3);
	sum += co_await one;
	co_return sum + co_await inner(0);
}

static void tasks()
{
	task all = outer();
	int resumes = 0;

	while (parked) {
		std::exchange(parked, {}).resume();
		resumes++;
	}
	std::printf("tasks: %d, %d resumes, done %d\n", all.handle.promise().value, resumes,
		    all.handle.done());
}

/* --- coroutines that migrate --- */

struct pool {
	std::mutex lock;
	std::condition_variable changed;
	std::deque<std::coroutine_handle<>> ready;
	int open = 0;
	std::atomic<long> resumes{ 0 };

	void post(std::coroutine_handle<> h)
	{
		std::lock_guard<std::mutex> held(lock);

		ready.push_back(h);
		changed.notify_one();
	}
	void run()
	{
		std::unique_lock<std::mutex> held(lock);

		for (;;) {
			changed.wait(held, [this] { return !ready.empty() || !open; });
			if (ready.empty())
				return;
			std::coroutine_handle<> h = ready.front();
			ready.pop_front();
			held.unlock();
			resumes++;
			h.resume();
			held.lock();
		}
	}
	void end()
	{
		std::lock_guard<std::mutex> held(lock);

		if (!--open)
			changed.notify_all();
	}
};

static pool threads;

struct elsewhere {
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		threads.post(h);
	}
	void await_resume()
	{
	}
};

/* Destroys itself at its end. */
struct detached {
	struct promise_type : hotpath::promise {
		detached get_return_object()
		{
			return {};
		}
		auto initial_suspend()
		{
			return watch_initial(elsewhere{});
		}
		auto final_suspend() noexcept
		{
			return watch_final(std::suspend_never{});
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			std::terminate();
		}
	};
};

static detached migrates(int hops)
{
	for (int i = 0; i < hops; i++)
		co_await elsewhere{};
	threads.end();
}

static void migrations()
{
	std::vector<std::thread> workers;

	threads.open = 200;
	for (int i = 0; i < 200; i++)
		migrates(50);
	for (int i = 0; i < 4; i++)
		workers.emplace_back([] { threads.run(); });
	for (std::thread &worker : workers)
		worker.join();
	std::printf("migrations: %ld resumes\n", threads.resumes.load());
}

/* --- promises that only derive from hotpath::promise --- */

/* Keeps a pointer to what is yielded: a temporary must live until the next resume. */
struct texts {
	struct promise_type : hotpath::promise {
		const std::string *text = nullptr;
		texts get_return_object()
		{
			return texts{ std::coroutine_handle<promise_type>::from_promise(*this) };
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		std::suspend_always yield_value(const std::string &value)
		{
			text = &value;
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
		}
	};

	std::coroutine_handle<promise_type> handle;
	explicit texts(std::coroutine_handle<promise_type> h) : handle(h)
	{
	}
	texts(texts &&other) noexcept : handle(std::exchange(other.handle, {}))
	{
	}
	~texts()
	{
		if (handle)
			handle.destroy();
	}
	bool next()
	{
		handle.resume();
		return !handle.done();
	}
};

static texts spells(int to)
{
	const char *text = "a text that needs memory of its own";

	for (int i = 0; i < to; i++) {
		co_yield text;
		co_yield{ text, 3 };
	}
}

/* Awaiters that know the promise, cannot be moved, or come from operator co_await. */
struct chain {
	struct promise_type : hotpath::promise {
		std::coroutine_handle<> waiter;
		int value;
		explicit promise_type(int start) : value(start)
		{
		}
		chain get_return_object()
		{
			return chain{ std::coroutine_handle<promise_type>::from_promise(*this) };
		}
		struct at_once {
			at_once() = default;
			at_once(const at_once &) = delete;
			bool await_ready()
			{
				return true;
			}
			void await_suspend(std::coroutine_handle<promise_type>)
			{
			}
			void await_resume()
			{
			}
		};
		at_once initial_suspend()
		{
			return {};
		}
		struct to_waiter {
			bool await_ready() noexcept
			{
				return false;
			}
			std::coroutine_handle<> await_suspend(
				std::coroutine_handle<promise_type> h) noexcept
			{
				return h.promise().waiter ? h.promise().waiter
							  : std::noop_coroutine();
			}
			void await_resume() noexcept
			{
			}
		};
		struct last {
			to_waiter operator co_await() const noexcept
			{
				return {};
			}
		};
		last final_suspend() noexcept
		{
			return {};
		}
		void return_value(int v)
		{
			value += v;
		}
		void unhandled_exception()
		{
			std::terminate();
		}
	};

	std::coroutine_handle<promise_type> handle;
	explicit chain(std::coroutine_handle<promise_type> h) : handle(h)
	{
	}
	chain(chain &&other) noexcept : handle(std::exchange(other.handle, {}))
	{
	}
	~chain()
	{
		if (handle)
			handle.destroy();
	}
	bool await_ready()
	{
		return handle.done();
	}
	void await_suspend(std::coroutine_handle<promise_type> waiter)
	{
		handle.promise().waiter = waiter;
	}
	int await_resume()
	{
		return handle.promise().value;
	}
};

static chain link(int depth)
{
	co_await park{};
	if (depth)
		co_return co_await link(depth - 1);
	co_return 0;
}

/* An await_transform of its own; destroys itself at its end. */
struct counts {
	struct promise_type : hotpath::promise {
		counts get_return_object()
		{
			return {};
		}
		std::suspend_never initial_suspend()
		{
			return {};
		}
		std::suspend_never final_suspend() noexcept
		{
			return {};
		}
		park await_transform(int &count)
		{
			count++;
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
		}
	};
};

static counts waits_for(int times, int &count)
{
	for (int i = 0; i < times; i++)
		co_await count;
}

static void bare()
{
	size_t length = 0;
	int count = 0;

	for (int n = 0; n < 4; n++) {
		texts all = spells(n);

		while (all.next())
			length += all.handle.promise().text->size();
	}
	{
		texts never = spells(1), some = spells(2);

		some.next();
		length += some.handle.promise().text->size();
	}
	chain all = link(3);
	while (parked)
		std::exchange(parked, {}).resume();
	for (int n = 0; n < 5; n++) {
		waits_for(n, count);
		while (parked)
			std::exchange(parked, {}).resume();
	}
	std::printf("bare: %zu bytes, %d, %d waits\n", length, all.handle.promise().value, count);
}

/* --- cost --- */

static generator forever()
{
	for (int i = 0;; i++)
		co_yield i;
}

static void bench(long count)
{
	generator all = forever();
	auto start = std::chrono::steady_clock::now();

	for (long i = 0; i < count; i++)
		all.next();
	std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
	std::printf("%.1f\n", took.count() / static_cast<double>(count));
}

int main(int argc, char **argv)
{
	if (argc > 2 && std::strcmp(argv[1], "bench") == 0) {
		bench(std::atol(argv[2]));
		return 0;
	}
	generators();
	tasks();
	migrations();
	bare();
	return 0;
}
