/* SPDX-License-Identifier: MIT */
/*
 * hotpath.h - name and measure parts of a program for the hotpath profiler.
 *
 *	#include <hotpath.h>		and compile with -DHOTPATH
 *
 *	void load(const char *path)
 *	{
 *		HOTPATH_NAME("load_user");	names this function's row
 *		{
 *			HOTPATH_BLOCK("parse");	its own row, up to the brace
 *			...
 *		}
 *	}
 *
 * Without -DHOTPATH every macro expands to nothing, except HOTPATH_SKIP, which
 * concerns -finstrument-functions.  With it the program still links nothing and
 * runs without the library: a block then costs two loads of a null pointer and
 * two branches.  Under LD_PRELOAD=libhotpath.so or hotpath run, blocks are
 * counted and timed like functions, in the same table, below the enclosing
 * function or block.  -finstrument-functions is not needed.
 *
 *	HOTPATH_BLOCK(label);		measures the rest of the scope
 *	HOTPATH_GUARD(name, label);	the same as a variable, in C++
 *	HOTPATH_BEGIN(label);		the same without a scope: start
 *	HOTPATH_END(label);		and end
 *	HOTPATH_NAME(name);		names the current function's row
 *	HOTPATH_RESULT(text);		adds a text to the current call's log entry
 *	HOTPATH_LOCK(object, label);	names a lock
 *	HOTPATH_LABEL_FD(fd, label);	names a pipe, socket pair, eventfd or queue
 *	HOTPATH_CHANNEL(object, label, capacity);	starts a queue of the program
 *	HOTPATH_CHANNEL_SEND(object); counts a message put in
 *	HOTPATH_CHANNEL_RECEIVE(object);	counts a message taken out
 *	HOTPATH_CHANNEL_CLOSE(object);	ends the queue
 *	HOTPATH_STREAM(object, label);	starts a stream: one item after the other
 *	HOTPATH_STREAM_ITEM(object, bytes);	counts an item of that many bytes
 *	HOTPATH_STREAM_LOG(object, bytes, text);	the same with a text in its log
 *	HOTPATH_STREAM_END(object);	ends the stream
 *	HOTPATH_STREAM_FAIL(object);	ends it with an error
 *	HOTPATH_LOOP(label);		names the calling thread's event loop
 *	HOTPATH_DBG(expression)		shows a value, and is that value
 *	HOTPATH_VAL(key, value);	shows a value under a key
 *	HOTPATH_GAUGE_SET(name, number);	sets a number that goes up and down,
 *	HOTPATH_GAUGE_INC(name, number);	adds to it,
 *	HOTPATH_GAUGE_DEC(name, number);	subtracts from it
 *	HOTPATH_FUTURE(object, label);	starts a future of the program,
 *	HOTPATH_FUTURE_POLL(object);	begins a poll of it,
 *	HOTPATH_FUTURE_PENDING(object);	ends a poll: not ready,
 *	HOTPATH_FUTURE_READY(object, result);	ends it
 *	HOTPATH_FUTURE_CANCEL(object);	gives it up
 *	HOTPATH_SKIP			excludes a function from instrumentation
 *	HOTPATH_DEFAULTS(settings);	sets defaults for the program's settings
 *
 * The comment above each macro has the details.  These rules hold for all
 * entries:
 *
 * Errors   No entry reports an error to the program.  If the library has no
 *	    room or an argument makes no sense, it records less and the report
 *	    says so.
 * Threads  Every entry may be used by any number of threads at once.  No entry
 *	    has its own lock or calls malloc.  errno is preserved.  Before
 *	    glibc 2.35 the first use of a place takes the dynamic linker's lock.
 * Signals  Every entry may be used in a signal handler.
 * Text     Labels of blocks, guards and HOTPATH_NAME are string literals of up
 *	    to 1000 bytes.  Other labels are any const char *, copied, up to
 *	    1000 bytes (locks: 512).  Longer text is truncated.  Tables and JSON show
 *	    control characters and invalid UTF-8 as `?`.
 * Merging  All uses of one label in one program or library share one row.
 *
 * gcc and clang; C99 and later, gnu89; C++98 and later; ELF.
 */
#ifndef HOTPATH_H
#define HOTPATH_H

#if defined(__GNUC__)
/* Put before a function: keeps the compiler from instrumenting it. */
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
 * A place in the source.  It must be static, writable, and zero beyond the
 * initialised fields.  `size` says which fields exist; later versions may add
 * fields at the end.
 */
struct hotpath_block {
	unsigned int size;
	unsigned int line;
	const char *label;	/* NULL or "": file name and line are shown instead */
	const char *file;	/* NULL = unknown */
	const char *function;	/* __func__ around HOTPATH_NAME */
	void *key;	/* owned by the library; initially NULL */
};

/*
 * The functions that the library exports.  The macros call these functions
 * through the pointers below; bindings for other languages may call them by
 * name.
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

/* A place with a value, as struct hotpath_block. */
struct hotpath_value {
	unsigned int size;
	unsigned int line;
	const char *name;	/* the key, the gauge's name or the expression */
	const char *file;
	void *key;	/* both owned by the library; initially NULL */
	void *owner;
};

HOTPATH_IMPORT_ void hotpath_gauge_change(struct hotpath_value *place, int change, double number);
HOTPATH_IMPORT_ void hotpath_value_show(struct hotpath_value *place, int what, const void *value,
					unsigned long size);

#define HOTPATH_CHANGE_SET 0	/* what a gauge does */
#define HOTPATH_CHANGE_ADD 1

/* `what` of hotpath_value_show: the kind of value, plus its type.  `value` points to it. */
#define HOTPATH_VALUE_DBG 0x100
#define HOTPATH_VALUE_VAL 0x200

#define HOTPATH_TYPE_OTHER 0	/* of `size` bytes, which are opaque */
#define HOTPATH_TYPE_BOOL 1
#define HOTPATH_TYPE_CHAR 2
#define HOTPATH_TYPE_INT 3	/* of any size up to 16 bytes; so are the next ones */
#define HOTPATH_TYPE_UINT 4
#define HOTPATH_TYPE_FLOAT 5
#define HOTPATH_TYPE_COMPLEX 6
#define HOTPATH_TYPE_POINTER 7
#define HOTPATH_TYPE_TEXT 8	/* a pointer to a text that ends with a 0 */
#define HOTPATH_TYPE_CHARS 9	/* `size` characters, or up to a 0 */

/* What a future does. `place` is set at its first step, and NULL at the others. */
HOTPATH_IMPORT_ void hotpath_future(struct hotpath_value *place, int step, const void *object,
				    const char *text);

/* A coroutine of include/hotpath_coroutine.h; zero at first. */
struct hotpath_task {
	void *flight;	/* owned by the library, like all fields up to `is_begun` */
	void *future;
	void *owner;
	unsigned long number;
	int is_begun;	/* the header's */
	int reserved;
};

/* `with`: at its first step, the function that resumes it; at HOTPATH_STEP_RESULT, a text. */
HOTPATH_IMPORT_ void hotpath_task_step(struct hotpath_task *task, int step, const void *with);

#define HOTPATH_STEP_BEGIN 1
#define HOTPATH_STEP_POLL 2
#define HOTPATH_STEP_PENDING 3
#define HOTPATH_STEP_READY 4	/* `text` is its result, or NULL */
#define HOTPATH_STEP_CANCEL 5
#define HOTPATH_STEP_RESULT 6	/* the result, before it is ready */
#define HOTPATH_STEP_CONTINUE 7	/* of a task: reopens the poll that has just ended */

/* Values of `what` in hotpath_label, and what `object` is then. */
#define HOTPATH_LABEL_LOCK 1	/* the address of a lock */
#define HOTPATH_MARK_FD 2	/* a descriptor */
#define HOTPATH_MARK_CHANNEL 3	/* a new queue; `what` also holds its capacity << 8 */
#define HOTPATH_MARK_SENT 4	/* a queue into which a message was put */
#define HOTPATH_MARK_RECEIVED 5	/* a queue from which a message was taken */
#define HOTPATH_MARK_CLOSED 6	/* a queue that ends */
#define HOTPATH_MARK_STREAM 7	/* a new stream */
#define HOTPATH_MARK_ITEM 8	/* a stream with a new item; `what` also holds its bytes << 8 */
#define HOTPATH_MARK_MORE 9	/* more bytes of its next item: (bytes >> HOTPATH_MORE_BITS) << 8 */
#define HOTPATH_MARK_ENDED 10	/* a stream that ends */
#define HOTPATH_MARK_FAILED 11	/* the same with an error */
#define HOTPATH_MARK_LOOP 12	/* none: the next wait of the thread is that of an event loop */
#define HOTPATH_MORE_BITS 23

/*
 * Each program and each shared library has one, with hidden visibility.  In a
 * shared library ld.so fills it before any of the library's code runs.  In a
 * program, most linkers resolve an undefined weak symbol to 0 for good.  So
 * libhotpath.so searches for the ELF note below when it starts; the note holds
 * the distance to this struct and its number of pointers.  A header with more
 * pointers must rename hotpath_hooks_4, so that objects compiled with either
 * header can be linked together.
 */
struct hotpath_hooks {
	void (*volatile enter)(struct hotpath_block *block);
	void (*volatile leave)(struct hotpath_block *block);
	void (*volatile name)(struct hotpath_block *name);
	void (*volatile result)(const char *text);
	void (*volatile label)(int what, const void *object, const char *label);
	void (*volatile gauge)(struct hotpath_value *place, int change, double number);
	void (*volatile value)(struct hotpath_value *place, int what, const void *value,
			       unsigned long size);
	void (*volatile future)(struct hotpath_value *place, int step, const void *object,
				const char *text);
	void (*volatile task)(struct hotpath_task *task, int step, const void *with);
};

#define HOTPATH_NOTE_HOOKS 1	/* types of the notes called "hotpath" */
#define HOTPATH_NOTE_DEFAULTS 2

#ifdef __cplusplus
}
#endif

#endif

#ifdef HOTPATH

#ifdef __cplusplus
extern "C" {
#endif
extern __attribute__((visibility("hidden"))) struct hotpath_hooks hotpath_hooks_4;
__attribute__((weak, used)) struct hotpath_hooks hotpath_hooks_4 = {
	hotpath_block_enter,  hotpath_block_leave, hotpath_name,   hotpath_result,   hotpath_label,
	hotpath_gauge_change, hotpath_value_show,  hotpath_future, hotpath_task_step
};
#ifdef __cplusplus
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
__asm__(".pushsection .note.hotpath,\"a\",%note\n"
	"\t.balign 4\n"
	"\t.long 8, 8, 1\n"
	"\t.asciz \"hotpath\"\n"
	"\t.long hotpath_hooks_4 - ., 9\n"
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

/* The "" rejects anything but a string literal. */
#define HOTPATH_INIT_(label, function) \
	{ \
		sizeof(struct hotpath_block), __LINE__, "" label "", __FILE__, function, \
			HOTPATH_NULL_ \
	}

static HOTPATH_INLINE_ struct hotpath_block *hotpath_enter_(struct hotpath_block *block)
{
	void (*enter)(struct hotpath_block *) = hotpath_hooks_4.enter;

	if (__builtin_expect(enter != HOTPATH_NULL_, 0))
		enter(block);
	return block;
}

static HOTPATH_INLINE_ void hotpath_leave_(struct hotpath_block *block)
{
	void (*leave)(struct hotpath_block *) = hotpath_hooks_4.leave;

	if (__builtin_expect(leave != HOTPATH_NULL_, 0))
		leave(block);
}

static HOTPATH_INLINE_ void hotpath_leave_scope_(struct hotpath_block *const *block)
{
	hotpath_leave_(*block);
}

/* Calls once per place: the library sets `key` when it is done. */
static HOTPATH_INLINE_ void hotpath_name_(struct hotpath_block *name)
{
	void (*call)(struct hotpath_block *) = hotpath_hooks_4.name;

	if (__builtin_expect(call != HOTPATH_NULL_, 0) &&
	    __atomic_load_n(&name->key, __ATOMIC_RELAXED) == HOTPATH_NULL_)
		call(name);
}

/*
 * HOTPATH_BEGIN(label) and HOTPATH_END(label) - HOTPATH_BLOCK for control flow that
 * no scope follows.  They pair by label, so one BEGIN may have several ENDs.
 * Both must run in the same function call and thread.  An open block ends with
 * its function; an END without a BEGIN is ignored, and the report counts it.
 */
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

/*
 * HOTPATH_NAME(name) - sets the name of the current function's row.  Put it first
 * in the function.  It only affects functions that the compiler instruments.
 */
#define HOTPATH_NAME(name) \
	do { \
		static struct hotpath_block hotpath_named_ = \
			HOTPATH_INIT_(name, __extension__ __FUNCTION__); \
		hotpath_name_(&hotpath_named_); \
	} while (0)

/*
 * HOTPATH_RESULT(text) - stores a const char * in the log entry of the innermost
 * recorded call, if that call is timed.  Copied, up to 120 bytes, cut between
 * UTF-8 characters.  The last text of a call wins; NULL does nothing.  `text`
 * is evaluated only if the library is loaded.
 */
#define HOTPATH_RESULT(text) \
	do { \
		void (*hotpath_result_)(const char *) = hotpath_hooks_4.result; \
		if (__builtin_expect(hotpath_result_ != HOTPATH_NULL_, 0)) \
			hotpath_result_(text); \
	} while (0)

/* The arguments are evaluated only if the library is loaded. */
#define HOTPATH_MARK_(what, object, text) \
	do { \
		void (*hotpath_label_)(int, const void *, const char *) = hotpath_hooks_4.label; \
		if (__builtin_expect(hotpath_label_ != HOTPATH_NULL_, 0)) \
			hotpath_label_(what, object, text); \
	} while (0)

/* `what` has 24 bits for the capacity. */
#define HOTPATH_CAPACITY_MAX_ 0xffffffUL

#ifdef __cplusplus	/* avoids -Wold-style-cast */
#define HOTPATH_SIZE_(bytes) static_cast<unsigned long>(bytes)
#define HOTPATH_POINTER_(fd) reinterpret_cast<const void *>(static_cast<long>(fd))
#define HOTPATH_BOUND_(capacity) hotpath_bound_(static_cast<unsigned long>(capacity))
#else
#define HOTPATH_SIZE_(bytes) ((unsigned long)(bytes))
#define HOTPATH_POINTER_(fd) ((const void *)(long)(fd))
#define HOTPATH_BOUND_(capacity) hotpath_bound_((unsigned long)(capacity))
#endif

static HOTPATH_INLINE_ int hotpath_bound_(unsigned long capacity)
{
	unsigned long bound = capacity < HOTPATH_CAPACITY_MAX_ ? capacity : HOTPATH_CAPACITY_MAX_;

#ifdef __cplusplus
	return static_cast<int>(static_cast<unsigned int>(bound) << 8);
#else
	return (int)((unsigned int)bound << 8);
#endif
}

/*
 * HOTPATH_LOCK(object, label) - names the lock at address `object`: a mutex,
 * rwlock, condition, semaphore or barrier, of any interface.  Use it after the
 * lock is initialised and before it is first locked.  Records under the old
 * name stay there.  A NULL or empty label does nothing.
 *
 * HOTPATH_LABEL_FD(fd, label) - names the channel of a pipe, socket pair, eventfd
 * or POSIX message queue.  Use it after the descriptor is created.  The first
 * label wins.
 *
 * HOTPATH_CHANNEL(object, label, capacity) - starts a channel for the program's own
 * queue at address `object`.  `capacity` is in messages; 0 means unbounded.
 * Values above 16,777,215 are recorded as 16,777,215.  A second call with the
 * same address ends the first channel.  One table holds up to 8192 queues,
 * message queues and joinable threads; when it is full, none is added.
 *
 * HOTPATH_CHANNEL_SEND(object) - counts one message.  Call it before another thread
 * can take the message out.  An unknown `object` starts an unbounded channel.
 *
 * HOTPATH_CHANNEL_RECEIVE(object) - counts one message, after it was taken out.
 *
 * HOTPATH_CHANNEL_CLOSE(object) - ends the channel.  Its figures stay.
 */
#define HOTPATH_LOCK(object, text) HOTPATH_MARK_(HOTPATH_LABEL_LOCK, object, text)
#define HOTPATH_LABEL_FD(fd, text) HOTPATH_MARK_(HOTPATH_MARK_FD, HOTPATH_POINTER_(fd), text)
#define HOTPATH_CHANNEL(object, text, capacity) \
	HOTPATH_MARK_(HOTPATH_BOUND_(capacity) | HOTPATH_MARK_CHANNEL, object, text)
#define HOTPATH_CHANNEL_SEND(object) HOTPATH_MARK_(HOTPATH_MARK_SENT, object, HOTPATH_NULL_)
#define HOTPATH_CHANNEL_RECEIVE(object) HOTPATH_MARK_(HOTPATH_MARK_RECEIVED, object, HOTPATH_NULL_)
#define HOTPATH_CHANNEL_CLOSE(object) HOTPATH_MARK_(HOTPATH_MARK_CLOSED, object, HOTPATH_NULL_)

/*
 * HOTPATH_STREAM(object, label) - starts a stream, identified by the address
 * `object`: rows of a query, messages of a parser, anything that the program takes
 * one by one.
 * A second call with the same address ends the first stream.  Up to 4096 streams
 * can be open; the report counts further ones.
 *
 * HOTPATH_STREAM_ITEM(object, bytes) - counts one item, after it was taken.  `bytes`
 * may be 0.  An unknown `object` starts a stream.
 *
 * HOTPATH_STREAM_LOG(object, bytes, text) - the same.  If the item is among those
 * in the log, the first 80 bytes of `text` (a const char *) are, too.
 *
 * HOTPATH_STREAM_END(object), HOTPATH_STREAM_FAIL(object) - ends the stream, in the
 * second case with an error.  Its figures stay.
 */
#define HOTPATH_STREAM(object, text) HOTPATH_MARK_(HOTPATH_MARK_STREAM, object, text)
#define HOTPATH_STREAM_LOG(object, bytes, text) \
	do { \
		void (*hotpath_label_)(int, const void *, const char *) = hotpath_hooks_4.label; \
		if (__builtin_expect(hotpath_label_ != HOTPATH_NULL_, 0)) { \
			const unsigned long hotpath_bytes_ = HOTPATH_SIZE_(bytes); \
			const unsigned long hotpath_more_ = hotpath_bytes_ >> HOTPATH_MORE_BITS; \
			const unsigned long hotpath_rest_ = \
				hotpath_bytes_ - (hotpath_more_ << HOTPATH_MORE_BITS); \
			const void *hotpath_object_ = object; \
			if (hotpath_more_) \
				hotpath_label_(hotpath_bound_(hotpath_more_) | HOTPATH_MARK_MORE, \
					       hotpath_object_, HOTPATH_NULL_); \
			hotpath_label_(hotpath_bound_(hotpath_rest_) | HOTPATH_MARK_ITEM, \
				       hotpath_object_, text); \
		} \
	} while (0)
#define HOTPATH_STREAM_ITEM(object, bytes) HOTPATH_STREAM_LOG(object, bytes, HOTPATH_NULL_)
#define HOTPATH_STREAM_END(object) HOTPATH_MARK_(HOTPATH_MARK_ENDED, object, HOTPATH_NULL_)
#define HOTPATH_STREAM_FAIL(object) HOTPATH_MARK_(HOTPATH_MARK_FAILED, object, HOTPATH_NULL_)

/*
 * HOTPATH_LOOP(label) - names the calling thread's event loop: the place where it waits
 * for descriptors next (epoll_wait, poll, select and the like).  Use it before the loop, or
 * each time before the wait; the newest label counts.  From 16 waits on, a wait with
 * a label is a loop even if it is for one descriptor.
 */
#define HOTPATH_LOOP(text) HOTPATH_MARK_(HOTPATH_MARK_LOOP, HOTPATH_NULL_, text)

/* --- futures --- */

/*
 * Coroutines of C++20: see hotpath_coroutine.h.
 *
 * HOTPATH_FUTURE(object, label) - starts a future: work that is started, polled any number of
 * times, and finally ready or cancelled. `object` is any address that identifies it meanwhile;
 * `label` is a string literal, "" shows file and line. An earlier future of the same object that
 * did not end counts as cancelled.
 *
 * HOTPATH_FUTURE_POLL(object) and HOTPATH_FUTURE_PENDING(object) - around a piece of its work after which it
 * is not ready.  Any thread may do the next piece; two at once may not.
 *
 * HOTPATH_FUTURE_READY(object, result) - it is done; also ends an open poll.  `result` is a
 * const char *, or NULL; its first 80 bytes are kept.
 *
 * HOTPATH_FUTURE_CANCEL(object) - it is cancelled; also ends an open poll.
 *
 * The table of futures shows calls, polls, their time, how long calls waited for their first poll
 * and how long they took in total, and the allocations in polls. Calls of unknown objects do
 * nothing. Some 30,000 may be in flight at a time; others are counted as lost.
 */
#define HOTPATH_STEP_(place, step, object, text) \
	do { \
		void (*hotpath_future_)(struct hotpath_value *, int, const void *, const char *) = \
			hotpath_hooks_4.future; \
		if (__builtin_expect(hotpath_future_ != HOTPATH_NULL_, 0)) \
			hotpath_future_(place, step, object, text); \
	} while (0)

static HOTPATH_INLINE_ void hotpath_task_(struct hotpath_task *task, int step, const void *with)
{
	void (*call)(struct hotpath_task *, int, const void *) = hotpath_hooks_4.task;

	if (__builtin_expect(call != HOTPATH_NULL_, 0))
		call(task, step, with);
}

#define HOTPATH_FUTURE(object, label) \
	do { \
		static struct hotpath_value hotpath_started_ = HOTPATH_VALUE_INIT_("" label ""); \
		HOTPATH_STEP_(&hotpath_started_, HOTPATH_STEP_BEGIN, object, HOTPATH_NULL_); \
	} while (0)
#define HOTPATH_FUTURE_POLL(object) \
	HOTPATH_STEP_(HOTPATH_NULL_, HOTPATH_STEP_POLL, object, HOTPATH_NULL_)
#define HOTPATH_FUTURE_PENDING(object) \
	HOTPATH_STEP_(HOTPATH_NULL_, HOTPATH_STEP_PENDING, object, HOTPATH_NULL_)
#define HOTPATH_FUTURE_READY(object, result) \
	HOTPATH_STEP_(HOTPATH_NULL_, HOTPATH_STEP_READY, object, result)
#define HOTPATH_FUTURE_CANCEL(object) \
	HOTPATH_STEP_(HOTPATH_NULL_, HOTPATH_STEP_CANCEL, object, HOTPATH_NULL_)

/* --- values --- */

#define HOTPATH_VALUE_INIT_(name) \
	{ \
		sizeof(struct hotpath_value), __LINE__, name, __FILE__, HOTPATH_NULL_, \
			HOTPATH_NULL_ \
	}

#ifdef __cplusplus
#define HOTPATH_NUMBER_(number) static_cast<double>(number)
#else
#define HOTPATH_NUMBER_(number) ((double)(number))
#endif

#define HOTPATH_GAUGE_(name, change, number) \
	do { \
		void (*hotpath_gauge_)(struct hotpath_value *, int, double) = \
			hotpath_hooks_4.gauge; \
		if (__builtin_expect(hotpath_gauge_ != HOTPATH_NULL_, 0)) { \
			static struct hotpath_value hotpath_place_ = \
				HOTPATH_VALUE_INIT_("" name ""); \
			hotpath_gauge_(&hotpath_place_, change, number); \
		} \
	} while (0)

#define HOTPATH_GAUGE_SET(name, number) \
	HOTPATH_GAUGE_(name, HOTPATH_CHANGE_SET, HOTPATH_NUMBER_(number))
#define HOTPATH_GAUGE_INC(name, number) \
	HOTPATH_GAUGE_(name, HOTPATH_CHANGE_ADD, HOTPATH_NUMBER_(number))
#define HOTPATH_GAUGE_DEC(name, number) \
	HOTPATH_GAUGE_(name, HOTPATH_CHANGE_ADD, -HOTPATH_NUMBER_(number))

static HOTPATH_INLINE_ void hotpath_show_(struct hotpath_value *place, int what, const void *value,
					  unsigned long size)
{
	void (*show)(struct hotpath_value *, int, const void *, unsigned long) =
		hotpath_hooks_4.value;

	if (__builtin_expect(show != HOTPATH_NULL_, 0))
		show(place, what, value, size);
}

#ifdef __cplusplus

/* A statement expression, since a lambda would be a function for the compiler to instrument. */
#define HOTPATH_PLACE_(name) \
	(__extension__({ \
		static struct hotpath_value hotpath_place_ = HOTPATH_VALUE_INIT_(name); \
		&hotpath_place_; \
	}))

#define HOTPATH_DBG_(text, expression) ::hotpath::dbg_(HOTPATH_PLACE_(text), expression)
#define HOTPATH_VAL_(key, expression) \
	do { \
		if (__builtin_expect(hotpath_hooks_4.value != HOTPATH_NULL_, 0)) \
			::hotpath::show_(HOTPATH_PLACE_(key), HOTPATH_VALUE_VAL, expression); \
	} while (0)

#else

#ifdef __SIZEOF_INT128__
#define HOTPATH_WIDE_ __int128 : HOTPATH_TYPE_INT, unsigned __int128 : HOTPATH_TYPE_UINT,
#else
#define HOTPATH_WIDE_
#endif

/* Types that _Generic has no name for: pointers are class 5, complex numbers 9, bit-fields 1. */
#define HOTPATH_CLASS_(value) \
	(__builtin_classify_type(value) == 1 ? HOTPATH_TYPE_INT : HOTPATH_CLASSES_(value))
#define HOTPATH_CLASSES_(value) \
	(__builtin_classify_type(value) == 5   ? HOTPATH_TYPE_POINTER \
	 : __builtin_classify_type(value) == 9 ? HOTPATH_TYPE_COMPLEX \
					       : HOTPATH_TYPE_OTHER)

#define HOTPATH_TYPE_(value) \
	_Generic((value), HOTPATH_WIDE_ \
		_Bool: HOTPATH_TYPE_BOOL, char: HOTPATH_TYPE_CHAR, \
		signed char: HOTPATH_TYPE_INT, short: HOTPATH_TYPE_INT, int: HOTPATH_TYPE_INT, \
		long: HOTPATH_TYPE_INT, long long: HOTPATH_TYPE_INT, \
		unsigned char: HOTPATH_TYPE_UINT, unsigned short: HOTPATH_TYPE_UINT, \
		unsigned int: HOTPATH_TYPE_UINT, unsigned long: HOTPATH_TYPE_UINT, \
		unsigned long long: HOTPATH_TYPE_UINT, \
		float: HOTPATH_TYPE_FLOAT, double: HOTPATH_TYPE_FLOAT, \
		long double: HOTPATH_TYPE_FLOAT, \
		char *: HOTPATH_TYPE_TEXT, const char *: HOTPATH_TYPE_TEXT, \
		default: HOTPATH_CLASS_(value))

/* `name` differs from that of a HOTPATH_DBG inside the expression.  A comma makes a bit-field a value. */
#define HOTPATH_DBG_NAMED_(text, name, expression) \
	__extension__({ \
		static struct hotpath_value HOTPATH_JOIN_(name, place_) = \
			HOTPATH_VALUE_INIT_(text); \
		__auto_type name = ((void)0, expression); \
		hotpath_show_(&HOTPATH_JOIN_(name, place_), \
			      HOTPATH_VALUE_DBG | HOTPATH_TYPE_(name), &name, sizeof(name)); \
		name; \
	})
#define HOTPATH_DBG_(text, expression) \
	HOTPATH_DBG_NAMED_(text, HOTPATH_JOIN_(hotpath_dbg_, __COUNTER__), expression)

#define HOTPATH_VAL_NAMED_(key, name, expression) \
	do { \
		if (__builtin_expect(hotpath_hooks_4.value != HOTPATH_NULL_, 0)) { \
			static struct hotpath_value HOTPATH_JOIN_(name, place_) = \
				HOTPATH_VALUE_INIT_(key); \
			__extension__ __auto_type name = ((void)0, expression); \
			hotpath_show_(&HOTPATH_JOIN_(name, place_), \
				      HOTPATH_VALUE_VAL | __extension__ HOTPATH_TYPE_(name), \
				      &name, sizeof(name)); \
		} \
	} while (0)
#define HOTPATH_VAL_(key, expression) \
	HOTPATH_VAL_NAMED_(key, HOTPATH_JOIN_(hotpath_val_, __COUNTER__), expression)

#endif

/*
 * HOTPATH_DBG(expression) - is the value of the expression, and shows it in the section `debug`: the
 * last value, how often it was computed, the last changes, by place.  In C++ an lvalue stays
 * one, and a temporary is moved once.  Inside functions only; in C++ not for a bit-field.
 *
 * HOTPATH_VAL(key, value) - the same by key (a string literal), as a statement.
 *
 * HOTPATH_GAUGE_SET, _INC, _DEC(name, number) - a number that goes up and down: last value, least, most
 * and the number of changes, exact for all threads of a process together.
 *
 * They record content, because the program asks for it: numbers, pointers, and the first 80 bytes of
 * a text (char *, std::string).  For structs, only the size.  VAL and GAUGE evaluate
 * their arguments only if the library is loaded.
 */
/*
 * A comma between <> or {} does not separate arguments, where a macro can have more
 * than are named.
 */
#if defined(__cplusplus) ? __cplusplus >= 201103L : defined(__STDC_VERSION__)
#define HOTPATH_DBG(...) HOTPATH_DBG_(#__VA_ARGS__, (__VA_ARGS__))
#define HOTPATH_VAL(key, ...) HOTPATH_VAL_("" key "", (__VA_ARGS__))
#else
#define HOTPATH_DBG(expression) HOTPATH_DBG_(#expression, (expression))
#define HOTPATH_VAL(key, expression) HOTPATH_VAL_("" key "", (expression))
#endif

/*
 * HOTPATH_DEFAULTS(settings) - the program's own settings, a string literal of
 * name=value words: "percentiles=50,99 report=functions-timing,threads".  Use it
 * outside functions, in the program and not in a library.  Options and the
 * environment override it.  Several uses add up.  The library prints one warning
 * for each invalid word when the program starts.
 *
 * It is an ELF note, read by the library and hotpath run.
 */
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
/* A block that lasts until end() or the end of the scope. */
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

/* HOTPATH_GUARD(name, label) - C++11: HOTPATH_BLOCK as a variable; name.end() ends it early. */
#define HOTPATH_GUARD(name, label) \
	static struct hotpath_block HOTPATH_JOIN_(hotpath_block_, __LINE__) = \
		HOTPATH_INIT_(label, nullptr); \
	::hotpath::guard name(&HOTPATH_JOIN_(hotpath_block_, __LINE__))

#endif

#ifdef __cplusplus

namespace hotpath
{
/* Kinds of values for the library: see HOTPATH_TYPE_OTHER and the following. */
template <class T, bool is_enum> struct class_of;
template <class T> struct type_of : class_of<T, __is_enum(T)> {
};
template <class T> struct class_of<T, false> {
	static const int value = HOTPATH_TYPE_OTHER;
};
#if __cplusplus >= 201103L
template <class T> struct class_of<T, true> : type_of<__underlying_type(T)> {
};
#else
template <class T> struct class_of<T, true> {
	static const int value = HOTPATH_TYPE_INT;
};
#endif
template <class T> struct type_of<const T> : type_of<T> {
};
template <class T> struct type_of<volatile T> : type_of<T> {
};
template <class T> struct type_of<const volatile T> : type_of<T> {
};
template <class T> struct type_of<T *> {
	static const int value = HOTPATH_TYPE_POINTER;
};
#define HOTPATH_IS_(type, what) \
	template <> struct type_of<type> { \
		static const int value = HOTPATH_TYPE_##what; \
	}
HOTPATH_IS_(char *, TEXT);
HOTPATH_IS_(const char *, TEXT);
HOTPATH_IS_(bool, BOOL);
HOTPATH_IS_(char, CHAR);
HOTPATH_IS_(signed char, INT);
HOTPATH_IS_(short, INT);
HOTPATH_IS_(int, INT);
HOTPATH_IS_(long, INT);
/* __extension__ alone does not keep g++ from warning. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wlong-long"
__extension__ typedef long long longest;
__extension__ typedef unsigned long long unsigned_longest;
#pragma GCC diagnostic pop
HOTPATH_IS_(longest, INT);
HOTPATH_IS_(unsigned char, UINT);
HOTPATH_IS_(unsigned short, UINT);
HOTPATH_IS_(unsigned int, UINT);
HOTPATH_IS_(unsigned long, UINT);
HOTPATH_IS_(unsigned_longest, UINT);
#ifdef __SIZEOF_INT128__
__extension__ HOTPATH_IS_(__int128, INT);
__extension__ HOTPATH_IS_(unsigned __int128, UINT);
#endif
HOTPATH_IS_(float, FLOAT);
HOTPATH_IS_(double, FLOAT);
HOTPATH_IS_(long double, FLOAT);
__extension__ HOTPATH_IS_(__complex__ float, COMPLEX);
__extension__ HOTPATH_IS_(__complex__ double, COMPLEX);
#if __cplusplus >= 201103L
HOTPATH_IS_(decltype(nullptr), POINTER);
#endif
#undef HOTPATH_IS_

template <class T> HOTPATH_INLINE_ void show_any_(hotpath_value *place, int kind, const T &v, long)
{
	hotpath_show_(place, kind | type_of<T>::value,
		      const_cast<const char *>(&reinterpret_cast<const volatile char &>(v)),
		      sizeof(T));
}

#if __cplusplus >= 201103L
/* std::string, std::string_view and similar, without their headers. */
template <class T>
HOTPATH_INLINE_ auto show_any_(hotpath_value *place, int kind, const T &v, int)
	-> decltype(static_cast<const char *>(v.data()), static_cast<void>(v.size()))
{
	hotpath_show_(place, kind | HOTPATH_TYPE_CHARS, v.data(),
		      static_cast<unsigned long>(v.size()));
}

/* A function shows where it is. */
template <class R, class... A>
HOTPATH_INLINE_ void show_any_(hotpath_value *place, int kind, R (&v)(A...), int)
{
	R (*pointer)(A...) = v;
	hotpath_show_(place, kind | HOTPATH_TYPE_POINTER, &pointer, sizeof(pointer));
}
#endif

template <class T> HOTPATH_INLINE_ void show_(hotpath_value *place, int kind, const T &v)
{
	show_any_(place, kind, v, 0);
}

template <unsigned long size>
HOTPATH_INLINE_ void show_(hotpath_value *place, int kind, const char (&v)[size])
{
	hotpath_show_(place, kind | HOTPATH_TYPE_CHARS, v, size);
}

#if __cplusplus >= 201103L
template <class T> HOTPATH_INLINE_ T dbg_(hotpath_value *place, T &&v)
{
	show_(place, HOTPATH_VALUE_DBG, v);
	return static_cast<T &&>(v);
}
#else
template <class T> HOTPATH_INLINE_ T &dbg_(hotpath_value *place, T &v)
{
	show_(place, HOTPATH_VALUE_DBG, v);
	return v;
}
template <class T> HOTPATH_INLINE_ T dbg_(hotpath_value *place, const T &v)
{
	show_(place, HOTPATH_VALUE_DBG, v);
	return v;
}
#endif
} // namespace hotpath

#endif

/*
 * HOTPATH_BLOCK(label) - counts and times the rest of the scope, however control
 * leaves it: break, goto, return or a C++ exception.  A longjmp past it ends it,
 * too.  It must not be open across co_await.  An empty label shows file and line.
 */
#define HOTPATH_BLOCK(label) \
	static struct hotpath_block HOTPATH_JOIN_(hotpath_block_, __LINE__) = \
		HOTPATH_INIT_(label, HOTPATH_NULL_); \
	struct hotpath_block *const HOTPATH_JOIN_(hotpath_guard_, __LINE__) \
		__attribute__((cleanup(hotpath_leave_scope_), unused)) = \
			hotpath_enter_(&HOTPATH_JOIN_(hotpath_block_, __LINE__))

#else	/* Expansions to nothing that accept the semicolon after them. */

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
#define HOTPATH_STREAM(object, text) ((void)0)
#define HOTPATH_STREAM_ITEM(object, bytes) ((void)0)
#define HOTPATH_STREAM_LOG(object, bytes, text) ((void)0)
#define HOTPATH_STREAM_END(object) ((void)0)
#define HOTPATH_STREAM_FAIL(object) ((void)0)
#define HOTPATH_LOOP(label) ((void)0)
#define HOTPATH_FUTURE(object, label) ((void)0)
#define HOTPATH_FUTURE_POLL(object) ((void)0)
#define HOTPATH_FUTURE_PENDING(object) ((void)0)
#define HOTPATH_FUTURE_READY(object, result) ((void)0)
#define HOTPATH_FUTURE_CANCEL(object) ((void)0)
#if defined(__cplusplus) ? __cplusplus >= 201103L : defined(__STDC_VERSION__)
#define HOTPATH_DBG(...) (__VA_ARGS__)
#define HOTPATH_VAL(key, ...) ((void)0)
#else
#define HOTPATH_DBG(expression) (expression)
#define HOTPATH_VAL(key, expression) ((void)0)
#endif
#define HOTPATH_GAUGE_SET(name, number) ((void)0)
#define HOTPATH_GAUGE_INC(name, number) ((void)0)
#define HOTPATH_GAUGE_DEC(name, number) ((void)0)
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
