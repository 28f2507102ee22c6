/* SPDX-License-Identifier: MIT */
/*
 * hook_wait.h - the helper process is no child of the program.
 */
#ifndef HP_PRELOAD_HOOK_HOOK_WAIT_H
#define HP_PRELOAD_HOOK_HOOK_WAIT_H

#include <stdint.h>

/* Process 1, once its session is known: if the helper became its child, no wait tells of it. */
void hp_wait_hide(uint32_t pid);

#endif
