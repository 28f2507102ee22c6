/* SPDX-License-Identifier: MIT */
/* tasks.c - GTasks that end in each way, in threads and at once; prints how many. */
#include <gio/gio.h>
#include <stdio.h>

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

int main(void)
{
	GCancellable *stop = g_cancellable_new();

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
