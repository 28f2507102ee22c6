/* SPDX-License-Identifier: MIT */
/*
 * explain.c - `hotpath explain`: a finding's evidence, when it is wrong, and how to verify
 * it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/base/option.h"
#include "report/command/command.h"
#include "report/section/finding/finding.h"
#include "report/section/sections.h"
#include "report/store/input.h"

extern char **environ;

static const char usage_text[] =
	"Usage: hotpath explain [N [FILE]]\n"
	"Explain the finding with this number in the report of a run: of the newest one, or\n"
	"of FILE, which is a file, - (stdin), or what `hotpath list` shows.  Without a number,\n"
	"list all findings.\n\n"
	"  -h, --help             this\n";

static bool number_read(const char *text, unsigned long *number)
{
	char *end;

	errno = 0;
	*number = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *number > 0;
}

static void finding_list(struct hp_report *report, const struct hp_finding *finding)
{
	char *gain = hp_finding_gain_text(report, finding);

	printf("%u. %s\n   %s%s%s [%s]\n", finding->number, finding->advice, gain ? gain : "",
	       gain ? "; " : "", finding->facts, hp_confidence_text(finding->confidence));
	free(gain);
}

/* `number` 0: all of them. */
static int explain(struct hp_report *report, unsigned long number)
{
	const struct hp_findings *findings = hp_findings_of(report);
	char *text;

	if (!number) {
		if (findings->none)
			printf("%s\n", findings->none);
		for (size_t i = 0; i < findings->count; i++)
			finding_list(report, &findings->list[i]);
		return 0;
	}
	if (number > findings->count) {
		fprintf(stderr, "hotpath explain: no finding %lu: this run has %zu\n", number,
			findings->count);
		return HP_EXIT_FAILED;
	}
	text = hp_finding_explain(report, &findings->list[number - 1]);
	fputs(text, stdout);
	free(text);
	return 0;
}

static int run_explain(const char *path, unsigned long number)
{
	struct hp_settings settings;
	struct hp_report report;
	struct hp_input input;
	int status;

	if (!hp_input_open(&input, path, hp_input_say, NULL))
		return HP_EXIT_FAILED;
	hp_settings_read(&settings, environ, NULL, NULL);
	hp_report_init_record(&report, &input.segment, &input.record, &settings, NULL, NULL);
	status = explain(&report, number);
	hp_report_release(&report);
	hp_input_release(&input);
	return status;
}

int hp_cmd_explain(int argc, char **argv)
{
	static const struct hp_option_table table = { .usage = usage_text };
	unsigned long number = 0;
	int status = hp_options_read(&table, NULL, argc, argv);

	if (status >= 0)
		return status;
	if (argc - optind > 2) {
		fprintf(stderr,
			"hotpath explain: one FILE at a time; see hotpath explain --help\n");
		return HP_EXIT_USAGE;
	}
	if (optind < argc && !number_read(argv[optind], &number)) {
		fprintf(stderr,
			"hotpath explain: '%s' is not a finding's number; hotpath explain lists them\n",
			argv[optind]);
		return HP_EXIT_USAGE;
	}
	return run_explain(optind + 1 < argc ? argv[optind + 1] : NULL, number);
}
