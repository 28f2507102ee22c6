/* SPDX-License-Identifier: MIT */
/*
 * screen.c - see screen.h.
 *
 * Signals are only unblocked while we wait. The loop handles terminating
 * signals: it closes the screen and dies by the same signal. Handlers of fault
 * signals restore the terminal with system calls only.
 */
#include "live/console/draw/screen.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include <curses.h>
#include <term.h>

#include "live/console/draw/terminal.h"
#include "segment/clock.h"

#define DOUBLE_NS UINT64_C(400000000)

struct hp_screen hp_screen;

static attr_t inks[HP_INKS];
static sigset_t mask_outside;	/* while we wait */
static volatile sig_atomic_t ended_by;
static volatile sig_atomic_t is_stopped;

/* --- colours --- */

struct ink {
	short rich[2];	/* of 256: foreground, background; -1 = the terminal's own */
	short plain[2];	/* of 8 or 16 */
	attr_t with;	/* besides the colour */
	attr_t without;	/* if none exists */
};

static const struct ink ink_table[HP_INKS] = {
	[HP_INK_PLAIN] = { { -1, -1 }, { -1, -1 }, 0, 0 },
	[HP_INK_STRONG] = { { -1, -1 }, { -1, -1 }, A_BOLD, A_BOLD },
	[HP_INK_DIM] = { { 244, -1 }, { -1, -1 }, 0, 0 },
	[HP_INK_TITLE] = { { 208, -1 }, { -1, -1 }, A_BOLD, A_BOLD },
	[HP_INK_TAB] = { { 250, 236 }, { COLOR_WHITE, COLOR_BLACK }, 0, 0 },
	[HP_INK_TAB_ON] = { { 231, 166 }, { COLOR_BLACK, COLOR_YELLOW }, A_BOLD, A_REVERSE },
	[HP_INK_SUB_ON] = { { 208, -1 }, { -1, -1 }, A_BOLD | A_UNDERLINE, A_BOLD | A_UNDERLINE },
	[HP_INK_HEAD] = { { 252, 238 }, { COLOR_BLACK, COLOR_CYAN }, 0, A_UNDERLINE },
	[HP_INK_HEAD_SORT] = { { 214, 238 },
			       { COLOR_BLACK, COLOR_CYAN },
			       A_BOLD,
			       A_BOLD | A_UNDERLINE },
	[HP_INK_CHOSEN] = { { 231, 24 }, { COLOR_WHITE, COLOR_BLUE }, 0, A_REVERSE },
	[HP_INK_CHOSEN_AWAY] = { { 252, 237 }, { COLOR_WHITE, COLOR_BLACK }, 0, A_BOLD },
	[HP_INK_HOT] = { { 203, -1 }, { COLOR_RED, -1 }, A_BOLD, A_BOLD },
	[HP_INK_WARM] = { { 214, -1 }, { COLOR_YELLOW, -1 }, 0, 0 },
	[HP_INK_MILD] = { { 71, -1 }, { COLOR_GREEN, -1 }, 0, 0 },
	[HP_INK_COLD] = { { 244, -1 }, { -1, -1 }, 0, 0 },
	[HP_INK_GOOD] = { { 71, -1 }, { COLOR_GREEN, -1 }, A_BOLD, A_BOLD },
	[HP_INK_WARN] = { { 214, -1 }, { COLOR_YELLOW, -1 }, A_BOLD, A_BOLD },
	[HP_INK_BAD] = { { 203, -1 }, { COLOR_RED, -1 }, A_BOLD, A_REVERSE },
	[HP_INK_KEY] = { { 231, 238 }, { COLOR_BLACK, COLOR_CYAN }, 0, A_BOLD },
	[HP_INK_BOX] = { { 208, -1 }, { COLOR_CYAN, -1 }, 0, 0 },
	[HP_INK_CPU] = { { 71, -1 }, { COLOR_GREEN, -1 }, 0, 0 },
	[HP_INK_BYTES] = { { 74, -1 }, { COLOR_CYAN, -1 }, 0, 0 },
	[HP_INK_WAIT] = { { 176, -1 }, { COLOR_MAGENTA, -1 }, 0, 0 },
};

static void inks_make(void)
{
	const char *no = getenv("NO_COLOR");
	bool has_any = has_colors() && !(no && *no) && start_color() == OK;
	bool is_own = has_any && use_default_colors() == OK;

	hp_screen.colours = has_any ? COLORS : 0;
	for (int i = 0; i < HP_INKS; i++) {
		const struct ink *ink = &ink_table[i];
		const short *pair = COLORS >= 256 ? ink->rich : ink->plain;

		inks[i] = has_any ? ink->with : ink->without;
		if (!has_any || (pair[0] < 0 && pair[1] < 0))
			continue;
		init_pair((short)(i + 1), pair[0] < 0 && !is_own ? COLOR_WHITE : pair[0],
			  pair[1] < 0 && !is_own ? COLOR_BLACK : pair[1]);
		inks[i] |= (attr_t)COLOR_PAIR(i + 1);
	}
}

/* --- signals --- */

static void end_noted(int number)
{
	ended_by = number;
}

static void stop_noted(int number)
{
	(void)number;
	is_stopped = 1;
}

static void handler_set(int number, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	sigfillset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

/* Before newterm: ncurses only takes signals without a handler. */
static void signals_take(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t mask;

	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		handler_set(ends[i], end_noted);
		sigaddset(&mask, ends[i]);
	}
	handler_set(SIGTSTP, stop_noted);
	sigaddset(&mask, SIGTSTP);
	sigaddset(&mask, SIGWINCH);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &mask, &mask_outside);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigdelset(&mask_outside, ends[i]);
	sigdelset(&mask_outside, SIGTSTP);
	sigdelset(&mask_outside, SIGWINCH);
}

/* Restores the terminal, stops, and takes it again after SIGCONT. */
static void stop_here(void)
{
	sigset_t only;

	is_stopped = 0;
	endwin();
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	sigemptyset(&only);
	sigaddset(&only, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &only, NULL);	/* stops here */
	sigprocmask(SIG_BLOCK, &only, NULL);
	handler_set(SIGTSTP, stop_noted);
	clearok(stdscr, TRUE);
	refresh();
}

/* --- open and close --- */

static bool locale_is_utf8(void)
{
	setlocale(LC_CTYPE, "");
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static void size_take(void)
{
	getmaxyx(stdscr, hp_screen.height, hp_screen.width);
}

/* Sequences that terminals send but terminfo lacks. */
static void more_keys(void)
{
	static const struct {
		const char *sent;
		int code;
	} keys[] = {
		{ "\033[1~", KEY_HOME },  { "\033[4~", KEY_END },   { "\033[7~", KEY_HOME },
		{ "\033[8~", KEY_END },	  { "\033[H", KEY_HOME },   { "\033[F", KEY_END },
		{ "\033OH", KEY_HOME },	  { "\033OF", KEY_END },    { "\033[A", KEY_UP },
		{ "\033[B", KEY_DOWN },	  { "\033[C", KEY_RIGHT },  { "\033[D", KEY_LEFT },
		{ "\033OP", KEY_F(1) },	  { "\033[11~", KEY_F(1) }, { "\033[17~", KEY_F(6) },
		{ "\033[5~", KEY_PPAGE }, { "\033[6~", KEY_NPAGE },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (key_defined(keys[i].sent) == 0)
			define_key(keys[i].sent, keys[i].code);
}

const char *hp_screen_open(void)
{
	const char *why = hp_terminal_check();

	if (why)
		return why;
	hp_screen.is_utf8 = locale_is_utf8();
	signals_take();
	hp_terminal_guard();
	if (!newterm(NULL, stdout, stdin))
		return "cannot open the terminal; TERM=vt100 or xterm-256color works almost everywhere";
	inks_make();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	more_keys();
	nodelay(stdscr, TRUE);
	leaveok(stdscr, FALSE);
	curs_set(0);
	if (!getenv("ESCDELAY"))
		set_escdelay(50);
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
	size_take();
	return NULL;
}

void hp_screen_close(void)
{
	if (!stdscr || isendwin())
		return;
	mousemask(0, NULL);
	endwin();
	hp_terminal_release();
}

/* --- keys --- */

int hp_screen_wait(int fd, int timeout_ms)
{
	struct pollfd waits[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
				   { .fd = fd, .events = POLLIN } };
	struct timespec limit = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
	int ready = ppoll(waits, 2, &limit, &mask_outside);

	if (is_stopped)
		stop_here();
	if (ended_by)
		return ended_by;
	if (ready > 0 && (waits[0].revents & (POLLHUP | POLLERR | POLLNVAL)))
		return -1;
	return 0;
}

static const struct {
	int code;
	enum hp_key key;
} codes[] = {
	{ KEY_UP, HP_KEY_UP },	       { KEY_DOWN, HP_KEY_DOWN },
	{ KEY_LEFT, HP_KEY_LEFT },     { KEY_RIGHT, HP_KEY_RIGHT },
	{ KEY_PPAGE, HP_KEY_PAGE_UP }, { KEY_NPAGE, HP_KEY_PAGE_DOWN },
	{ KEY_HOME, HP_KEY_HOME },     { KEY_END, HP_KEY_END },
	{ KEY_BTAB, HP_KEY_BACK_TAB }, { KEY_BACKSPACE, HP_KEY_BACKSPACE },
	{ KEY_F(1), HP_KEY_F1 },       { KEY_F(3), HP_KEY_F3 },
	{ KEY_F(4), HP_KEY_F4 },       { KEY_F(5), HP_KEY_F5 },
	{ KEY_F(6), HP_KEY_F6 },       { KEY_F(10), HP_KEY_F10 },
	{ KEY_RESIZE, HP_KEY_RESIZE }, { KEY_ENTER, (enum hp_key)'\n' },
};

static void mouse_take(struct hp_press *press)
{
	static struct hp_press last;
	static uint64_t last_ns;
	uint64_t now = hp_clock_raw_ns();
	MEVENT event;

	press->key = HP_KEY_NONE;
	if (getmouse(&event) != OK)
		return;
	press->x = event.x;
	press->y = event.y;
	if (event.bstate & BUTTON4_PRESSED)
		press->key = HP_KEY_WHEEL_UP;
	else if (event.bstate & BUTTON5_PRESSED)
		press->key = HP_KEY_WHEEL_DOWN;
	else if (event.bstate & BUTTON1_PRESSED)
		press->key = HP_KEY_MOUSE;
	if (press->key != HP_KEY_MOUSE)
		return;
	press->is_double = last.x == press->x && last.y == press->y && now - last_ns < DOUBLE_NS;
	last = *press;
	last_ns = press->is_double ? 0 : now;
}

bool hp_screen_press(struct hp_press *press)
{
	wint_t character;
	int kind = get_wch(&character);

	*press = (struct hp_press){ .key = HP_KEY_NONE };
	if (kind == ERR)
		return false;
	if (kind != KEY_CODE_YES) {
		press->key = character == '\r' ? '\n' : character;
		if (character == 127 || character == 8)
			press->key = HP_KEY_BACKSPACE;
		return true;
	}
	if (character == KEY_MOUSE)
		mouse_take(press);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if ((int)character == codes[i].code)
			press->key = codes[i].key;
	if (press->key == HP_KEY_RESIZE)
		size_take();
	return true;
}

/* --- writing --- */

void hp_screen_begin(void)
{
	curs_set(0);
	erase();
}

void hp_screen_end(void)
{
	refresh();
}

void hp_cursor(int y, int x)
{
	move(y, x);
	curs_set(1);
}

static void blanks(int y, int x, int width)
{
	if (width > 0)
		mvprintw(y, x, "%*s", width, "");
}

void hp_put(int y, int x, int width, enum hp_ink ink, enum hp_side side, enum hp_cut cut,
	    const char *text)
{
	char room[4096];
	int used;

	if (y < 0 || y >= hp_screen.height || x < 0)
		return;
	if (width > hp_screen.width - x)
		width = hp_screen.width - x;
	if (width <= 0)
		return;
	used = (int)hp_console_fit(room, sizeof(room), text, (size_t)width, cut, hp_screen.is_utf8);
	attrset(inks[ink]);
	blanks(y, x, width);
	mvaddstr(y, side == HP_RIGHT ? x + width - used : x, room);
	attrset(A_NORMAL);
}

int hp_width(const char *text)
{
	return (int)hp_console_width(text, hp_screen.is_utf8);
}

int hp_print(int y, int x, enum hp_ink ink, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	int width;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	width = hp_width(text);
	hp_put(y, x, width, ink, HP_LEFT, HP_CUT_END, text);
	return width;
}

/* The terminal's own line drawing without UTF-8. */
static void edge(int y, int x, const char *sign, chtype own)
{
	if (hp_screen.is_utf8)
		mvaddstr(y, x, sign);
	else
		mvaddch(y, x, own);
}

static void frame_draw(int y, int x, int height, int width)
{
	int below = y + height - 1, beyond = x + width - 1;

	for (int column = x + 1; column < beyond; column++) {
		edge(y, column, "─", ACS_HLINE);
		edge(below, column, "─", ACS_HLINE);
	}
	for (int row = y + 1; row < below; row++) {
		edge(row, x, "│", ACS_VLINE);
		edge(row, beyond, "│", ACS_VLINE);
	}
	edge(y, x, "┌", ACS_ULCORNER);
	edge(y, beyond, "┐", ACS_URCORNER);
	edge(below, x, "└", ACS_LLCORNER);
	edge(below, beyond, "┘", ACS_LRCORNER);
}

void hp_box(int y, int x, int height, int width, const char *title)
{
	if (height < 2 || width < 2)
		return;
	attrset(inks[HP_INK_PLAIN]);
	for (int row = 1; row < height - 1; row++)
		blanks(y + row, x, width);
	attrset(inks[HP_INK_BOX]);
	frame_draw(y, x, height, width);
	attrset(A_NORMAL);
	if (title && *title && width > 6) {
		int room = hp_width(title) + 2 < width - 4 ? hp_width(title) : width - 6;

		hp_put(y, x + 2, room + 2, HP_INK_STRONG, HP_LEFT, HP_CUT_END, "");
		hp_put(y, x + 3, room, HP_INK_STRONG, HP_LEFT, HP_CUT_END, title);
	}
}

/*
 * Blocks that fill their cell in eighths, from the left and from below, and
 * their ASCII substitutes.
 */
static const char *const lying[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" };
static const char *const standing[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char plain[] = " ..::||##";

static int eighths(double share, int cells)
{
	int parts = (int)(share * cells * 8 + 0.5);

	return share > 0 && parts == 0 ? 1 : parts < 0 ? 0 : parts > cells * 8 ? cells * 8 : parts;
}

void hp_bar(int y, int x, int width, enum hp_ink ink, double share)
{
	int parts = eighths(share, width);

	attrset(inks[ink]);
	for (int i = 0; i < width && parts > 0; i++, parts -= 8) {
		if (hp_screen.is_utf8)
			mvaddstr(y, x + i, lying[parts < 8 ? parts : 8]);
		else if (parts >= 4)
			mvaddch(y, x + i, '#');
	}
	attrset(A_NORMAL);
}

void hp_graph(int y, int x, int height, enum hp_ink ink, double share)
{
	int parts = eighths(share, height);

	attrset(inks[ink]);
	for (int i = 0; i < height && parts > 0; i++, parts -= 8) {
		int part = parts < 8 ? parts : 8;

		if (hp_screen.is_utf8)
			mvaddstr(y - i, x, standing[part]);
		else
			mvaddch(y - i, x, (chtype)plain[part]);
	}
	attrset(A_NORMAL);
}
