/* SPDX-License-Identifier: MIT */
/*
 * say.h - messages to the user from inside the target: no malloc, no stdio.
 */
#ifndef HP_PRELOAD_GUEST_SAY_H
#define HP_PRELOAD_GUEST_SAY_H

/* One line on stderr, "hotpath: " in front; the texts up to a NULL are joined.  errno is kept. */
void hp_say(const char *text, ...) __attribute__((sentinel));

#endif
