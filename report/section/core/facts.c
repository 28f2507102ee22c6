/* SPDX-License-Identifier: MIT */
/*
 * facts.c - see facts.h.
 */
#include "report/section/core/facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "report/base/behalf.h"
#include "report/base/field.h"
#include "report/base/memory.h"
#include "report/base/revision.h"

#define USER_MAX 64	/* pairs of HOTPATH_USER_METADATA */

/* --- gathering --- */

static void text_add(FILE *out, const char *key, const char *value)
{
	if (!value)
		return;
	hp_field_write(key, out);
	fputc('\t', out);
	hp_field_write(value, out);
	fputc('\n', out);
}

static void number_add(FILE *out, const char *key, int64_t number)
{
	fprintf(out, "%s\t%" PRId64 "\n", key, number);
}

static void machine_add(FILE *out)
{
	struct utsname system;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (uname(&system) == 0)
		fprintf(out, "os\tlinux-%s\n", system.machine);
	if (cores > 0)
		number_add(out, "cores", cores);
}

uint64_t hp_facts_cores(const struct hp_facts *facts, const struct hp_model *model)
{
	const char *told = facts ? hp_facts_get(facts, "cores") : NULL;

	return told ? hp_field_number(told) : model->cores;
}

/* From the repository that contains the program, else from the current folder. */
static void revision_add(FILE *out, const struct hp_model *model)
{
	uint32_t object = model->root == HP_NONE ? HP_NONE : model->processes[model->root].object;
	struct hp_revision revision = { .sha = "" };
	bool is_found = false;

	if (object != HP_NONE) {
		struct hp_user before = hp_behalf_begin(model->objects[object].user);

		is_found = hp_revision_find(&revision, model->objects[object].path);
		hp_behalf_end(before);
	}
	if (!is_found && !hp_revision_find(&revision, "./."))
		return;
	text_add(out, "git.sha", revision.sha);
	text_add(out, "git.ref", revision.ref[0] ? revision.ref : NULL);
}

/* k=v,k=v; facts without a key are left out, as the library reported at the start. */
static void user_add(FILE *out, const char *pairs)
{
	char *copy = pairs ? hp_xstrdup(pairs) : NULL;
	char *next = copy;

	for (int i = 0; next && i < USER_MAX;) {
		char *pair = strsep(&next, ",");
		char *equals = strchr(pair, '=');
		char *key;

		pair += strspn(pair, " ");
		if (!equals || equals <= pair)
			continue;
		*equals = 0;
		key = hp_xprintf("user.%s", pair);
		text_add(out, key, equals + 1);
		free(key);
		i++;
	}
	free(copy);
}

char *hp_facts_gather(const struct hp_model *model, const struct hp_settings *settings)
{
	const struct hp_header *header = &model->reader.header;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return hp_xstrdup("");
	text_add(out, "hotpath", HP_VERSION);
	text_add(out, "comm", hp_model_root_name(model));
	if (model->root != HP_NONE)
		text_add(out, "command", model->processes[model->root].command);
	number_add(out, "pid", header->root_pid);
	number_add(out, "started_unix_ns", header->created_unix_ns);
	number_add(out, "elapsed_ns", (int64_t)model->elapsed_ns);
	machine_add(out);
	revision_add(out, model);
	text_add(out, "label", settings->label);
	user_add(out, settings->user_metadata);
	fclose(out);
	return text;
}

/* --- reading --- */

void hp_facts_init(struct hp_facts *facts, char *text)
{
	char *fields[2], *next = text;
	size_t room = 0;

	*facts = (struct hp_facts){ .text = text };
	while (hp_field_split(&next, fields, 2)) {
		facts->list = hp_xgrow(facts->list, facts->count, &room, sizeof(*facts->list));
		facts->list[facts->count++] = (struct hp_fact){ fields[0], fields[1] };
	}
}

void hp_facts_release(struct hp_facts *facts)
{
	free(facts->text);
	free(facts->list);
	*facts = (struct hp_facts)HP_FACTS_NONE;
}

const char *hp_facts_get(const struct hp_facts *facts, const char *key)
{
	for (size_t i = 0; i < facts->count; i++)
		if (strcmp(facts->list[i].key, key) == 0)
			return facts->list[i].value;
	return NULL;
}
