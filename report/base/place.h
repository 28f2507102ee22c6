/* SPDX-License-Identifier: MIT */
/*
 * place.h - where the parts of hotpath lie, seen from the command.
 *
 * Everything is found relative to the file of whoever looks, in the build tree
 * and where `make install` put it, so an installed tree may be moved.  For the
 * helpers there is hp_session_helper_path.
 */
#ifndef HP_REPORT_BASE_PLACE_H
#define HP_REPORT_BASE_PLACE_H

#include <stdbool.h>

#include "segment/session.h"

/* The folder of our own executable; "" where /proc is not mounted. */
void hp_place_folder(char folder[HP_HELPER_PATH]);

/*
 * libhotpath.so: HOTPATH_LIB, else beside `folder` or in ../lib.  False if there
 * is none; then `path` is the wished one, or where it should be.
 */
bool hp_place_library(char path[HP_HELPER_PATH], const char *folder);

#endif
