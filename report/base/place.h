/* SPDX-License-Identifier: MIT */
/*
 * place.h - find the installed parts of hotpath from the command.
 *
 * Everything is found relative to the caller's executable, both in the build
 * tree and after `make install`, so an installed tree may be moved.
 * hp_session_helper_path finds the helpers.
 */
#ifndef HP_REPORT_BASE_PLACE_H
#define HP_REPORT_BASE_PLACE_H

#include <stdbool.h>

#include "segment/session.h"

/* The folder of our own executable; "" where /proc is not mounted. */
void hp_place_folder(char folder[HP_HELPER_PATH]);

/*
 * libhotpath.so: HOTPATH_LIB, else beside `folder` or in ../lib.  False if none
 * exists; then `path` is the requested one, or the expected place.
 */
bool hp_place_library(char path[HP_HELPER_PATH], const char *folder);

/* The suppressions for valgrind, allocated; NULL = not installed. */
char *hp_place_suppressions(const char *folder);

/* True if PATH has a program of this name that may be run. */
bool hp_place_has_program(const char *name);

#endif
