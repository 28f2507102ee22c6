/* SPDX-License-Identifier: MIT */
/*
 * hotpath_coroutine.h - C++20 coroutines as futures of the hotpath profiler.
 *
 *	#include <hotpath_coroutine.h>		and compile with -DHOTPATH
 *
 *	struct task::promise_type : hotpath::promise {
 *		...				the rest stays as it is
 *	};
 *
 * Each coroutine function becomes a row in the table of futures: calls, resumes (polls), their
 * time, their allocations, how many ended and how many were destroyed before (cancelled).  Counts
 * are exact, even if a coroutine is resumed by one thread and then by another.
 *
 * A coroutine's promise is then a class derived from promise_type, by std::coroutine_traits.  That class watches what
 * promise_type's functions return.  It is not possible if promise_type is final, if its yield_value or await_transform
 * is a template, overloaded or deleted, or if the program specialises std::coroutine_traits.  Such a promise returns its
 * awaiters through
 *
 *	watch_initial(awaiter)	in initial_suspend
 *	watch_final(awaiter)	in final_suspend: the coroutine is ready
 *	watch(awaiter)		in yield_value, and in await_transform if the promise defines one
 *
 * and does not compile without the first two.
 *
 *	hotpath_result(text)	keeps the first 80 bytes of a text as the result of the call
 *
 * The awaiters behave as without it: the same calls are made in the same order, and their types
 * need not be movable.  An argument that yield_value or await_transform takes by value is moved once more.  If the
 * initial awaiter is ready at once, the coroutine is suspended and resumed immediately.  Without -DHOTPATH all of it
 * does nothing, and hotpath::promise is empty.
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
template <class P> class whole_;

#define HOTPATH_UNTOLD_ \
	"return watch_initial(...) from initial_suspend and watch_final(...) from final_suspend of this " \
	"promise, and watch(...) from its own yield_value and await_transform"

/* The same coroutine's handle, with the promise that the program knows. */
template <class P> HOTPATH_INLINE_ auto bare_handle_(std::coroutine_handle<P> handle) noexcept
{
	return handle;
}
template <class P>
HOTPATH_INLINE_ auto bare_handle_(std::coroutine_handle<whole_<P>> handle) noexcept
{
	return std::coroutine_handle<P>::from_address(handle.address());
}

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

/* Constructs the awaiter in place from the result of a function. */
struct from_call_ {
};

/* An awaitable with an operator co_await, and the awaiter that this returns. */
template <class Awaited> class held_
{
      public:
	template <class Make>
	HOTPATH_INLINE_ explicit held_(Make &make)
	    : awaited_(make()), awaiter_(awaiter_of_(static_cast<Awaited &&>(awaited_)))
	{
	}
	held_(const held_ &) = delete;
	held_ &operator=(const held_ &) = delete;
	HOTPATH_INLINE_ decltype(auto) await_ready() noexcept(
		noexcept(std::declval<held_ &>().awaiter_.await_ready()))
	{
		return awaiter_.await_ready();
	}
	template <class Handle>
	HOTPATH_INLINE_ decltype(auto) await_suspend(Handle handle) noexcept(
		noexcept(std::declval<held_ &>().awaiter_.await_suspend(handle)))
	{
		return awaiter_.await_suspend(handle);
	}
	HOTPATH_INLINE_ decltype(auto) await_resume() noexcept(
		noexcept(std::declval<held_ &>().awaiter_.await_resume()))
	{
		return awaiter_.await_resume();
	}

      private:
	Awaited awaited_;
	decltype(awaiter_of_(std::declval<Awaited>())) awaiter_;
};

template <class T> inline constexpr bool is_held_ = false;
template <class T> inline constexpr bool is_held_<held_<T>> = true;

template <class Awaiter, class Make> HOTPATH_INLINE_ Awaiter construct_(Make &make)
{
	if constexpr (is_held_<Awaiter>)
		return Awaiter(make);
	else
		return make();
}

template <class T> concept has_co_await_ = requires(T &&awaited)
{
	static_cast<T &&>(awaited).operator co_await();
}
|| requires(T &&awaited)
{
	operator co_await(static_cast<T &&>(awaited));
};

template <class Awaiter, stage_ stage> class watched_;

template <class T> inline constexpr bool is_watched_ = false;
template <class Awaiter, stage_ stage>
inline constexpr bool is_watched_<watched_<Awaiter, stage>> = true;

/* The promise notifies of a coroutine's start and end. */
template <class P> concept is_told_ = requires(P &promise)
{
	requires is_watched_<decltype(promise.initial_suspend())>;
	requires is_watched_<decltype(promise.final_suspend())>;
};

/* An awaiter that notifies the library when the coroutine is suspended and resumed. */
template <class Awaiter, stage_ stage> class watched_
{
      public:
	template <class T>
	HOTPATH_INLINE_ watched_(hotpath_task *task, T &&awaited)
	    : awaiter_(awaiter_of_(std::forward<T>(awaited))), task_(task)
	{
	}
	template <class Make>
	HOTPATH_INLINE_ watched_(hotpath_task *task, from_call_, Make &make)
	    : awaiter_(construct_<Awaiter>(make)), task_(task)
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
	HOTPATH_INLINE_ auto await_suspend(std::coroutine_handle<P> given) noexcept(
		noexcept(std::declval<std::remove_reference_t<Awaiter> &>().await_suspend(
			bare_handle_(given))) &&
		(stage != stage_::first ||
		 noexcept(std::declval<std::remove_reference_t<Awaiter> &>().await_ready())))
	{
		auto handle = bare_handle_(given);
		using result = decltype(awaiter_.await_suspend(handle));

		static_assert(std::is_void_v<P> || is_told_<P>, HOTPATH_UNTOLD_);

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
	template <class P> friend class whole_;
	hotpath_task task_ = {};
};

/*
 * A derived promise that watches what the program's promise returns, for coroutines of that one.  It has the
 * same layout, so either type's handle finds it.  Parameters have the program's types, so that its temporaries
 * live as long as without us: hence no templates and overloaded functions.
 */
struct no_parameter_ {
};
template <class Function> struct parameter_ {
};
template <class R, class C, class A> struct parameter_<R (C::*)(A)> {
	using type = A;
	using result = R;
};
template <class R, class C, class A>
struct parameter_<R (C::*)(A) noexcept> : parameter_<R (C::*)(A)> {
};
template <class R, class C, class A>
struct parameter_<R (C::*)(A) const> : parameter_<R (C::*)(A)> {
};
template <class R, class C, class A>
struct parameter_<R (C::*)(A) const noexcept> : parameter_<R (C::*)(A)> {
};

/* Members of P and of this class with one name are ambiguous. */
struct yield_name_ {
	int yield_value;
};
template <class P> struct and_name_ : P, yield_name_ {
};

template <class P> struct yield_of_ {
	static constexpr bool is_known = requires
	{
		&and_name_<P>::yield_value;
	};
	static constexpr bool is_watched = true;
	using type = no_parameter_;
};
template <class P> requires requires
{
	typename parameter_<decltype(&P::yield_value)>::type;
}
struct yield_of_<P> : parameter_<decltype(&P::yield_value)> {
	static constexpr bool is_known = true;
	static constexpr bool is_watched =
		is_watched_<typename parameter_<decltype(&P::yield_value)>::result>;
};

template <class Function> inline constexpr bool is_ours_ = false;
template <class R> inline constexpr bool is_ours_<R (promise::*)(std::suspend_always &&)> = true;

template <class P> struct await_of_ {
	static constexpr bool is_known = requires
	{
		requires is_ours_<decltype(&P::template await_transform<std::suspend_always>)>;
	};
	static constexpr bool is_watched = true;
	using type = no_parameter_;
};
template <class P> requires requires
{
	typename parameter_<decltype(&P::await_transform)>::type;
}
struct await_of_<P> : parameter_<decltype(&P::await_transform)> {
	static constexpr bool is_known = true;
	static constexpr bool is_watched =
		is_watched_<typename parameter_<decltype(&P::await_transform)>::result>;
};

template <class P> class whole_ : public P
{
      public:
	using P::P;

	HOTPATH_INLINE_ auto initial_suspend() noexcept(
		noexcept(std::declval<P &>().initial_suspend()))
	{
		return watch_made<stage_::first>(
			[this]() -> decltype(auto) { return P::initial_suspend(); });
	}
	HOTPATH_INLINE_ auto final_suspend() noexcept
	{
		return watch_made<stage_::last>(
			[this]() -> decltype(auto) { return P::final_suspend(); });
	}
	HOTPATH_INLINE_ auto yield_value(typename yield_of_<P>::type value)
	{
		return watch_made<stage_::later>([&]() -> decltype(auto) {
			return P::yield_value(std::forward<typename yield_of_<P>::type>(value));
		});
	}
	HOTPATH_INLINE_ auto await_transform(typename await_of_<P>::type awaited)
	{
		return watch_made<stage_::later>([&]() -> decltype(auto) {
			return P::await_transform(
				std::forward<typename await_of_<P>::type>(awaited));
		});
	}
	template <class A>
	requires std::is_same_v<typename await_of_<P>::type, no_parameter_> HOTPATH_INLINE_ auto
	await_transform(A &&awaited)
	{
		return P::await_transform(std::forward<A>(awaited));
	}

      private:
	template <stage_ stage, class Make> HOTPATH_INLINE_ auto watch_made(Make make)
	{
		using made = decltype(make());
		using awaiter = std::conditional_t<has_co_await_<made>, held_<made>, made>;

		if constexpr (is_watched_<made>)
			return make();
		else
			return watched_<awaiter, stage>(&static_cast<promise *>(this)->task_,
							from_call_{}, make);
	}
};

/* The promise of a coroutine of P's. */
template <class P> struct promise_of_ {
	static constexpr bool is_watched =
		is_told_<P> && yield_of_<P>::is_watched && await_of_<P>::is_watched;
	static constexpr bool is_known = yield_of_<P>::is_known && await_of_<P>::is_known;

	static_assert(is_told_<P> || is_known, HOTPATH_UNTOLD_);
	using type = std::conditional_t<is_watched || !is_known, P, whole_<P>>;
};
template <class P> requires std::is_final_v<P> struct promise_of_<P> {
	static_assert(is_told_<P>, HOTPATH_UNTOLD_);
	using type = P;
};

template <class R> concept has_promise_ = requires
{
	sizeof(typename R::promise_type);
	requires std::is_convertible_v<typename R::promise_type *, promise *>;
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

#ifdef HOTPATH
template <class R, class... Args>
requires hotpath::has_promise_<R> struct std::coroutine_traits<R, Args...> {
	using promise_type = typename hotpath::promise_of_<typename R::promise_type>::type;
};
#endif

#endif
