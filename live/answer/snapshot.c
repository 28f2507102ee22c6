/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - see snapshot.h.
 */
#include "live/answer/snapshot.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

void hp_snapshot_release(struct hp_snapshot *snapshot)
{
	cJSON_Delete(snapshot->report);
	free(snapshot->error);
	*snapshot = (struct hp_snapshot){ .status = HP_SNAPSHOT_IDLE };
}
