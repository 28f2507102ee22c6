/* SPDX-License-Identifier: MIT */
/*
 * version.c - the version string that every binary contains.
 *
 * `hotpath doctor` searches for this text in library, helper and command, since
 * parts of different installations may be incompatible. what(1) finds it, too.
 */
#include "segment/version.h"

const char hp_version_mark[] __attribute__((used)) = HP_VERSION_MARK HP_VERSION;
