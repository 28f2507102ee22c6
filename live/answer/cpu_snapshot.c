/* SPDX-License-Identifier: MIT */
/*
 * cpu_snapshot.c - see cpu_snapshot.h.
 */
#include "live/answer/cpu_snapshot.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

void hp_cpu_snapshot_release(struct hp_cpu_snapshot *capture)
{
	cJSON_Delete(capture->report);
	free(capture->error);
	free(capture->seen);
	free(capture->folder);
	*capture = (struct hp_cpu_snapshot){ .status = HP_CPU_SNAPSHOT_IDLE };
}
