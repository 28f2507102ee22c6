/* SPDX-License-Identifier: MIT */
/*
 * list.c - `hotpath list`: kept runs, with running programs above them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report/command/command.h"
#include "report/section/core/facts.h"
#include "report/base/field.h"
#include "report/base/format.h"
#include "report/store/kept.h"
#include "report/store/live.h"
#include "report/base/memory.h"
#include "report/base/option.h"
#include "report/store/store.h"

enum { STARTED, PROGRAM, PID, TOOK, SIZE, LABEL, COLUMNS };

static const char *const titles[COLUMNS] = { "Started", "Program", "PID", "Took", "Size", "Label" };

struct row {
	char *cells[COLUMNS];
};

static const char usage_text[] =
	"Usage: hotpath list [--all]\n"
	"List the kept runs, the newest first.  `hotpath report PID` or `hotpath report\n"
	"PROGRAM` prints the report of one, `hotpath report` that of the first.  Running\n"
	"programs come first: `hotpath report --session PID` reports on one so far.\n"
	"They are in ${XDG_STATE_HOME:-~/.local/state}/hotpath; HOTPATH_KEEP sets their number.\n"
	"If that cannot be written, they are in /var/tmp/hotpath-UID.\n\n"
	"  -a, --all   for root: the sessions of other users, too\n"
	"  -h, --help  this\n";

static char *moment_text(int64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / 1000000000);
	struct tm parts;
	char text[40];

	if (!localtime_r(&seconds, &parts) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts))
		return hp_xstrdup("-");
	return hp_xstrdup(text);
}

static char *fact_text(const struct hp_facts *facts, const char *key)
{
	const char *value = hp_facts_get(facts, key);

	return value ? hp_text_clean(value) : hp_xstrdup("-");
}

static uint64_t fact_number(const struct hp_facts *facts, const char *key)
{
	const char *value = hp_facts_get(facts, key);

	return value ? hp_field_number(value) : 0;
}

static struct row row_of(const struct hp_store *store, const struct hp_store_file *file)
{
	int fd = hp_store_read(store, file);
	char *text = fd >= 0 ? hp_kept_facts(fd) : NULL;
	struct hp_text_cell cell;
	struct hp_facts facts;
	struct row row;

	hp_facts_init(&facts, text ? text : hp_xstrdup(""));
	row.cells[STARTED] = text ? moment_text((int64_t)fact_number(&facts, "started_unix_ns"))
				  : hp_xstrdup("damaged");
	row.cells[PROGRAM] = fact_text(&facts, "comm");
	row.cells[PID] = hp_xprintf("%" PRIu32, hp_store_pid(file->name));
	row.cells[TOOK] =
		hp_xstrdup(hp_format_time(&cell, (double)fact_number(&facts, "elapsed_ns")));
	row.cells[SIZE] = hp_xstrdup(hp_format_bytes(&cell, file->size));
	row.cells[LABEL] =
		hp_facts_get(&facts, "label") ? fact_text(&facts, "label") : hp_xstrdup("");
	hp_facts_release(&facts);
	if (fd >= 0)
		close(fd);
	return row;
}

static struct row live_row(const struct hp_live *live)
{
	struct hp_text_cell cell;
	struct row row;

	row.cells[STARTED] = moment_text(live->started_unix_ns);
	row.cells[PROGRAM] = live->comm[0] ? hp_text_clean(live->comm) : hp_xstrdup("-");
	row.cells[PID] = hp_xprintf("%" PRIu32, live->pid);
	row.cells[TOOK] = hp_xstrdup(hp_format_time(&cell, (double)live->elapsed_ns));
	row.cells[SIZE] = hp_xstrdup("running");
	row.cells[LABEL] =
		live->port ? hp_xprintf("session %s, port %u", live->token, (unsigned)live->port)
			   : hp_xprintf("session %s", live->token);
	return row;
}

static bool is_number(int column)
{
	return column == PID || column == TOOK || column == SIZE;
}

static void cell_write(const char *text, int column, size_t width)
{
	int space = (int)(width - hp_text_width(text));

	if (column == LABEL && !text[0])
		return;
	if (column == LABEL)
		space = 0;
	printf("%s%*s%s%*s", column ? "  " : "", is_number(column) ? space : 0, "", text,
	       is_number(column) ? 0 : space, "");
}

static void rows_write(const struct row *rows, size_t count)
{
	size_t widths[COLUMNS];

	for (int c = 0; c < COLUMNS; c++) {
		widths[c] = strlen(titles[c]);
		for (size_t i = 0; i < count; i++)
			if (hp_text_width(rows[i].cells[c]) > widths[c])
				widths[c] = hp_text_width(rows[i].cells[c]);
		cell_write(titles[c], c, widths[c]);
	}
	putchar('\n');
	for (size_t i = 0; i < count; i++) {
		for (int c = 0; c < COLUMNS; c++)
			cell_write(rows[i].cells[c], c, widths[c]);
		putchar('\n');
	}
}

static int compare_live(const void *left, const void *right)
{
	const struct hp_live *a = left, *b = right;

	return a->started_unix_ns < b->started_unix_ns	 ? 1
	       : a->started_unix_ns > b->started_unix_ns ? -1
							 : strcmp(a->token, b->token);
}

/* `store` may be closed. */
static void list(const struct hp_store *store, bool is_all)
{
	size_t count = 0, running, shown = 0;
	struct hp_live *live = is_all ? hp_live_list_all(&running) : hp_live_list(&running);
	struct hp_store_file *files = hp_store_list(store, &count);
	struct row *rows = hp_xcalloc(running + count, sizeof(*rows));

	if (running)
		qsort(live, running, sizeof(*live), compare_live);
	for (size_t i = 0; i < running; i++)
		rows[shown++] = live_row(&live[i]);
	for (size_t i = 0; i < count; i++)
		rows[shown++] = row_of(store, &files[i]);
	if (shown)
		rows_write(rows, shown);
	if (!count)
		fprintf(stderr, "hotpath: no kept runs%s%s\n", store->failed[0] ? ": " : " in ",
			store->failed[0] ? store->failed : store->path);
	for (size_t i = 0; i < shown; i++)
		for (int c = 0; c < COLUMNS; c++)
			free(rows[i].cells[c]);
	free(live);
	free(rows);
	free(files);
}

static void others_tell(void)
{
	size_t others = hp_live_others();

	if (others)
		fprintf(stderr,
			"hotpath: other users have %zu session%s; hotpath list --all shows "
			"them\n",
			others, others == 1 ? "" : "s");
}

static bool option_take(void *is_all, int val, const char *value)
{
	(void)val, (void)value;
	*(bool *)is_all = true;	/* the only one */
	return true;
}

int hp_cmd_list(int argc, char **argv)
{
	static const struct option options[] = { { "all", no_argument, NULL, 'a' },
						 { NULL, 0, NULL, 0 } };
	static const struct hp_option_table table = { .options = options,
						      .usage = usage_text,
						      .take = option_take };
	struct hp_store store;
	bool is_all = false;
	int status = hp_options_read(&table, &is_all, argc, argv);

	if (status >= 0)
		return status;
	if (optind < argc) {
		fprintf(stderr, "hotpath list: unexpected argument; see hotpath list --help\n");
		return HP_EXIT_USAGE;
	}
	int error = hp_store_open(&store);
	list(&store, is_all);
	if (!is_all && geteuid() == 0)
		others_tell();
	hp_store_release(&store);
	return error && error != -ENOENT ? HP_EXIT_FAILED : 0;
}
