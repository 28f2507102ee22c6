/* SPDX-License-Identifier: MIT */
/*
 * say.h - messages to the user from inside the target: no malloc, no stdio.
 */
#ifndef HP_PRELOAD_GUEST_SAY_H
#define HP_PRELOAD_GUEST_SAY_H

/*
 * Prints one line on stderr: "hotpath: " and the concatenated texts,
 * NULL-terminated. errno is kept.
 */
void hp_say(const char *text, ...) __attribute__((sentinel));

#endif
