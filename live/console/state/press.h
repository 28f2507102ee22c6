/* SPDX-License-Identifier: MIT */
/*
 * press.h - a key press or click, independent of the terminal.
 */
#ifndef HP_LIVE_CONSOLE_STATE_PRESS_H
#define HP_LIVE_CONSOLE_STATE_PRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Beyond all characters. */
enum hp_key {
	HP_KEY_NONE = 0x110000,
	HP_KEY_UP,
	HP_KEY_DOWN,
	HP_KEY_LEFT,
	HP_KEY_RIGHT,
	HP_KEY_PAGE_UP,
	HP_KEY_PAGE_DOWN,
	HP_KEY_HOME,
	HP_KEY_END,
	HP_KEY_BACK_TAB,
	HP_KEY_BACKSPACE,
	HP_KEY_F1,
	HP_KEY_F3,
	HP_KEY_F4,
	HP_KEY_F5,
	HP_KEY_F6,
	HP_KEY_F10,
	HP_KEY_RESIZE,
	HP_KEY_MOUSE,
	HP_KEY_WHEEL_UP,
	HP_KEY_WHEEL_DOWN,
};

#define HP_KEY_ESCAPE 27
#define HP_KEY_TAB 9

struct hp_press {
	uint32_t key;	/* a character, or enum hp_key */
	int x, y;	/* of the mouse */
	bool is_double;
};

#endif
