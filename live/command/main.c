/* SPDX-License-Identifier: MIT */
/*
 * main.c - hotpath-live: the sub-commands for running programs. `hotpath serve`
 * executes it; so does the sampler when a client connects.
 */
#include <stdio.h>
#include <string.h>

#include "live/command/command.h"
#include "live/mcp/document.h"
#include "report/base/exit.h"
#include "report/base/stack.h"
#include "segment/guard.h"

/* For scripts/check-generated.sh. */
static int schema_print(int argc, char **argv)
{
	(void)argc, (void)argv;
	hp_mcp_document_write(stdout);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "serve", hp_cmd_serve },
	{ "load", hp_cmd_load },
	{ "mcp", hp_cmd_mcp },
	{ "schema", schema_print },
};

int main(int argc, char **argv)
{
	hp_guard_start();
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i].name, argv[1]) == 0)
			return hp_stack_run(commands[i].run, argc - 1, argv + 1);
	fprintf(stderr, "hotpath-live: internal to hotpath; see hotpath --help\n");
	return HP_EXIT_USAGE;
}
