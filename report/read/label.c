/* SPDX-License-Identifier: MIT */
/*
 * label.c - see label.h.
 */
#include "report/read/label.h"

#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
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

char *hp_label_text(struct hp_reader *reader, uint64_t offset)
{
	char *text = hp_reader_text(reader, offset), *clean = text ? hp_text_clean(text) : NULL;

	free(text);
	return clean;
}
