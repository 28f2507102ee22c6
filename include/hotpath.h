/* SPDX-License-Identifier: MIT */
/*
 * hotpath.h - blocks, names and results for the profiler, from inside a program.
 *
 *	#include <hotpath.h>		and compile with -DHOTPATH
 *
 *	void load(const char *path)
 *	{
 *		HOTPATH_NAME("load_user");	the name of this function's row
 *		{
 *			HOTPATH_BLOCK("parse");	a row of its own, up to the brace
 *			...
 *		}
 *	}
 *
 * Without -DHOTPATH nothing of it is compiled (HOTPATH_SKIP stays: it is about
 * -finstrument-functions).  With it the program needs no library, neither when
 * it is linked nor when it runs: a block then costs the load of a pointer that
 * is 0, and a branch, at either end.  Under LD_PRELOAD=libhotpath.so or hotpath
 * run, blocks are counted and timed like functions, in the same table, below
 * the function or block that they are in; -finstrument-functions is not needed.
 *
 *	HOTPATH_BLOCK(label);	counts and times the rest of the scope, however it
 *				is left: break, goto, return, a C++ exception
 *	HOTPATH_BEGIN(label);	the same for control flow that no scope can follow;
 *	HOTPATH_END(label);	both in one function and one thread
 *	HOTPATH_GUARD(name, label);	C++: a block by a variable; name.end() ends it early
 *	HOTPATH_NAME(name);	the current function's row is called so.  Comes first
 *				in the function; for functions that the compiler
 *				instruments
 *	HOTPATH_RESULT(text);	the text (const char *) goes to the log entry of the
 *				current call, if that is timed; copied, up to 120 bytes.
 *				It is evaluated only when there is a library
 *	HOTPATH_LOCK(object, label);	what locks and waits say of this lock: a mutex,
 *				rwlock, condition, semaphore, ..., of any interface;
 *				after it was made, before it is used.  All that have one
 *				label are one row.  `label` (const char *) is copied
 *	HOTPATH_LABEL_FD(fd, label);	what channels say of this pipe, socket pair,
 *				eventfd or queue; after it was made.  `label` is copied
 *	HOTPATH_CHANNEL(object, label, capacity);	a queue of one's own, at the address
 *				`object`: begins a channel; capacity 0 = unbounded
 *	HOTPATH_CHANNEL_SEND(object);	a message is put in: before it can be taken out
 *	HOTPATH_CHANNEL_RECEIVE(object);	one was taken out
 *	HOTPATH_CHANNEL_CLOSE(object);	the queue is no more
 *	HOTPATH_SKIP		before a function: the compiler shall not instrument it
 *	HOTPATH_DEFAULTS(text);	outside of functions, in the program: settings that
 *				hold unless flag or environment say otherwise,
 *				"percentiles=50,99 report=functions-timing,threads"
 *
 * Labels are string literals.  All blocks of one label in one program or library
 * are one row, wherever they stand.
 *
 * gcc and clang, C99 and later (gnu89 too), C++98 and later; ELF.
 */
#ifndef HOTPATH_H
#define HOTPATH_H

#if defined(__GNUC__)
#define HOTPATH_SKIP __attribute__((no_instrument_function))
#else
#define HOTPATH_SKIP
#endif

#if defined(HOTPATH) && (!defined(__GNUC__) || !defined(__ELF__))
#undef HOTPATH
#endif

#if defined(HOTPATH) || defined(HOTPATH_DECLARATIONS)

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A place in the source: static, zero behind what is initialised, not const.
 * `size` says which fields there are; later versions may have more at the end.
 */
struct hotpath_block {
	unsigned int size;
	unsigned int line;
	const char *label; /* NULL or "": the file's name and line stand for it */
	const char *file;	/* NULL = unknown */
	const char *function;	/* __func__ around HOTPATH_NAME */
	void *key;	/* the library's; NULL at first */
};

/*
 * What the library exports.  The program calls them by the pointers below, and
 * other languages' bindings may call them by name.
 */
#ifdef HOTPATH
#define HOTPATH_IMPORT_ __attribute__((weak, visibility("default")))
#else
#define HOTPATH_IMPORT_ __attribute__((visibility("default")))
#endif
HOTPATH_IMPORT_ void hotpath_block_enter(struct hotpath_block *block);
HOTPATH_IMPORT_ void hotpath_block_leave(struct hotpath_block *block);
HOTPATH_IMPORT_ void hotpath_name(struct hotpath_block *name);
HOTPATH_IMPORT_ void hotpath_result(const char *text);
HOTPATH_IMPORT_ void hotpath_label(int what, const void *object, const char *label);

#define HOTPATH_LABEL_LOCK 1	/* what an `object` of hotpath_label is: the address of a lock */
#define HOTPATH_MARK_FD 2	/* a descriptor */
#define HOTPATH_MARK_CHANNEL 3	/* a queue of the program's own, which begins; capacity << 8 */
#define HOTPATH_MARK_SENT 4	/* the same: a message was sent, received; it ends */
#define HOTPATH_MARK_RECEIVED 5
#define HOTPATH_MARK_CLOSED 6

/*
 * One in each program and each library, not seen outside.  In a library ld.so
 * fills it, before any code of it runs.  In a program most linkers take an
 * undefined weak symbol for 0 once and for all; so the library, when it starts,
 * looks for the note that leads here.  Note: distance to this struct, and how
 * many pointers there are.  A header with more of them gives it another name
 * than hotpath_hooks_2: objects compiled with either may be linked together.
 */
struct hotpath_hooks {
	void (*volatile enter)(struct hotpath_block *block);
	void (*volatile leave)(struct hotpath_block *block);
	void (*volatile name)(struct hotpath_block *name);
	void (*volatile result)(const char *text);
	void (*volatile label)(int what, const void *object, const char *label);
};

#define HOTPATH_NOTE_HOOKS 1 /* types of the notes called "hotpath" */
#define HOTPATH_NOTE_DEFAULTS 2

#ifdef __cplusplus
}
#endif

#endif

#ifdef HOTPATH

#ifdef __cplusplus
extern "C" {
#endif
extern __attribute__((visibility("hidden"))) struct hotpath_hooks hotpath_hooks_2;
__attribute__((weak, used)) struct hotpath_hooks hotpath_hooks_2 = {
	hotpath_block_enter, hotpath_block_leave, hotpath_name, hotpath_result, hotpath_label
};
#ifdef __cplusplus
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
__asm__(".pushsection .note.hotpath,\"a\",%note\n"
	"\t.balign 4\n"
	"\t.long 8, 8, 1\n"
	"\t.asciz \"hotpath\"\n"
	"\t.long hotpath_hooks_2 - ., 5\n"
	"\t.popsection");
#endif

#define HOTPATH_INLINE_ __inline__ __attribute__((always_inline, no_instrument_function))
#define HOTPATH_JOIN2_(a, b) a##b
#define HOTPATH_JOIN_(a, b) HOTPATH_JOIN2_(a, b)
#if defined(__cplusplus) && __cplusplus >= 201103L
#define HOTPATH_NULL_ nullptr
#else
#define HOTPATH_NULL_ 0
#endif

/* "" makes anything but a string literal an error. */
#define HOTPATH_INIT_(label, function) \
	{ \
		sizeof(struct hotpath_block), __LINE__, "" label "", __FILE__, function, \
			HOTPATH_NULL_ \
	}

static HOTPATH_INLINE_ struct hotpath_block *hotpath_enter_(struct hotpath_block *block)
{
	void (*enter)(struct hotpath_block *) = hotpath_hooks_2.enter;

	if (__builtin_expect(enter != HOTPATH_NULL_, 0))
		enter(block);
	return block;
}

static HOTPATH_INLINE_ void hotpath_leave_(struct hotpath_block *block)
{
	void (*leave)(struct hotpath_block *) = hotpath_hooks_2.leave;

	if (__builtin_expect(leave != HOTPATH_NULL_, 0))
		leave(block);
}

static HOTPATH_INLINE_ void hotpath_leave_scope_(struct hotpath_block *const *block)
{
	hotpath_leave_(*block);
}

/* Once for each place: the library sets `key` when it is done. */
static HOTPATH_INLINE_ void hotpath_name_(struct hotpath_block *name)
{
	void (*call)(struct hotpath_block *) = hotpath_hooks_2.name;

	if (__builtin_expect(call != HOTPATH_NULL_, 0) &&
	    __atomic_load_n(&name->key, __ATOMIC_RELAXED) == HOTPATH_NULL_)
		call(name);
}

#define HOTPATH_BEGIN(label) \
	do { \
		static struct hotpath_block hotpath_begun_ = HOTPATH_INIT_(label, HOTPATH_NULL_); \
		hotpath_enter_(&hotpath_begun_); \
	} while (0)

#define HOTPATH_END(label) \
	do { \
		static struct hotpath_block hotpath_ended_ = HOTPATH_INIT_(label, HOTPATH_NULL_); \
		hotpath_leave_(&hotpath_ended_); \
	} while (0)

#define HOTPATH_NAME(name) \
	do { \
		static struct hotpath_block hotpath_named_ = \
			HOTPATH_INIT_(name, __extension__ __FUNCTION__); \
		hotpath_name_(&hotpath_named_); \
	} while (0)

#define HOTPATH_RESULT(text) \
	do { \
		void (*hotpath_result_)(const char *) = hotpath_hooks_2.result; \
		if (__builtin_expect(hotpath_result_ != HOTPATH_NULL_, 0)) \
			hotpath_result_(text); \
	} while (0)

/* All are evaluated only when there is a library. */
#define HOTPATH_MARK_(what, object, text) \
	do { \
		void (*hotpath_label_)(int, const void *, const char *) = hotpath_hooks_2.label; \
		if (__builtin_expect(hotpath_label_ != HOTPATH_NULL_, 0)) \
			hotpath_label_(what, object, text); \
	} while (0)

#ifdef __cplusplus /* without a warning of -Wold-style-cast */
#define HOTPATH_POINTER_(fd) reinterpret_cast<const void *>(static_cast<long>(fd))
#define HOTPATH_BOUND_(capacity) static_cast<int>(static_cast<unsigned int>(capacity) << 8)
#else
#define HOTPATH_POINTER_(fd) ((const void *)(long)(fd))
#define HOTPATH_BOUND_(capacity) ((int)((unsigned int)(capacity) << 8))
#endif

#define HOTPATH_LOCK(object, text) HOTPATH_MARK_(HOTPATH_LABEL_LOCK, object, text)
#define HOTPATH_LABEL_FD(fd, text) HOTPATH_MARK_(HOTPATH_MARK_FD, HOTPATH_POINTER_(fd), text)
#define HOTPATH_CHANNEL(object, text, capacity) \
	HOTPATH_MARK_(HOTPATH_BOUND_(capacity) | HOTPATH_MARK_CHANNEL, object, text)
#define HOTPATH_CHANNEL_SEND(object) HOTPATH_MARK_(HOTPATH_MARK_SENT, object, HOTPATH_NULL_)
#define HOTPATH_CHANNEL_RECEIVE(object) HOTPATH_MARK_(HOTPATH_MARK_RECEIVED, object, HOTPATH_NULL_)
#define HOTPATH_CHANNEL_CLOSE(object) HOTPATH_MARK_(HOTPATH_MARK_CLOSED, object, HOTPATH_NULL_)

/* An ELF note: the library and hotpath run read it, the program does not. */
#define HOTPATH_DEFAULTS(settings) \
	static const struct { \
		unsigned int name_size, size, type; \
		char name[8]; \
		char text[sizeof("" settings "")]; \
	} HOTPATH_JOIN_(hotpath_defaults_, __LINE__) \
		__attribute__((used, section(".note.hotpath"), \
			       aligned(4))) = { 8, sizeof("" settings ""), HOTPATH_NOTE_DEFAULTS, \
						"hotpath", "" settings "" }

#if defined(__cplusplus) && __cplusplus >= 201103L

namespace hotpath
{
/* A block from here to the end of the scope, or to end(). */
class guard
{
      public:
	HOTPATH_INLINE_ explicit guard(hotpath_block *block) noexcept : block_(block)
	{
		hotpath_enter_(block);
	}
	HOTPATH_INLINE_ ~guard()
	{
		end();
	}
	HOTPATH_INLINE_ void end() noexcept
	{
		if (block_ != nullptr)
			hotpath_leave_(block_);
		block_ = nullptr;
	}
	guard(const guard &) = delete;
	guard &operator=(const guard &) = delete;

      private:
	hotpath_block *block_;
};
} // namespace hotpath

#define HOTPATH_GUARD(name, label) \
	static struct hotpath_block HOTPATH_JOIN_(hotpath_block_, __LINE__) = \
		HOTPATH_INIT_(label, nullptr); \
	::hotpath::guard name(&HOTPATH_JOIN_(hotpath_block_, __LINE__))

#endif

#define HOTPATH_BLOCK(label) \
	static struct hotpath_block HOTPATH_JOIN_(hotpath_block_, __LINE__) = \
		HOTPATH_INIT_(label, HOTPATH_NULL_); \
	struct hotpath_block *const HOTPATH_JOIN_(hotpath_guard_, __LINE__) \
		__attribute__((cleanup(hotpath_leave_scope_), unused)) = \
			hotpath_enter_(&HOTPATH_JOIN_(hotpath_block_, __LINE__))

#else	/* Nothing, in a form that takes the semicolon behind it. */

#define HOTPATH_BLOCK(label) ((void)0)
#define HOTPATH_BEGIN(label) ((void)0)
#define HOTPATH_END(label) ((void)0)
#define HOTPATH_NAME(name) ((void)0)
#define HOTPATH_RESULT(text) ((void)0)
#define HOTPATH_LOCK(object, text) ((void)0)
#define HOTPATH_LABEL_FD(fd, text) ((void)0)
#define HOTPATH_CHANNEL(object, text, capacity) ((void)0)
#define HOTPATH_CHANNEL_SEND(object) ((void)0)
#define HOTPATH_CHANNEL_RECEIVE(object) ((void)0)
#define HOTPATH_CHANNEL_CLOSE(object) ((void)0)
#define HOTPATH_DEFAULTS(settings) struct hotpath_nothing

#if defined(__cplusplus) && __cplusplus >= 201103L
namespace hotpath
{
struct guard {
	void end()
	{
	}
};
} // namespace hotpath
#define HOTPATH_GUARD(name, label) \
	::hotpath::guard name; \
	(void)name
#endif

#endif
#endif
