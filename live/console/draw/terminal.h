/* SPDX-License-Identifier: MIT */
/*
 * terminal.h - is there a terminal that screens can be shown on; and that a fault
 * of ours leaves it as it was.
 */
#ifndef HP_LIVE_CONSOLE_DRAW_TERMINAL_H
#define HP_LIVE_CONSOLE_DRAW_TERMINAL_H

/* NULL = it does; else what is wrong and what to do. */
const char *hp_terminal_check(void);

/* After hp_terminal_check: restores the terminal from the handlers of SIGSEGV and its kin. */
void hp_terminal_guard(void);
void hp_terminal_release(void);

#endif
