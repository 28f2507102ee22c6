/* SPDX-License-Identifier: MIT */
/*
 * files.h - names from the program's files, read on demand.
 */
#ifndef HP_REPORT_NAME_FILES_H
#define HP_REPORT_NAME_FILES_H

#include "report/name/source.h"
#include "report/read/model.h"

/* The model's objects must not move while this exists. */
struct hp_name_source *hp_files_new(const struct hp_model *model);

/* True if that object's file was requested. */
bool hp_files_is_read(const struct hp_name_source *source, uint32_t object);

#endif
