/* SPDX-License-Identifier: MIT */
/*
 * user.h - the user of a recorded process, whose files are opened with that
 * user's rights (util/open_as.h).
 */
#ifndef HP_SAMPLER_BASE_USER_H
#define HP_SAMPLER_BASE_USER_H

#include <stdbool.h>
#include <stdint.h>

#include "util/user.h"

/*
 * Our own user if the process has all our rights, and if we are not root. False
 * = the process is gone, and `user` unchanged.
 */
bool hp_proc_user(uint32_t pid, struct hp_user *user);

#endif
