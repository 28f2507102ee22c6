/* SPDX-License-Identifier: MIT */
/*
 * label.h - labels that the source gives to code (include/hotpath.h).
 */
#ifndef HP_REPORT_READ_LABEL_H
#define HP_REPORT_READ_LABEL_H

#include <stdbool.h>
#include <stdint.h>

#include "report/read/reader.h"

struct hp_model_label {
	uint32_t kind;	/* enum hp_label_kind */
	uint32_t line;
	char *text;	/* as recorded: any bytes */
	char *file;	/* NULL = unknown */
	char *function;	/* the function around a HOTPATH_NAME; NULL = unknown */
};

/* The label at `offset`; NULL = none. */
struct hp_model_label *hp_label_new(struct hp_reader *reader, uint64_t offset);
void hp_label_free(struct hp_model_label *label);

/* A fresh copy of the hp_text at `offset`, without control characters; NULL = none. */
char *hp_label_text(struct hp_reader *reader, uint64_t offset);

#endif
