/* SPDX-License-Identifier: MIT */
/*
 * label.c - see label.h.
 */
#include "report/read/label.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/name/name.h"
#include "segment/layout/process.h"

struct hp_model_label *hp_label_new(struct hp_reader *reader, uint64_t offset)
{
	struct hp_label record;
	struct hp_model_label *label;
	char *text;

	if (!hp_reader_copy(reader, offset, &record, sizeof(record)))
		return NULL;
	text = hp_reader_text(reader, record.text);
	if (!text)
		return NULL;
	label = hp_xmalloc(sizeof(*label));
	*label = (struct hp_model_label){
		.kind = record.kind,
		.line = record.line,
		.text = text,
		.file = record.file ? hp_reader_text(reader, record.file) : NULL,
		.function = record.function ? hp_reader_text(reader, record.function) : NULL,
	};
	return label;
}

void hp_label_free(struct hp_model_label *label)
{
	if (!label)
		return;
	free(label->text);
	free(label->file);
	free(label->function);
	free(label);
}

bool hp_label_is_of(const struct hp_model_label *label, const char *name)
{
	size_t size;
	char *last;
	bool is_same;

	if (label->kind == HP_LABEL_BLOCK)
		return true;
	if (!name || !label->function)
		return true;
	/* __func__ is the last part, without templates' arguments, parameters and .part.0 */
	size = strlen(label->function);
	last = hp_name_short(name, 1);
	is_same = strncmp(last, label->function, size) == 0 && strchr("(<[.", last[size]);
	free(last);
	return is_same;
}
