/* SPDX-License-Identifier: MIT */
/*
 * proc_fuzz.c - texts written by the kernel or other programs: stat and status of a
 * task, and names of generated code.
 */
#include <stdlib.h>
#include <unistd.h>

#include "report/name/kernel.h"
#include "report/section/core/facts.h"
#include "report/name/legend.h"
#include "sampler/base/proc.h"
#include "test/fuzz/fuzz.h"

static void names_of(const uint8_t *data, size_t size)
{
	char path[64];
	struct hp_names names;
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	file = fopen(path, "we");
	if (!file)
		abort();
	fwrite(data, 1, size, file);
	fclose(file);
	hp_names_init_map(&names, path, (struct hp_user){ .is_other = false });
	for (uint64_t at = 0; at < 1 << 20; at += 4093)
		hp_names_at(&names, at);
	hp_names_release(&names);
	unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct hp_proc_stat stat;
	struct hp_facts facts;
	struct hp_legend *legend;

	hp_proc_stat(text, &stat);
	hp_proc_number(text, "VmHWM:");
	names_of(data, size);
	hp_facts_init(&facts, strdup(text));
	hp_facts_get(&facts, "pid");
	hp_facts_release(&facts);
	legend = hp_legend_new(text);
	hp_legend_free(legend);
	return 0;
}
