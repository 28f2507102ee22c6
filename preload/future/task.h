/* SPDX-License-Identifier: MIT */
/*
 * task.h - the functions of GLib's GTask that we interpose.  Its headers are not needed: objects are addresses here.
 */
#ifndef HP_PRELOAD_FUTURE_TASK_H
#define HP_PRELOAD_FUTURE_TASK_H

#include <stdint.h>
#include <sys/types.h>

/* GLib's GError, public. */
struct hp_gerror {
	uint32_t domain;
	int code;
	char *message;
};

#define HP_TASK_LIST(X) \
	X(void *, g_task_new, (void *, void *, void (*)(void *, void *, void *), void *)) \
	X(void, g_task_return_pointer, (void *, void *, void (*)(void *))) \
	X(void, g_task_return_boolean, (void *, int)) \
	X(void, g_task_return_int, (void *, ssize_t)) \
	X(void, g_task_return_value, (void *, void *)) \
	X(void, g_task_return_error, (void *, struct hp_gerror *)) \
	X(void, g_task_return_new_error, (void *, uint32_t, int, const char *, ...)) \
	X(int, g_task_return_error_if_cancelled, (void *))

#endif
