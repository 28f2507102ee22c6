/* SPDX-License-Identifier: MIT */
/*
 * call_per_item.c - a function makes one system call for each item, and most of its time is that
 * call: its answer could be kept, or asked for once.
 *
 * Often the program does not ask for it: localtime() checks the file of the time zone each time, and
 * realpath() each directory of a path.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/again.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define CPU_MIN 0.25 /* of the CPU time, in that call for that function */
#define CALLEE_MIN 0.5 /* of the library function's time: it does little else */
#define WHOLE_MIN 0.6 /* of the function: the fix removes nearly all of its work */
#define PAIRS_MAX 256
#define RESOLVES \
	"it looks at every directory of the path each time.  Keep the result for each " \
	"directory, or use paths relative to one (openat)"

/* Functions that make calls nobody asked for: their public names, and what to do instead. */
static const struct {
	const char *callee;	/* it begins with that, as it is shown */
	const char *name;
	const char *advice;
	enum hp_confidence confidence;
} known[] = {
	{ "__tz_convert", "localtime",
	  "it checks the file of the time zone each time.  Call tzset once and use localtime_r, "
	  "set TZ, or keep the result for the same second",
	  HP_LIKELY },
	{ "mktime", "mktime",
	  "it checks the file of the time zone each time.  Set TZ, or keep the "
	  "result for the same hour",
	  HP_LIKELY },
	{ "__strftime", "strftime",
	  "it checks the file of the time zone each time.  Set TZ, or "
	  "keep the text for the same second",
	  HP_LIKELY },
	/* Each path may be another one's. */
	{ "realpath", "realpath", RESOLVES, HP_POSSIBLE },
	{ "__realpath", "realpath", RESOLVES, HP_POSSIBLE },
	{ "canonicalize_file_name", "canonicalize_file_name", RESOLVES, HP_POSSIBLE },
	{ "filesystem::canonical", "canonical", RESOLVES, HP_POSSIBLE },
	{ "filesystem::weakly_canonical", "weakly_canonical", RESOLVES, HP_POSSIBLE },
};

#define KNOWN (sizeof(known) / sizeof(known[0]))

/* KNOWN: none of them. */
static size_t known_of(const char *callee)
{
	size_t i = 0;

	while (i < KNOWN && strncmp(callee, known[i].callee, strlen(known[i].callee)) != 0)
		i++;
	return i;
}

/* Calls of one function. */
struct pair {
	uint32_t function;
	uint32_t callee;	/* of a library; HP_NONE = not known */
	char *call;
	uint64_t ns;
	uint64_t samples;
};

struct pairs {
	struct pair list[PAIRS_MAX];
	size_t count;
};

/*
 * Calls that name a file: a tool that examines a tree asks about another file each time. They are
 * the same question only for a library function that does not take the name.
 */
static bool is_about_a_file(const char *call)
{
	static const char *const starts[] = {
		"stat",	      "lstat",	   "fstatat",  "newfstatat", "newstat",	  "newlstat",
		"access",     "faccessat", "readlink", "unlink",     "rename",	  "link",
		"symlink",    "mkdir",	   "rmdir",    "chmod",	     "fchmod",	  "chown",
		"lchown",     "fchown",	   "utime",    "getxattr",   "lgetxattr", "listxattr",
		"llistxattr", "inotify",   "chdir",    "getcwd",     "truncate",  "name_to_handle",
		"ioctl",      "fcntl",	   "flock",
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (strncmp(call, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

/* Calls with rules of their own, calls whose data are the work itself, and waits. */
static bool is_other(const char *call)
{
	static const char *const starts[] = {
		"read",	      "write",	       "pread",
		"pwrite",     "send",	       "recv",
		"open",	      "close",	       "futex",
		"clone",      "fork",	       "vfork",
		"exec",	      "exit",	       "mmap",
		"munmap",     "brk",	       "mprotect",
		"madvise",    "mremap",	       "poll",
		"ppoll",      "select",	       "pselect",
		"epoll",      "nanosleep",     "clock_nanosleep",
		"fsync",      "fdatasync",     "msync",
		"sync",	      "sched_yield",   "connect",
		"accept",     "wait",	       "page faults",
		"interrupts", "task switches", "call entry",
		"rt_sig",     "io_",	       "lseek",
		"llseek",     "splice",	       "copy_file_range",
		"getdents",   "getrandom",     "ftruncate",
		"fallocate",  "pause",	       "perf_event",
		"tgkill",     "kill",
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (strncmp(call, starts[i], strlen(starts[i])) == 0)
			return strncmp(call, "readlink", strlen("readlink")) != 0;
	return false;
}

static bool is_asked_inside(struct hp_survey *survey, const struct hp_owner *owner)
{
	char *callee;
	bool is_it;

	if (owner->callee == HP_NONE)
		return false;
	callee = hp_answer_function(survey->report, owner->callee);
	is_it = known_of(callee) < KNOWN;
	free(callee);
	return is_it;
}

static void stack_add(struct pairs *pairs, struct hp_survey *survey, uint32_t stack)
{
	const struct hp_owner *owner = &hp_owners_of(survey->report)->of_stack[stack];
	const struct hp_model_stack *sampled = &survey->report->model.sampling.stacks[stack];
	char *call = hp_owner_entry_text(survey->report, owner->entry);
	struct pair *pair = pairs->list;
	bool is_inside = is_asked_inside(survey, owner);

	if (is_about_a_file(call) && !is_inside) {
		free(call);
		return;
	}
	while (pair < pairs->list + pairs->count &&
	       (pair->function != owner->function || pair->callee != owner->callee ||
		(!is_inside && strcmp(pair->call, call) != 0)))
		pair++;
	if (is_other(call) || pair == pairs->list + PAIRS_MAX) {
		free(call);
		return;
	}
	if (pair == pairs->list + pairs->count) {
		pairs->count++;
		*pair = (struct pair){ owner->function, owner->callee, call, 0, 0 };
	} else {
		free(call);
	}
	pair->ns += sampled->cpu_ns;
	pair->samples += sampled->samples;
}

static const struct pair *most_of(const struct pairs *pairs)
{
	const struct pair *most = NULL;

	for (size_t i = 0; i < pairs->count; i++)
		if (!most || pairs->list[i].ns > most->ns)
			most = &pairs->list[i];
	return most;
}

static bool is_pair(const struct hp_owner *owner, const struct pair *pair)
{
	return owner->function == pair->function && owner->callee == pair->callee;
}

/* All time of the library function that makes the call, for that function of the program. */
static double callee_ns(struct hp_survey *survey, const struct pair *pair)
{
	const struct hp_model_sampling *sampling = &survey->report->model.sampling;
	const struct hp_owners *owners = hp_owners_of(survey->report);
	double ns = 0;

	for (size_t i = 1; i < owners->count; i++)
		if (!sampling->stacks[i].is_profiler && is_pair(&owners->of_stack[i], pair))
			ns += (double)sampling->stacks[i].cpu_ns;
	return ns;
}

/* One long call is no call for each item. */
static bool is_again(struct hp_survey *survey, const struct pair *pair)
{
	const struct hp_owners *owners = hp_owners_of(survey->report);
	bool *is_it = hp_xcalloc(owners->count + 1, sizeof(bool));
	uint64_t pieces;

	for (size_t i = 1; i < owners->count; i++)
		is_it[i] =
			is_pair(&owners->of_stack[i], pair) && owners->of_stack[i].entry != HP_NONE;
	pieces = hp_again_count(survey, is_it);
	free(is_it);
	return pieces >= HP_AGAIN_MIN;
}

static char *advice_of(const char *where, const char *callee, const char *call)
{
	size_t i = known_of(callee);

	if (i < KNOWN)
		return hp_xprintf("%s calls %s for each item, and %s.", where, known[i].name,
				  known[i].advice);
	if (!*callee || strstr(callee, call) || strcmp(callee, "syscall") == 0)
		return hp_xprintf("%s makes the system call %s for each item: keep its result, or "
				  "call it once for many items.",
				  where, call);
	return hp_xprintf("%s calls %s for each item, which makes the system call %s: keep its "
			  "result, or call it once for many items.",
			  where, callee, call);
}

static void pair_add(struct hp_survey *survey, const struct pair *pair)
{
	double ns = (double)pair->ns, around = callee_ns(survey, pair);
	double all = hp_survey_cpu_of(survey, pair->function), gain;
	struct hp_finding *finding;
	struct hp_text_cell time, share;
	char *where, *callee;
	size_t known_at;

	around = ns >= CALLEE_MIN * around ? around : ns;
	gain = hp_survey_worth(survey, around >= WHOLE_MIN * all ? all : around);
	if (!hp_survey_is_worth(survey, gain))
		return;
	finding = hp_finding_add_function(survey, &hp_rule_call_per_item, pair->function);
	where = hp_finding_where(finding);
	callee = pair->callee == HP_NONE ? hp_xstrdup("")
					 : hp_answer_function(survey->report, pair->callee);
	known_at = known_of(callee);
	finding->advice = advice_of(where, callee, pair->call);
	finding->facts =
		hp_xprintf("%s of CPU time (%s) in the kernel's %s", hp_format_time(&time, ns),
			   hp_survey_share(survey, ns, &share), pair->call);
	finding->gain_ns = gain;
	finding->confidence = known_at < KNOWN ? known[known_at].confidence : HP_LIKELY;
	hp_finding_evidence(finding, &hp_cpu_section, hp_survey_row(survey, pair->function),
			    hp_xstrdup(finding->facts));
	free(callee);
	free(where);
}

static void find(struct hp_survey *survey)
{
	const struct hp_model_sampling *sampling = &survey->report->model.sampling;
	struct pairs *pairs;
	const struct hp_owners *owners;
	const struct pair *most;

	if (!hp_survey_has_samples(survey))
		return;
	pairs = hp_xcalloc(1, sizeof(*pairs));
	owners = hp_owners_of(survey->report);
	for (uint32_t i = 1; i < owners->count; i++)
		if (sampling->stacks[i].samples && !sampling->stacks[i].is_profiler &&
		    owners->of_stack[i].entry != HP_NONE &&
		    hp_owner_is_named(survey->report, owners->of_stack[i].function))
			stack_add(pairs, survey, i);
	most = most_of(pairs);
	if (most && most->samples >= HP_RULE_SAMPLES_OF &&
	    hp_survey_is_part(survey, (double)most->ns, CPU_MIN) && is_again(survey, most))
		pair_add(survey, most);
	for (size_t i = 0; i < pairs->count; i++)
		free(pairs->list[i].call);
	free(pairs);
}

const struct hp_rule hp_rule_call_per_item = {
	.key = "call-per-item",
	.find = find,
	.pattern =
		"One function spends at least 25% of the CPU time in one system call that transfers no "
		"data, does not wait and is in no other rule, such as clock_gettime, stat for "
		"localtime, or readlink for realpath.  Samples show the call at least five times, with "
		"other work in between.  "
		"The gain is the time of the library function that makes the call, if the call is at "
		"least half of it; and all of the calling function's time, if that is at least 60% of it.",
	.wrong = "Each call asks for something else.",
	.verify = "Count the calls with strace -c, and look at their arguments with strace.  Keep "
		  "the answer, and compare both with hotpath compare.",
};
