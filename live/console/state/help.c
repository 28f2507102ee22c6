/* SPDX-License-Identifier: MIT */
/*
 * help.c - see help.h.
 */
#include "live/console/state/help.h"

const struct hp_key_help hp_key_helps[] = {
	{ "0 … 8", "tab; the same digit again: its next view" },
	{ "[ ]  Tab", "previous view, next view" },
	{ "j k  ↑ ↓", "line; PgUp PgDn page; gg G Home End first, last" },
	{ "< >", "sort by the column to the left, right" },
	{ "F6 S", "choose the sort column; I reverses the order" },
	{ "/ F4", "show only rows with this text; Esc shows all" },
	{ "o", "open or close the log of the row" },
	{ "l h  → ←  Tab", "into the log and back; in trees unfold, fold" },
	{ "Enter Space *", "unfold or fold a row; all rows" },
	{ "i Enter", "inspect: all data of the row" },
	{ "p", "pause: freeze the screen" },
	{ "s", "save the current report here, in JSON" },
	{ "c n", "in CPU: take a snapshot of the samples; leave it" },
	{ "f", "in CPU: open the profile in profiler.firefox.com" },
	{ "u", "in Timing: callers of the function, over all paths" },
	{ "t", "stacks: what every thread does now" },
	{ "a", "choose another profiled program" },
	{ "mouse", "tabs, views, rows, heads of columns; twice inspects" },
	{ "q F10 Ctrl-C", "quit; the program continues" },
};

const size_t hp_key_help_count = sizeof(hp_key_helps) / sizeof(hp_key_helps[0]);
