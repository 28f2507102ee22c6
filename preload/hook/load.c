/* SPDX-License-Identifier: MIT */
/*
 * load.c - constructor and destructor of the library.
 *
 * In a separate file that nothing references: the shared library links all
 * files, but a unit test only links the ones it needs from an archive, and so
 * is not recorded.
 */
#include "preload/future/future.h"
#include "preload/guest/readable.h"
#include "preload/guest/visible.h"
#include "preload/hook/start.h"

static __attribute__((constructor)) void construct(int count, char **arguments, char **environment)
{
	(void)count;
	(void)arguments;
	hp_readable_begin();
	hp_start_load(environment);
	hp_visible_begin(hp_future_exchanges);
}

static __attribute__((destructor)) void destruct(void)
{
	hp_start_unload();
}
