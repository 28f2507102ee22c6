/* SPDX-License-Identifier: MIT */
/*
 * registers_glib.c - GLib's functions, those of hotpath.h, and old versions of the C library's, called with patterns
 * in the registers: see registers.c. Without GLib's headers there is nothing to call, and nothing
 * counts as missing.
 */
#define HOTPATH
#include "registers.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "../../../include/hotpath.h"

void own(void)
{
	static struct hotpath_block block = { .size = sizeof(block),
					      .label = "a block",
					      .line = 1 };
	static struct hotpath_block name = {
		.size = sizeof(name), .label = "a name", .line = 2, .function = "own"
	};
	static struct hotpath_value gauge = { .size = sizeof(gauge), .name = "a gauge", .line = 3 };
	static struct hotpath_value shown = { .size = sizeof(shown), .name = "a value", .line = 4 };
	static struct hotpath_value future = { .size = sizeof(future),
					       .name = "a future",
					       .line = 6 };
	static struct hotpath_task task;
	static int number = 5;
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	for (int i = 0; i < 3; i++) {
		CALL(hotpath_block_enter, P(&block));
		CALL(hotpath_result, P("a result"));
		CALL(hotpath_block_leave, P(&block));
		CALL(hotpath_name, P(&name));
		CALL(hotpath_label, HOTPATH_LABEL_LOCK, P(&mutex), P("a lock"));
		CALL(hotpath_gauge_change, P(&gauge), HOTPATH_CHANGE_SET);
		CALL(hotpath_value_show, P(&shown), HOTPATH_VALUE_VAL | HOTPATH_TYPE_INT,
		     P(&number), sizeof(number));
		CALL(hotpath_future, P(&future), HOTPATH_STEP_BEGIN, P(&number));
		CALL(hotpath_future, 0, HOTPATH_STEP_POLL, P(&number));
		CALL(hotpath_future, 0, HOTPATH_STEP_PENDING, P(&number));
		CALL(hotpath_task_step, P(&task), HOTPATH_STEP_BEGIN, P(own));
		CALL(hotpath_task_step, P(&task), HOTPATH_STEP_POLL);
		CALL(hotpath_task_step, P(&task), HOTPATH_STEP_PENDING);
		CALL(hotpath_task_step, P(&task), HOTPATH_STEP_READY);
		CALL(hotpath_future, 0, HOTPATH_STEP_READY, P(&number), P("a result"));
	}
}

/* As called by programs linked 20 years ago: there the condition is a pointer. */
void old_conditions(void)
{
	static const char *const names[] = { "init", "signal", "broadcast", "timedwait",
					     "destroy" };
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t cond;
	static struct timespec past = { 1, 0 };
	char name[64];

	pthread_mutex_lock(&mutex);
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(name, sizeof(name), "pthread_cond_%s", names[i]);
		call("an old condition's function", dlvsym(RTLD_DEFAULT, name, "GLIBC_2.2.5"),
		     (const long[6]){ P(&cond), i == 3 ? P(&mutex) : 0, P(&past) }, 0);
	}
	pthread_mutex_unlock(&mutex);
}

#ifdef WITH_GLIB
#include <gio/gio.h>
#include <glib.h>

static GMutex mutex;
static GCond cond;

static void *wake(void *arg)
{
	g_mutex_lock(&mutex);
	g_cond_signal(&cond);
	g_mutex_unlock(&mutex);
	return arg;
}

static void glib_conditions(void)
{
	pthread_t thread;

	CALL(g_mutex_init, P(&mutex));
	CALL(g_cond_init, P(&cond));
	CALL(g_mutex_lock, P(&mutex));
	CALL(g_mutex_trylock, P(&mutex));
	pthread_create(&thread, NULL, wake, NULL);
	CALL(g_cond_wait, P(&cond), P(&mutex));
	CALL(g_cond_wait_until, P(&cond), P(&mutex), 1);
	CALL(g_mutex_unlock, P(&mutex));
	pthread_join(thread, NULL);
	CALL(g_cond_signal, P(&cond));
	CALL(g_cond_broadcast, P(&cond));
	CALL(g_cond_clear, P(&cond));
	CALL(g_mutex_clear, P(&mutex));
}

static void glib_locks(void)
{
	static GRecMutex recursive;
	static GRWLock lock;

	CALL(g_rec_mutex_init, P(&recursive));
	CALL(g_rec_mutex_lock, P(&recursive));
	CALL(g_rec_mutex_trylock, P(&recursive));
	CALL(g_rec_mutex_unlock, P(&recursive));
	CALL(g_rec_mutex_unlock, P(&recursive));
	CALL(g_rec_mutex_clear, P(&recursive));
	CALL(g_rw_lock_init, P(&lock));
	CALL(g_rw_lock_reader_lock, P(&lock));
	CALL(g_rw_lock_reader_trylock, P(&lock));
	CALL(g_rw_lock_reader_unlock, P(&lock));
	CALL(g_rw_lock_reader_unlock, P(&lock));
	CALL(g_rw_lock_writer_lock, P(&lock));
	CALL(g_rw_lock_writer_unlock, P(&lock));
	CALL(g_rw_lock_writer_trylock, P(&lock));
	CALL(g_rw_lock_writer_unlock, P(&lock));
	CALL(g_rw_lock_clear, P(&lock));
}

static int compare(const void *a, const void *b, void *unused)
{
	(void)unused;
	return (a > b) - (a < b);
}

static void none(void *item)
{
	(void)item;
}

static GAsyncResult *result;

static void keep(GObject *stream, GAsyncResult *got, void *unused)
{
	(void)stream, (void)unused;
	result = g_object_ref(got);
}

static long wait_for(void)
{
	while (!result)
		g_main_context_iteration(NULL, TRUE);
	return P(g_steal_pointer(&result));
}

static void glib_streams_async(void)
{
	static char to[8];
	static size_t size;
	GInputStream *stream = g_memory_input_stream_new_from_data("a\nb\nc\ndefghi", 12, NULL);
	GDataInputStream *lines = g_data_input_stream_new(stream);

	CALL(g_data_input_stream_read_line, P(lines), P(&size), 0, 0);
	CALL(g_data_input_stream_read_line_utf8, P(lines), P(&size), 0, 0);
	g_data_input_stream_read_line_async(lines, 0, NULL, keep, NULL);
	CALL(g_data_input_stream_read_line_finish, P(lines), wait_for(), P(&size), 0);
	g_data_input_stream_read_line_async(lines, 0, NULL, keep, NULL);
	CALL(g_data_input_stream_read_line_finish_utf8, P(lines), wait_for(), P(&size), 0);
	stream = g_memory_input_stream_new_from_data("some more text", 14, NULL);
	g_input_stream_read_async(stream, to, 1, 0, NULL, keep, NULL);
	CALL(g_input_stream_read_finish, P(stream), wait_for(), 0);
	CALL(g_input_stream_read_all, P(stream), P(to), 2, P(&size), 0, 0);
	g_input_stream_read_all_async(stream, to, 2, 0, NULL, keep, NULL);
	CALL(g_input_stream_read_all_finish, P(stream), wait_for(), P(&size), 0);
	CALL(g_input_stream_read_bytes, P(stream), 2, 0, 0);
	g_input_stream_read_bytes_async(stream, 2, 0, NULL, keep, NULL);
	CALL(g_input_stream_read_bytes_finish, P(stream), wait_for(), 0);
	CALL(g_input_stream_close_async, P(stream), 0, 0, P(keep), 0);
	wait_for();
}

static void glib_streams(void)
{
	static char to[8];
	GInputStream *stream = g_memory_input_stream_new_from_data("text", 4, NULL);

	CALL(g_input_stream_read, P(stream), P(to), 3, 0, 0);
	CALL(g_input_stream_read, P(stream), P(to), 3, 0, 0);
	CALL(g_input_stream_read, P(stream), P(to), 3, 0, 0);
	CALL(g_input_stream_close, P(stream), 0, 0);
	g_object_unref(stream);
	glib_streams_async();
}

static void glib_tasks(void)
{
	static GValue value;
	long task[7];

	value = (GValue)G_VALUE_INIT;
	for (int i = 0; i < 7; i++)
		task[i] = CALL(g_task_new, 0, 0, 0, 0);
	CALL(g_task_return_error_if_cancelled, task[0]);
	CALL(g_task_return_pointer, task[0], 0, 0);
	CALL(g_task_return_boolean, task[1], 1);
	CALL(g_task_return_int, task[2], 2);
	CALL(g_task_return_value, task[3], P(g_value_init(&value, G_TYPE_INT)));
	CALL(g_task_return_error, task[4], P(g_error_new_literal(G_IO_ERROR, 0, "an error")));
	CALL(g_task_return_new_error, task[5], G_IO_ERROR, 0, P("%s"), P("an error"));
	for (int i = 0; i < 7; i++)
		g_object_unref((void *)task[i]);
}

static void job(void *item, void *data)
{
	(void)item, (void)data;
}

static void glib_pools(void)
{
	long pool = CALL(g_thread_pool_new, P(job), 0, 1, 1, 0);

	CALL(g_thread_pool_push, pool, P("a job"), 0);
	CALL(g_thread_pool_free, pool, 0, 1);
#if GLIB_CHECK_VERSION(2, 70, 0)
	pool = CALL(g_thread_pool_new_full, P(job), 0, 0, 1, 1, 0);
	CALL(g_thread_pool_free, pool, 0, 1);
#endif
}

static void glib_queues(void)
{
	long queue = CALL(g_async_queue_new, 0), other = CALL(g_async_queue_new_full, P(none));
	GAsyncQueue *locked = (GAsyncQueue *)queue;

	CALL(g_async_queue_ref, queue);
	CALL(g_async_queue_push, queue, P("1"));
	CALL(g_async_queue_push_front, queue, P("2"));
	CALL(g_async_queue_push_sorted, queue, P("3"), P(compare), 0);
	CALL(g_async_queue_pop, queue);
	CALL(g_async_queue_try_pop, queue);
	CALL(g_async_queue_timeout_pop, queue, 1);
	CALL(g_async_queue_timeout_pop, queue, 1);
	CALL(g_async_queue_push, queue, P(&cond));
	CALL(g_async_queue_remove, queue, P(&cond));
	g_async_queue_lock(locked);
	CALL(g_async_queue_push_unlocked, queue, P("1"));
	CALL(g_async_queue_push_front_unlocked, queue, P("2"));
	CALL(g_async_queue_push_sorted_unlocked, queue, P("3"), P(compare), 0);
	CALL(g_async_queue_pop_unlocked, queue);
	CALL(g_async_queue_try_pop_unlocked, queue);
	CALL(g_async_queue_timeout_pop_unlocked, queue, 1);
	CALL(g_async_queue_push_unlocked, queue, P(&cond));
	CALL(g_async_queue_remove_unlocked, queue, P(&cond));
	g_async_queue_unlock(locked);
	CALL(g_async_queue_unref, queue);
	CALL(g_async_queue_unref, queue);
	CALL(g_async_queue_unref, other);
}

void glib(void)
{
	glib_conditions();
	glib_locks();
	glib_queues();
	glib_streams();
	glib_tasks();
	glib_pools();
}
#else
void glib(void)
{
}
#endif
