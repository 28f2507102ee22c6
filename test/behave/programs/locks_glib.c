/* SPDX-License-Identifier: MIT */
/*
 * locks_glib.c - GLib's locks: known numbers of acquisitions of each kind, and waits.
 */
#include "asleep.h"

#include <glib.h>
#include <stdio.h>

static GMutex mutex;
static GRecMutex recursive;
static GRWLock rwlock;
static GCond cond;
static GMutex guard;
static gboolean is_ready;
static gint begun;

/* Holds both at the start, and releases them after a while. */
static gpointer hold(gpointer arg)
{
	g_mutex_lock(&mutex);
	g_rw_lock_writer_lock(&rwlock);
	g_atomic_int_set(&begun, 1);
	while (g_atomic_int_get(&begun) == 1)
		g_usleep(100);
	until_asleep(getpid(), getpid());
	g_mutex_unlock(&mutex);
	until_asleep(getpid(), getpid());
	g_rw_lock_writer_unlock(&rwlock);
	g_mutex_lock(&guard);
	is_ready = TRUE;
	g_cond_signal(&cond);
	g_mutex_unlock(&guard);
	return arg;
}

static void wait_for_it(void)
{
	GThread *thread = g_thread_new("holder", hold, NULL);

	while (!g_atomic_int_get(&begun))
		g_usleep(100);
	printf("%d %d\n", g_mutex_trylock(&mutex), g_rw_lock_reader_trylock(&rwlock));
	g_atomic_int_set(&begun, 2);
	g_mutex_lock(&mutex);
	g_mutex_unlock(&mutex);
	g_rw_lock_reader_lock(&rwlock);
	g_rw_lock_reader_unlock(&rwlock);
	g_mutex_lock(&guard);
	while (!is_ready)
		g_cond_wait(&cond, &guard);
	printf("%d\n", g_cond_wait_until(&cond, &guard, g_get_monotonic_time() + 1000));
	g_mutex_unlock(&guard);
	g_thread_join(thread);
}

int main(void)
{
	GMutex *made = g_new(GMutex, 1);

	for (int i = 0; i < 1000; i++) {
		g_mutex_lock(&mutex);
		g_mutex_unlock(&mutex);
		g_rec_mutex_lock(&recursive);
		g_rec_mutex_lock(&recursive);
		g_rec_mutex_unlock(&recursive);
		g_rec_mutex_unlock(&recursive);
		g_rw_lock_reader_lock(&rwlock);
		g_rw_lock_reader_unlock(&rwlock);
		g_rw_lock_writer_lock(&rwlock);
		g_rw_lock_writer_unlock(&rwlock);
	}
	g_mutex_init(made);
	if (g_mutex_trylock(made))
		g_mutex_unlock(made);
	g_mutex_clear(made);
	g_free(made);
	wait_for_it();
	return 0;
}
