/* SPDX-License-Identifier: MIT */
/*
 * main.c - the `hotpath` command: a table of sub-commands.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/base/option.h"
#include "report/base/stack.h"
#include "report/command/command.h"
#include "report/command/sections.h"
#include "report/compare/compare.h"
#include "report/doctor/doctor.h"
#include "segment/setting.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

static int cmd_version(int argc, char **argv);
static int cmd_help(int argc, char **argv);

static const struct command commands[] = {
	{ "run", hp_cmd_run, "run a program and report when it ends" },
	{ "report", hp_cmd_report, "print the report of a run again" },
	{ "explain", hp_cmd_explain, "explain a finding of the report" },
	{ "compare", hp_cmd_compare, "compare two runs" },
	{ "list", hp_cmd_list, "list kept and running programs" },
	{ "stacks", hp_cmd_stacks, "show the current stack of every thread" },
	{ "console", hp_cmd_live, "show a running program on the terminal" },
	{ "serve", hp_cmd_live, "serve a program's figures over HTTP" },
	{ "load", hp_cmd_live, "show a profile in the browser, without samply" },
	{ "mcp", hp_cmd_live, "serve agents by the Model Context Protocol" },
	{ "init", hp_cmd_init, "print first steps for each question" },
	{ "flags", hp_cmd_flags, "print compiler flags, for $(hotpath flags g++)" },
	{ "check", hp_cmd_check, "verify the structure of a profile (hp.json.gz)" },
	{ "doctor", hp_cmd_doctor, "check what can be profiled here, or of a program" },
	{ "version", cmd_version, "print the version" },
	{ "help", cmd_help, "print this, or the help of a command" },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static int cmd_version(int argc, char **argv)
{
	(void)argc, (void)argv;
	puts("hotpath " HP_VERSION);
	return 0;
}

static void usage(FILE *out)
{
	fputs("Usage: hotpath COMMAND [OPTION]...\n\n"
	      "Where does a program's time go?\n\n",
	      out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-9s%s\n", commands[i].name, commands[i].help);
	fputs("\n"
	      "  hotpath run ./app args...            any dynamically linked program\n"
	      "  cc -O2 $(hotpath flags cc) ...       compiled like this, also its functions\n\n"
	      "`hotpath COMMAND --help` says more, `hotpath help` lists the HOTPATH_ variables.\n",
	      out);
}

/* Users' first questions, each with the command that answers it. */
static void tour_print(void)
{
	fputs("\nFive questions:\n"
	      "  Where does the time go, and what should I change first?\n"
	      "      hotpath run ./app\n"
	      "  Why is that the first thing to change, and when is it wrong?\n"
	      "      hotpath explain 1\n"
	      "  Why does it hang?\n"
	      "      hotpath stacks PID\n"
	      "  How often is each function called, and how long does it take?\n"
	      "      cc -O2 -g $(hotpath flags cc) app.c -o app && hotpath run ./app\n"
	      "  Did my change help?\n"
	      "      hotpath compare --runs 10 ./before -- ./after\n",
	      stdout);
}

/* `hotpath help` also lists the settings; --help fits a screen. */
static void settings_list(void)
{
	puts("\nVariables:");
	for (size_t i = 0; i < hp_setting_count; i++) {
		const struct hp_setting *setting = &hp_setting_table[i];

		printf("  %-31s %s%s%s%s\n", setting->name, setting->help,
		       setting->usual ? " (" : "", setting->usual ? setting->usual : "",
		       setting->usual ? ")" : "");
		printf("  %-32s  %s\n", "", setting->allowed);
	}
}

/* Backslashes and leading dots have a meaning in roff. */
static void roff_write(const char *text)
{
	for (; *text; text++) {
		if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '|')	/* between words of a choice */
			fputs(", ", stdout);
		else
			putchar(*text);
	}
}

/* The same for hotpath(7): `make man` inserts it. */
static void settings_list_roff(void)
{
	for (size_t i = 0; i < hp_setting_count; i++) {
		const struct hp_setting *setting = &hp_setting_table[i];

		printf(".TP\n.B %s\n", setting->name);
		putchar(toupper((unsigned char)setting->help[0]));
		roff_write(setting->help + 1);
		fputs(".\n.br\nAllowed: ", stdout);
		roff_write(setting->allowed);
		fputs(".\n", stdout);
		if (setting->usual) {
			fputs(".br\nDefault: ", stdout);
			roff_write(setting->usual);
			fputs(".\n", stdout);
		}
	}
}

struct topic {
	const char *word;
	void (*write)(void);
};

/* Besides commands: names with a leading `-` are for scripts. */
static const struct topic topics[] = {
	{ "sections", hp_sections_list },
	{ "--sections", hp_sections_list_keys },
	{ "--sections-markdown", hp_sections_list_markdown },
	{ "--sections-roff", hp_sections_list_roff },
	{ "--roff", settings_list_roff },
};

static bool topic_write(const char *word)
{
	for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
		if (strcmp(topics[i].word, word) == 0) {
			topics[i].write();
			return true;
		}
	return false;
}

/* To stderr. */
static void unknown_tell(const char *name)
{
	const char *names[COMMANDS + 1], *nearest;

	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = commands[i].name;
	names[COMMANDS] = NULL;
	nearest = hp_option_nearest(name, names);
	if (nearest)
		fprintf(stderr,
			"hotpath: no command '%s'; the nearest is '%s'; see hotpath --help\n", name,
			nearest);
	else
		fprintf(stderr, "hotpath: no command '%s'; see hotpath --help\n", name);
}

static int cmd_help(int argc, char **argv)
{
	const struct command *command = argc > 1 ? find(argv[1]) : NULL;
	char flag[] = "--help";

	if (argc > 1 && topic_write(argv[1]))
		return 0;
	if (argc > 1 && !command) {
		unknown_tell(argv[1]);
		return HP_EXIT_USAGE;
	}
	char *arguments[] = { argc > 1 ? argv[1] : flag, flag, NULL };

	if (command && command->run != cmd_help && command->run != cmd_version)
		return command->run(2, arguments);
	usage(stdout);
	if (strcmp(argv[0], "help") == 0) {
		tour_print();
		settings_list();
	}
	return 0;
}

/* A copy or link of that name is hotpath-run, too (run_main.c). */
static bool is_runner(const char *name)
{
	const char *slash = name ? strrchr(name, '/') : NULL;

	return name && strcmp(slash ? slash + 1 : name, "hotpath-run") == 0;
}

int main(int argc, char **argv)
{
	static char run[] = "run";
	const struct command *command;

	if (argc > 0 && is_runner(argv[0])) {
		argv[0] = run;
		return hp_cmd_run(argc, argv);
	}
	if (argc < 2) {
		usage(stderr);
		return HP_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return cmd_help(1, argv);
	if (strcmp(argv[1], "--version") == 0)
		return cmd_version(1, argv);
	command = find(argv[1]);
	if (!command) {
		unknown_tell(argv[1]);
		return HP_EXIT_USAGE;
	}
	/* The program gets our stack's limit, and our signals. */
	if (command->run == hp_cmd_run)
		return hp_cmd_run(argc - 1, argv + 1);
	return hp_stack_run(command->run, argc - 1, argv + 1);
}
