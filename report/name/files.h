/* SPDX-License-Identifier: MIT */
/*
 * files.h - names from the files of the program, read when they are asked for.
 */
#ifndef HP_REPORT_NAME_FILES_H
#define HP_REPORT_NAME_FILES_H

#include "report/name/source.h"
#include "report/read/model.h"

/* The model's objects stay where they are while this lives. */
struct hp_name_source *hp_files_new(const struct hp_model *model);

/* True if somebody asked about that object's file. */
bool hp_files_is_read(const struct hp_name_source *source, uint32_t object);

#endif
