/* SPDX-License-Identifier: MIT */
/*
 * init.c - `hotpath init`: first steps for each common question.
 *
 * No files are written: the output is for people and agents to copy.
 */
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/command/command.h"

struct scenario {
	const char *name;
	const char *question;
	const char *build;	/* "" = no recompilation needed */
	const char *command;
	const char *snippet;	/* "" = no code to write */
};

#define WITH_HEADER "cc -O2 -DHOTPATH -o app app.c"
#define WITH_HOOKS "cc -O2 $(hotpath flags cc) -DHOTPATH -o app app.c"
#define RUNTIME \
	"", "hotpath run --report tokio_runtime ./app", \
		"curl -s http://127.0.0.1:6770/tokio_runtime\n"

static const struct scenario scenarios[] = {
	{ "basic", "Where does the time go?", "", "hotpath run ./app", "" },
	{ "functions", "Which function, how often, how long?", WITH_HOOKS,
	  "hotpath run --report functions-timing,calltree ./app",
	  "#include <hotpath.h>\n\nvoid work(void)\n{\n\tHOTPATH_BLOCK(\"parse\");\n}\n" },
	{ "memory", "Who allocates, and is everything freed?", "",
	  "hotpath run --report functions-alloc,leaks ./app", "" },
	{ "locks", "Who waits for whom?", "", "hotpath run --report mutexes,waits ./app", "" },
	{ "channels", "Which queue or pipe is backed up?", "",
	  "hotpath run --report channels ./app", "" },
	{ "data-flow", "How do data, tasks and locks flow, and who waits?", "",
	  "hotpath run --report channels,streams,futures,mutexes,rw_locks,waits ./app",
	  "curl -s http://127.0.0.1:6770/channels\ncurl -s http://127.0.0.1:6770/streams\n"
	  "curl -s http://127.0.0.1:6770/futures\n" },
	{ "runtime", "Is an event loop held up, and by what?", RUNTIME },
	{ "tokio", "The same, by its name in the Rust crate", RUNTIME },
	{ "values", "What are the program's own figures?", WITH_HEADER,
	  "hotpath run --report debug ./app",
	  "#include <hotpath.h>\n\nvoid take(int depth)\n{\n\tHOTPATH_GAUGE_SET(\"depth\", depth);\n}\n" },
	{ "cpu", "Who computes, without recompiling?", "",
	  "hotpath run --report functions-cpu ./app", "" },
	{ "live", "What does it do now?", "", "hotpath run ./app",
	  "hotpath list\ncurl -s http://127.0.0.1:6770/functions_cpu\n" },
	{ "mcp", "How does an agent get the figures?", "", "hotpath run ./app",
	  "{\"mcpServers\": {\"hotpath\": {\"command\": \"hotpath\", \"args\": [\"mcp\"]}}}\n" },
};

#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static const struct scenario *find(const char *name)
{
	for (size_t i = 0; i < SCENARIOS; i++)
		if (strcmp(scenarios[i].name, name) == 0)
			return &scenarios[i];
	return NULL;
}

static void usage(FILE *out)
{
	fputs("Usage: hotpath init [--json] SCENARIO\n"
	      "Print first steps: compiler flags, the command, code to write.\n\n",
	      out);
	for (size_t i = 0; i < SCENARIOS; i++)
		fprintf(out, "  %-10s %s\n", scenarios[i].name, scenarios[i].question);
	fputs("\n      --json  as an object: scenario, build (also as cargo), command, snippet\n"
	      "  -h, --help  this\n",
	      out);
}

static void print_json(const struct scenario *scenario)
{
	cJSON *json = cJSON_CreateObject();
	char *text;

	cJSON_AddStringToObject(json, "scenario", scenario->name);
	cJSON_AddStringToObject(json, "build", scenario->build);
	/* Its name in Cargo.toml. */
	cJSON_AddStringToObject(json, "cargo", scenario->build);
	cJSON_AddStringToObject(json, "command", scenario->command);
	cJSON_AddStringToObject(json, "snippet", scenario->snippet);
	text = cJSON_Print(json);
	puts(text ? text : "{}");
	free(text);
	cJSON_Delete(json);
}

static void print_text(const struct scenario *scenario)
{
	printf("# %s\n", scenario->question);
	if (*scenario->build)
		printf("\n# compile\n%s\n", scenario->build);
	printf("\n# run\n%s\n", scenario->command);
	if (*scenario->snippet)
		printf("\n# and\n%s", scenario->snippet);
}

int hp_cmd_init(int argc, char **argv)
{
	const struct scenario *scenario = NULL;
	bool is_json = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			usage(stdout);
			return 0;
		}
		if (strcmp(argv[i], "--json") == 0) {
			is_json = true;
			continue;
		}
		if (scenario || !(scenario = find(argv[i]))) {
			fprintf(stderr, "hotpath init: no scenario '%s'; see hotpath init --help\n",
				argv[i]);
			return HP_EXIT_USAGE;
		}
	}
	if (!scenario) {
		usage(stderr);
		return HP_EXIT_USAGE;
	}
	if (is_json)
		print_json(scenario);
	else
		print_text(scenario);
	return 0;
}
