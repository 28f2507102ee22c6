/* SPDX-License-Identifier: MIT */
/*
 * loop_glib.c - a main loop of GLib: a pipe whose reader writes it again, and which once stalls.
 * Prints how often it was called, and how long it stalled.
 */
#include <glib-unix.h>
#include <glib.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define TURNS 200

static int ends[2], called;
static long stalled;

static long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

static gboolean readable(gint fd, GIOCondition condition, gpointer loop)
{
	long begin;
	char byte;

	(void)condition;
	if (read(fd, &byte, 1) != 1)
		return FALSE;
	called++;
	if (called == TURNS / 2) {
		begin = now_ns();
		while (now_ns() - begin < 50000000)
			;
		stalled = now_ns() - begin;
	}
	if (called == TURNS)
		g_main_loop_quit(loop);
	return write(ends[1], "x", 1) == 1;
}

int main(void)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);

	if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1)
		return 2;
	g_unix_fd_add(ends[0], G_IO_IN, readable, loop);
	g_main_loop_run(loop);
	g_main_loop_unref(loop);
	printf("called %d\nstalled_ns %ld\n", called, stalled);
	return 0;
}
