/* SPDX-License-Identifier: MIT */
/*
 * terminal.c - see terminal.h.
 */
#include "live/console/draw/terminal.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <curses.h>
#include <term.h>

static struct termios before;	/* initial state */
static char farewell[256];	/* text sent to the terminal */
static size_t farewell_size;

static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS };

#define FAULTS (sizeof(faults) / sizeof(faults[0]))

const char *hp_terminal_check(void)
{
	static char text[200];
	const char *name = getenv("TERM");
	int found = 0;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return "needs a terminal; hotpath report --session PID prints the same once";
	if (!name || !*name)
		return "TERM is not set; TERM=xterm-256color works on most terminals";
	if (setupterm(name, STDOUT_FILENO, &found) != OK) {
		snprintf(text, sizeof(text),
			 "this machine does not know the terminal TERM=%.60s; "
			 "TERM=xterm-256color or vt100 may do, or install ncurses-term",
			 name);
		return text;
	}
	if (!tigetstr("cup") || tigetstr("cup") == (char *)-1) {
		snprintf(text, sizeof(text),
			 "TERM=%.60s cannot move its cursor; if it can, set TERM=vt100 or "
			 "xterm-256color",
			 name);
		return text;
	}
	return NULL;
}

/* Padding such as $<5> is for mechanical terminals. */
static void farewell_add(const char *text)
{
	if (!text || text == (char *)-1)
		return;
	while (*text && farewell_size < sizeof(farewell)) {
		if (text[0] == '$' && text[1] == '<' && strchr(text, '>')) {
			text = strchr(text, '>') + 1;
			continue;
		}
		farewell[farewell_size++] = *text++;
	}
}

/* In a handler: system calls only.  Then the signal is raised again with its default action. */
static void restore(int number)
{
	ssize_t done = write(STDOUT_FILENO, farewell, farewell_size);

	(void)done;
	tcsetattr(STDOUT_FILENO, TCSANOW, &before);
	signal(number, SIG_DFL);
	raise(number);
}

void hp_terminal_guard(void)
{
	struct sigaction action = { .sa_handler = restore, .sa_flags = (int)SA_RESETHAND };

	if (tcgetattr(STDOUT_FILENO, &before) < 0)
		return;
	if (tigetstr("kmous") && tigetstr("kmous") != (char *)-1)
		farewell_add("\033[?1006l\033[?1002l\033[?1000l");
	farewell_add(tigetstr("sgr0"));
	farewell_add(tigetstr("rmkx"));
	farewell_add(tigetstr("cnorm"));
	farewell_add(tigetstr("rmcup"));
	for (size_t i = 0; i < FAULTS; i++)
		sigaction(faults[i], &action, NULL);
}

void hp_terminal_release(void)
{
	for (size_t i = 0; i < FAULTS; i++)
		signal(faults[i], SIG_DFL);
}
