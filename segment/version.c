/* SPDX-License-Identifier: MIT */
/*
 * version.c - the version, in each of our files.
 *
 * `hotpath doctor` looks for this text in library, helper and command, since
 * parts of several installations may not understand each other.  So does what(1).
 */
#include "segment/version.h"

const char hp_version_mark[] __attribute__((used)) = HP_VERSION_MARK HP_VERSION;
