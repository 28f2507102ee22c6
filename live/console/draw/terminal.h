/* SPDX-License-Identifier: MIT */
/*
 * terminal.h - checks for a usable terminal, and restores it after a crash.
 */
#ifndef HP_LIVE_CONSOLE_DRAW_TERMINAL_H
#define HP_LIVE_CONSOLE_DRAW_TERMINAL_H

/* NULL = usable; else the reason and remedy. */
const char *hp_terminal_check(void);

/*
 * After hp_terminal_check: restores the terminal from the handlers of SIGSEGV
 * and similar signals.
 */
void hp_terminal_guard(void);
void hp_terminal_release(void);

#endif
