/* SPDX-License-Identifier: MIT */
/*
 * help.h - the help text for keys; live/console/loop/keys.c implements them.
 */
#ifndef HP_LIVE_CONSOLE_STATE_HELP_H
#define HP_LIVE_CONSOLE_STATE_HELP_H

#include <stddef.h>

struct hp_key_help {
	const char *keys;
	const char *what;
};
extern const struct hp_key_help hp_key_helps[];
extern const size_t hp_key_help_count;

#endif
