/* SPDX-License-Identifier: MIT */
/*
 * explain.c - what the answers of tools mean, for who has not read the documentation.
 */
#include <cjson/cJSON.h>
#include <string.h>

#include "live/mcp/tool.h"

struct topic {
	const char *name;	/* of a tool */
	const char *meaning;
	const char *next;
};

static const struct topic topics[] = {
	{ "functions_timing",
	  "Wall time of each instrumented function's calls, measured at entry and exit. All calls "
	  "are counted; of very frequent ones only some are timed, and the total is estimated from "
	  "those. total includes what it calls: shares add up to more than 100 %.",
	  "hot_path for the chain of calls; function_timing_logs for its slowest calls; functions_cpu "
	  "to tell computing from waiting, offcpu where it waits." },
	{ "functions_cpu",
	  "Samples taken while a thread ran on a CPU. Shares are estimates: of n samples their "
	  "error is about the square root of n. Functions need not be compiled anew.",
	  "hot_path or functions_timing for callers; offcpu if the program runs less than it lasts." },
	{ "hot_path", "From the outermost function down, the callee in which most time was spent.",
	  "functions_timing with the name of its last function." },
	{ "callers",
	  "All paths to a function taken together: the first row is the function, the rows that hang "
	  "on it are its callers with the calls and the time that it has from there.",
	  "hot_path for the one chain in which most time is spent; functions_timing for ids." },
	{ "functions_alloc", "What each function's calls allocated, freed or not.",
	  "top_allocation_sites for the lines; leaks for what is still held." },
	{ "top_allocation_sites", "Call paths by bytes allocated since the start, freed or not.",
	  "leaks; functions_alloc." },
	{ "leaks",
	  "Call paths by bytes that were allocated and not freed by now. While the program runs "
	  "this is what it holds, which need not be lost.",
	  "Ask twice: what grows between the two is a suspect." },
	{ "alloc_sizes",
	  "How many blocks of which size, estimated from blocks that were drawn at random: "
	  "error_percent is half of a 95 % interval.",
	  "top_allocation_sites: its raw rows have drawn_sizes of each call path." },
	{ "alloc_lives",
	  "How long blocks lived that were freed, estimated as alloc_sizes. Many that live "
	  "microseconds could be one that is kept.",
	  "top_allocation_sites, for call paths whose blocks are temporary." },
	{ "direct_maps",
	  "Memory that the program maps itself (mmap, brk), by call path; none of it is in leaks or "
	  "top_allocation_sites.",
	  "threads for the process's resident memory." },
	{ "compare",
	  "Rows of two runs, matched by name. verdict: more, less, new, gone; rows that are the same "
	  "within the error of both are left out, unknown is what one side did not show. change_error "
	  "is half of a 95 % interval, with noise_percent on top for times; counts and bytes are exact.",
	  "Look at calls_a and calls_b first: they do not depend on how busy the machine was." },
	{ "threads", "Each thread's state, CPU time and memory.",
	  "offcpu for threads that wait; functions_cpu for those that run." },
	{ "offcpu", "Time in which threads did not run, by the call path in which they stopped.",
	  "who_waits_for_whom if it is a lock." },
	{ "mutexes",
	  "Mutexes: how often each was taken, how long somebody had to wait for it, and how long it "
	  "was held.",
	  "who_waits_for_whom for the places; lock_order for deadlocks." },
	{ "rw_locks", "As mutexes, for reader-writer locks.", "who_waits_for_whom." },
	{ "who_waits_for_whom",
	  "Waits for locks: the place that waited, and the place that held the lock meanwhile.",
	  "Shorten what the holder does under the lock; mutexes for how long it is held." },
	{ "lock_order",
	  "Pairs of locks, the second taken while the first was held. A cycle may deadlock, even "
	  "if it has not yet.",
	  "waiting_now if the program stands still." },
	{ "channels",
	  "Messages sent and received, the queue's length and how long messages waited.",
	  "channel_logs with a row's id; threads for who does not keep up." },
};

static cJSON *topic_json(const struct topic *topic)
{
	cJSON *json = cJSON_CreateObject();

	cJSON_AddStringToObject(json, "topic", topic->name);
	cJSON_AddStringToObject(json, "meaning", topic->meaning);
	cJSON_AddStringToObject(json, "next", topic->next);
	return json;
}

struct hp_answer *hp_mcp_explain(const char *name)
{
	cJSON *json = cJSON_CreateObject();
	cJSON *array = cJSON_AddArrayToObject(json, "topics");

	for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
		if (!name || strcmp(topics[i].name, name) == 0)
			cJSON_AddItemToArray(array, topic_json(&topics[i]));
	if (cJSON_GetArraySize(array))
		return hp_answer_json(200, json);
	cJSON_Delete(json);
	return hp_answer_error(404,
			       "explain without a topic lists them; the description in "
			       "tools/list says what a tool without one is",
			       "No topic '%.64s'", name);
}
