/* SPDX-License-Identifier: MIT */
/*
 * facts.h - facts about a run besides its segment: its machine, revision
 * and label. Gathered at its end, kept in its file, shown in `meta` of
 * JSON.
 *
 * Lines of two fields.  Keys: hotpath (the version that wrote), comm, pid,
 * command, started_unix_ns, elapsed_ns, os, cores, git.sha, git.ref, label, and
 * user.KEY for each pair of HOTPATH_USER_METADATA.  Others are ignored.
 */
#ifndef HP_REPORT_SECTION_CORE_FACTS_H
#define HP_REPORT_SECTION_CORE_FACTS_H

#include <stddef.h>

#include "report/read/model.h"
#include "segment/setting.h"

struct hp_fact {
	const char *key;
	const char *value;
};

struct hp_facts {
	char *text;
	struct hp_fact *list;	/* in the order of the file */
	size_t count;
};

#define HP_FACTS_NONE \
	{ \
		.text = NULL, .list = NULL, .count = 0 \
	}

/* A fresh text of the facts of the session that just ended here. */
char *hp_facts_gather(const struct hp_model *model, const struct hp_settings *settings);

/* Takes over `text`. */
void hp_facts_init(struct hp_facts *facts, char *text);
void hp_facts_release(struct hp_facts *facts);

/* NULL = not known. */
const char *hp_facts_get(const struct hp_facts *facts, const char *key);

/* CPUs of the machine where it ran; 0 = unknown.  A segment without facts (NULL) has them, too. */
uint64_t hp_facts_cores(const struct hp_facts *facts, const struct hp_model *model);

#endif
