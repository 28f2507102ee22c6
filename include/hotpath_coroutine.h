/* SPDX-License-Identifier: MIT */
/*
 * hotpath_coroutine.h - C++20 coroutines as futures of the hotpath profiler.
 *
 *	#include <hotpath_coroutine.h>		and compile with -DHOTPATH
 *
 *	struct task::promise_type : hotpath::promise {
 *		auto initial_suspend() { return watch_initial(std::suspend_always{}); }
 *		auto final_suspend() noexcept { return watch_final(std::suspend_always{}); }
 *		auto yield_value(int v) { value = v; return watch(std::suspend_always{}); }
 *		...
 *	};
 *
 * Each coroutine function becomes a row in the table of futures: calls, resumes (polls), their
 * time, their allocations, how many ended and how many were destroyed before (cancelled).  Counts
 * are exact, even if a coroutine is resumed by one thread and then by another.
 *
 * A promise that derives from hotpath::promise returns its awaiters through
 *
 *	watch_initial(awaiter)	in initial_suspend
 *	watch_final(awaiter)	in final_suspend: the coroutine is ready
 *	watch(awaiter)		in yield_value, and in await_transform if the promise defines one
 *
 * Each co_await in the coroutine goes through await_transform of hotpath::promise.  A promise that defines
 * its own hides that one, and must return watch(awaiter) from it.
 *
 *	hotpath_result(text)	keeps the first 80 bytes of a text as the result of the call
 *
 * The awaiters behave as without it: the same calls are made in the same order, and their types
 * need not be movable.  If watch_initial's awaiter is ready at once, the coroutine is
 * suspended and resumed immediately.  Without -DHOTPATH all of it does nothing, and hotpath::promise is empty.
 *
 * gcc from 10 on and clang from 14 on, C++20.
 */
#ifndef HOTPATH_COROUTINE_H
#define HOTPATH_COROUTINE_H

#include <coroutine>
#include <type_traits>
#include <utility>

#include "hotpath.h"

namespace hotpath
{

#ifdef HOTPATH

class promise;

/* The awaiter of an expression, as co_await finds it. */
template <class T> HOTPATH_INLINE_ decltype(auto) awaiter_of_(T &&awaited)
{
	if constexpr (requires { std::forward<T>(awaited).operator co_await(); })
		return std::forward<T>(awaited).operator co_await();
	else if constexpr (requires { operator co_await(std::forward<T>(awaited)); })
		return operator co_await(std::forward<T>(awaited));
	else
		return std::forward<T>(awaited);
}

/* Ends a poll; begins the next one if the coroutine continues after all. */
class pause_
{
      public:
	HOTPATH_INLINE_ explicit pause_(hotpath_task *task) noexcept : task_(task)
	{
		step(HOTPATH_STEP_PENDING);
	}
	HOTPATH_INLINE_ ~pause_()
	{
		if (task_ != nullptr)
			step(HOTPATH_STEP_CONTINUE);
	}
	/* It is suspended: by now it may run elsewhere, or be destroyed. */
	HOTPATH_INLINE_ void keep() noexcept
	{
		task_ = nullptr;
	}
	pause_(const pause_ &) = delete;
	pause_ &operator=(const pause_ &) = delete;

      private:
	HOTPATH_INLINE_ void step(int what) noexcept
	{
		hotpath_task_(task_, what, nullptr);
	}
	hotpath_task *task_;
};

enum class stage_ { first, later, last };

/* An awaiter that notifies the library when the coroutine is suspended and resumed. */
template <class Awaiter, stage_ stage> class watched_
{
      public:
	template <class T>
	HOTPATH_INLINE_ watched_(hotpath_task *task, T &&awaited)
	    : awaiter_(awaiter_of_(std::forward<T>(awaited))), task_(task)
	{
	}

	HOTPATH_INLINE_ bool await_ready() noexcept(
		noexcept(std::declval<std::remove_reference_t<Awaiter> &>().await_ready()))
	{
		if constexpr (stage == stage_::last)
			hotpath_task_(task_, HOTPATH_STEP_READY, nullptr);
		/* Only await_suspend knows the handle, so it makes the call. */
		if constexpr (stage == stage_::first) {
			is_asked_ = hotpath_hooks_4.task == nullptr;
			if (!is_asked_)
				return false;
		}
		return static_cast<bool>(awaiter_.await_ready());
	}

	template <class P>
	HOTPATH_INLINE_ auto await_suspend(std::coroutine_handle<P> handle) noexcept(
		noexcept(std::declval<std::remove_reference_t<Awaiter> &>().await_suspend(handle)) &&
		(stage != stage_::first ||
		 noexcept(std::declval<std::remove_reference_t<Awaiter> &>().await_ready())))
	{
		using result = decltype(awaiter_.await_suspend(handle));

		if constexpr (stage == stage_::last) {
			return awaiter_.await_suspend(handle);
		} else {
			hotpath_task *task = task_;

			begin(handle.address());
			if constexpr (stage == stage_::first)
				if (!is_asked_ && static_cast<bool>(awaiter_.await_ready()))
					return go_on<result>(handle);
			is_suspended_ = true;
			pause_ pause(task);
			if constexpr (std::is_void_v<result>) {
				awaiter_.await_suspend(handle);
				pause.keep();
				if constexpr (stage == stage_::first)
					return true;
			} else if constexpr (std::is_same_v<result, bool>) {
				bool is_left = awaiter_.await_suspend(handle);

				if (is_left)
					pause.keep();
				else
					is_suspended_ = false;
				return is_left;
			} else {
				auto next = awaiter_.await_suspend(handle);

				pause.keep();
				return next;
			}
		}
	}

	HOTPATH_INLINE_ decltype(auto) await_resume() noexcept(
		noexcept(std::declval<std::remove_reference_t<Awaiter> &>().await_resume()))
	{
		if (is_suspended_) {
			is_suspended_ = false;
			hotpath_task_(task_, HOTPATH_STEP_POLL, nullptr);
		}
		return awaiter_.await_resume();
	}

      private:
	/* A frame begins with the address of the function that resumes it. */
	HOTPATH_INLINE_ void begin(void *frame) noexcept
	{
		if (task_->is_begun)
			return;
		task_->is_begun = 1;
		hotpath_task_(task_, HOTPATH_STEP_BEGIN, *static_cast<void **>(frame));
		if constexpr (stage == stage_::later)
			hotpath_task_(task_, HOTPATH_STEP_POLL, nullptr);
	}

	template <class Result, class Handle> HOTPATH_INLINE_ auto go_on(Handle handle) noexcept
	{
		hotpath_task_(task_, HOTPATH_STEP_POLL, nullptr);
		if constexpr (std::is_void_v<Result> || std::is_same_v<Result, bool>)
			return false;
		else
			return Result(handle);
	}

	Awaiter awaiter_;
	hotpath_task *task_;
	bool is_suspended_ = false;
	bool is_asked_ = false;
};

class promise
{
      public:
	promise() noexcept = default;
	promise(const promise &) = delete;
	promise &operator=(const promise &) = delete;
	HOTPATH_INLINE_ ~promise()
	{
		if (task_.flight != nullptr)
			hotpath_task_(&task_, HOTPATH_STEP_CANCEL, nullptr);
	}

	template <class A> HOTPATH_INLINE_ watched_<A, stage_::first> watch_initial(A awaiter)
	{
		return { &task_, std::move(awaiter) };
	}
	template <class A> HOTPATH_INLINE_ watched_<A, stage_::last> watch_final(A awaiter) noexcept
	{
		return { &task_, std::move(awaiter) };
	}
	template <class A> HOTPATH_INLINE_ watched_<A, stage_::later> watch(A awaiter)
	{
		return { &task_, std::move(awaiter) };
	}
	template <class A> HOTPATH_INLINE_ auto await_transform(A &&awaited)
	{
		return watched_<decltype(awaiter_of_(std::forward<A>(awaited))), stage_::later>(
			&task_, std::forward<A>(awaited));
	}
	HOTPATH_INLINE_ void hotpath_result(const char *text) noexcept
	{
		hotpath_task_(&task_, HOTPATH_STEP_RESULT, text);
	}

      private:
	hotpath_task task_ = {};
};

#else

class promise
{
      public:
	template <class A> A watch_initial(A awaiter)
	{
		return awaiter;
	}
	template <class A> A watch_final(A awaiter) noexcept
	{
		return awaiter;
	}
	template <class A> A watch(A awaiter)
	{
		return awaiter;
	}
	void hotpath_result(const char *) noexcept
	{
	}
};

#endif

} // namespace hotpath

#endif
