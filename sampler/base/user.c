/* SPDX-License-Identifier: MIT */
/*
 * user.c - see user.h.
 */
#include "sampler/base/user.h"

#include <unistd.h>

#include "sampler/base/proc.h"

static bool ids_read(struct hp_credentials *ids, uint32_t pid)
{
	char path[64], text[4096];

	hp_proc_path(path, pid, "status");
	return hp_proc_read(path, text, sizeof(text)) > 0 && hp_credentials_of(ids, text);
}

bool hp_proc_user(uint32_t pid, struct hp_user *user)
{
	struct hp_credentials own, its;

	if (geteuid() != 0) {
		*user = (struct hp_user){ .is_other = false };
		return true;
	}
	if (!ids_read(&its, pid) || !ids_read(&own, (uint32_t)getpid()))
		return false;
	*user = hp_user_beside(&own, &its);
	return true;
}
