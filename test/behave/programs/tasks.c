/* SPDX-License-Identifier: MIT */
/*
 * tasks.c - GTasks that end in each way, in threads and at once; prints how many.
 * tasks.c bench COUNT - ns of a task from its creation to its result.
 */
#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int results, failures, cancelled;

static void done(GObject *source, GAsyncResult *result, gpointer data)
{
	GError *error = NULL;

	(void)source, (void)data;
	g_task_propagate_pointer(G_TASK(result), &error);
	if (!error)
		results++;
	else if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		cancelled++;
	else if (failures++ == 0)
		printf("%s\n", error->message);
	g_clear_error(&error);
}

static void work(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	int how = GPOINTER_TO_INT(data);

	(void)source, (void)cancellable;
	if (how == 0)
		g_task_return_pointer(task, NULL, NULL);
	else if (how == 1)
		g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_FAILED, "no %s, %d", "luck",
					7);
	else if (how == 2)
		g_task_return_error(task,
				    g_error_new_literal(G_IO_ERROR, G_IO_ERROR_CANCELLED, "x"));
	else if (!g_task_return_error_if_cancelled(task))
		g_task_return_pointer(task, NULL, NULL);
}

static void bench(int count)
{
	gint64 begin = g_get_monotonic_time();

	for (int i = 0; i < count; i++) {
		GTask *task = g_task_new(NULL, NULL, NULL, NULL);

		g_task_return_boolean(task, TRUE);
		g_object_unref(task);
	}
	printf("%.1f\n", 1e3 * (double)(g_get_monotonic_time() - begin) / count);
}

int main(int argc, char **argv)
{
	GCancellable *stop = g_cancellable_new();

	if (argc > 2 && strcmp(argv[1], "bench") == 0) {
		bench(atoi(argv[2]));
		return 0;
	}
	g_cancellable_cancel(stop);
	for (int i = 0; i < 50; i++) {
		GTask *task = g_task_new(NULL, i % 5 == 4 ? stop : NULL, done, NULL);

		g_task_set_task_data(task, GINT_TO_POINTER(i % 5), NULL);
		if (i < 25)
			g_task_run_in_thread(task, work);
		else
			work(task, NULL, GINT_TO_POINTER(i % 5), NULL);
		g_object_unref(task);
	}
	while (results + failures + cancelled < 50)
		g_main_context_iteration(NULL, TRUE);
	printf("%d results, %d failures, %d cancelled\n", results, failures, cancelled);
	g_object_unref(stop);
	return 0;
}
