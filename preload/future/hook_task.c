/* SPDX-License-Identifier: MIT */
/*
 * hook_task.c - stand-ins of GLib's GTask, if the program has it (preload/guest/absent.h): tasks as
 * futures, from g_task_new, by its caller, until something returns their result.
 *
 * A task is cancelled if it returns G_IO_ERROR_CANCELLED, or if its GCancellable is cancelled and
 * the task checks that, since then GLib returns this error whatever the task has.  GLib's own tasks
 * are not seen where it is linked with -Bsymbolic.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>

#include "preload/future/future.h"
#include "preload/future/task.h"
#include "preload/guest/absent.h"
#include "preload/lock/glib.h"

HP_TASK_LIST(HP_ABSENT_REAL)

#define FIND HP_ABSENT_FIND

#define IO_ERROR_CANCELLED 19	/* G_IO_ERROR_CANCELLED */

static bool is_counted(void)
{
	return !hp_is_early() && !hp_glib_is_without && hp_future_is_wanted();
}

static uint64_t key_of(const void *task)
{
	return (uint64_t)(uintptr_t)task << 8 | HP_FUTURE_TASK;
}

static void begun(const void *task, uintptr_t caller)
{
	struct hp_future *future;
	int saved = errno;

	future = task ? hp_future_of_code(HP_FUTURE_TASK, caller) : NULL;
	if (future)
		hp_future_begin_at(future, key_of(task));
	errno = saved;
}

/* Asked of each task: what they found is kept. */
static struct hp_absent cancellable_of = HP_ABSENT("g_task_get_cancellable");
static struct hp_absent is_cancelled_of = HP_ABSENT("g_cancellable_is_cancelled");
static struct hp_absent checks_of = HP_ABSENT("g_task_get_check_cancellable");
static struct hp_absent error_quark = HP_ABSENT("g_io_error_quark");

static void *cancellable(const void *real, void *task)
{
	void *(*get)(void *) =
		(void *(*)(void *))(uintptr_t)hp_absent_beside(&cancellable_of, real);

	return get ? get(task) : NULL;
}

static bool is_true_of(struct hp_absent *absent, const void *real, void *object)
{
	int (*get)(void *) = (int (*)(void *))(uintptr_t)hp_absent_beside(absent, real);

	return get && get(object);
}

/* The task's cancellable is cancelled.  These take no lock. */
static bool is_asked(const void *real, void *task)
{
	void *object = cancellable(real, task);

	return object && is_true_of(&is_cancelled_of, real, object);
}

static bool is_cancelled(const void *real, void *task)
{
	return is_asked(real, task) && is_true_of(&checks_of, real, task);
}

static bool is_cancelled_error(const void *real, uint32_t domain, int code)
{
	uint32_t (*quark)(void);

	if (code != IO_ERROR_CANCELLED)
		return false;
	quark = (uint32_t(*)(void))(uintptr_t)hp_absent_beside(&error_quark, real);
	return quark && domain == quark();
}

/* Before the real call: that may free the task, and another thread may reuse its address. */
static void end(const void *real, void *task, bool is_error)
{
	struct hp_object_flight found;
	int saved;

	if (!is_counted())
		return;
	saved = errno;
	if (hp_objects_find(key_of(task), &found))
		hp_future_end_at(key_of(task),
				 is_error || is_cancelled(real, task) ? HP_FUTURE_CANCELLED
								      : HP_FUTURE_READY,
				 NULL);
	errno = saved;
}

#define ADDRESS(function) ((const void *)(uintptr_t)(function))

HP_EXPORT void *g_task_new(void *source, void *cancellable, void (*done)(void *, void *, void *),
			   void *data)
{
	g_task_new_type real = FIND(g_task_new);
	void *task = real ? real(source, cancellable, done, data) : NULL;

	if (is_counted())
		begun(task, HP_CALLER);
	return task;
}

#define RETURN(name, args, ...) \
	HP_EXPORT void name args \
	{ \
		name##_type real = FIND(name); \
\
		if (!real) \
			return; \
		end(ADDRESS(real), task, false); \
		real(__VA_ARGS__); \
	}

RETURN(g_task_return_pointer, (void *task, void *result, void (*release)(void *)), task, result,
       release)
RETURN(g_task_return_boolean, (void *task, int result), task, result)
RETURN(g_task_return_int, (void *task, ssize_t result), task, result)
RETURN(g_task_return_value, (void *task, void *result), task, result)

HP_EXPORT void g_task_return_error(void *task, struct hp_gerror *error)
{
	g_task_return_error_type real = FIND(g_task_return_error);

	if (!real)
		return;
	end(ADDRESS(real), task,
	    error && is_counted() && is_cancelled_error(ADDRESS(real), error->domain, error->code));
	real(task, error);
}

/* As GLib's own does: its arguments cannot be passed on. */
HP_EXPORT void g_task_return_new_error(void *task, uint32_t domain, int code, const char *format,
				       ...)
{
	g_task_return_error_type real = FIND(g_task_return_error);
	struct hp_gerror *(*error_new)(uint32_t, int, const char *, va_list) =
		(struct hp_gerror * (*)(uint32_t, int, const char *, va_list))(
			uintptr_t)hp_absent_find("g_error_new_valist", (uintptr_t)real);
	va_list arguments;

	if (!FIND(g_task_return_new_error) || !real || !error_new)
		return;
	end(ADDRESS(real), task, is_counted() && is_cancelled_error(ADDRESS(real), domain, code));
	va_start(arguments, format);
	real(task, error_new(domain, code, format, arguments));
	va_end(arguments);
}

HP_EXPORT int g_task_return_error_if_cancelled(void *task)
{
	g_task_return_error_if_cancelled_type real = FIND(g_task_return_error_if_cancelled);

	if (!real)
		return 0;
	/* Only then it returns: the task's own wish to check does not matter. */
	if (is_counted() && is_asked(ADDRESS(real), task))
		end(ADDRESS(real), task, true);
	return real(task);
}
