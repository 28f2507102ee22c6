/* SPDX-License-Identifier: MIT */
/*
 * findings.c - runs all rules, drops findings that another explains, and sorts the
 * rest.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/finding/owned.h"
#include "report/section/finding/rules.h"

#define SHORT_NS 2e7	/* runs that are too short to judge */
#define BUSY 0.7	/* of the wall time: runs that compute */
#define CALLEE_MIN 0.6 /* of a function: one function that it calls */
#define ONE_CORE 1.1	/* in use or wanted, at most */
#define NO_BOUND 0.995 /* of the wall time: a bound that says nothing */
#define IDLE 0.3	/* of the wall time: waits are sufficient evidence */
#define POINTER(name) &hp_rule_##name,

static const struct hp_rule *const rules[] = { HP_RULES(POINTER) };

static void finding_release(struct hp_finding *finding)
{
	free(finding->advice);
	free(finding->facts);
	free(finding->subject);
	for (size_t i = 0; i < finding->evidence_count; i++) {
		free(finding->evidence[i].row);
		free(finding->evidence[i].text);
	}
}

/* --- selection --- */

/* "pop" and "pop", or "pop queue.c:12 ← main": a call path begins with the function. */
static bool is_one_subject(const char *a, const char *b)
{
	size_t length = strlen(a);

	return strncmp(a, b, length) == 0 && (!b[length] || b[length] == ' ');
}

/* Both name the same function, or have the same evidence, such as the constructor of copies. */
static bool is_its_subject(const struct hp_finding *finding, const struct hp_finding *other)
{
	for (size_t i = 0; other->evidence_count && i < finding->evidence_count; i++)
		if (finding->evidence[i].section == other->evidence[0].section &&
		    strcmp(finding->evidence[i].row, other->evidence[0].row) == 0)
			return true;
	return is_one_subject(finding->subject, other->subject);
}

static bool is_over(const struct hp_finding *finding, const struct hp_finding *other)
{
	const struct hp_rule_over *over = finding->rule->over;

	for (; over && over->rule; over++)
		if (strcmp(over->rule, other->rule->key) == 0 &&
		    (!over->is_of_subject || is_its_subject(finding, other)))
			return true;
	return false;
}

/* Removes findings that another explains. */
static void explained_drop(struct hp_findings *findings)
{
	bool *is_explained = hp_xcalloc(findings->count, sizeof(bool));
	size_t kept = 0;

	for (size_t i = 0; i < findings->count; i++)
		for (size_t j = 0; j < findings->count && !is_explained[i]; j++)
			is_explained[i] = is_over(&findings->list[j], &findings->list[i]);
	for (size_t i = 0; i < findings->count; i++) {
		if (is_explained[i])
			finding_release(&findings->list[i]);
		else
			findings->list[kept++] = findings->list[i];
	}
	findings->count = kept;
	free(is_explained);
}

static int compare(const void *left, const void *right)
{
	const struct hp_finding *a = left, *b = right;

	if (a->gain_ns > b->gain_ns || a->gain_ns < b->gain_ns)
		return a->gain_ns > b->gain_ns ? -1 : 1;
	if (a->gain_bytes != b->gain_bytes)
		return a->gain_bytes > b->gain_bytes ? -1 : 1;
	return strcmp(a->subject, b->subject);
}

/* "pop queue.c:12 ← main" and "pop queue.c:15 ← main". */
static bool is_of_one_function(const char *a, const char *b)
{
	size_t length = strcspn(a, " ");

	return strncmp(a, b, length) == 0 && (!b[length] || b[length] == ' ');
}

/* Moves a finding to where its function has one that is less important, whatever its gain. */
static void ranked_move(struct hp_findings *findings, size_t at)
{
	struct hp_finding finding = findings->list[at];

	for (size_t i = 0; i < at; i++) {
		if (strcmp(findings->list[i].rule->key, finding.rule->after) != 0 ||
		    !is_of_one_function(finding.subject, findings->list[i].subject))
			continue;
		memmove(&findings->list[i + 1], &findings->list[i],
			(at - i) * sizeof(*findings->list));
		findings->list[i] = finding;
		return;
	}
}

static void all_rank(struct hp_findings *findings)
{
	if (findings->count)
		qsort(findings->list, findings->count, sizeof(*findings->list), compare);
	for (size_t i = 1; i < findings->count; i++)
		if (findings->list[i].rule->after)
			ranked_move(findings, i);
	for (size_t i = 0; i < findings->count; i++)
		findings->list[i].number = (uint32_t)i + 1;
}

/* --- nothing was found --- */

/* Some thread ran most of the time, or would have with more cores, whatever the others waited
 * for. */
static bool is_computing(const struct hp_survey *survey)
{
	return survey->ran_ns + survey->ready_ns >= BUSY * survey->wall_ns;
}

/* How well it uses the cores: one is busy and enough, or none was free. */
static const char *cores_text(const struct hp_survey *survey)
{
	if (survey->ready_ns > survey->ran_ns)
		return survey->ready_ns > survey->life_ns / 2
			       ? ", and waits for a core most of the time"
			       : ", and waits longer for a core than it runs";
	if (survey->cores > 1 && survey->ran_ns + survey->ready_ns <= ONE_CORE * survey->wall_ns)
		return ", on one core";
	return "";
}

/* What it calls, if that is most of it: perhaps work that is needed only once. */
static char *callee_text(const struct hp_answer_cpu *function)
{
	const struct hp_answer_callee *callee = &function->callees[0];

	if (!callee->name || (double)callee->ns < CALLEE_MIN * (double)function->ns)
		return hp_xstrdup("");
	return hp_xprintf(", most of it in %s%s", callee->is_kernel ? "the kernel's " : "",
			  callee->name);
}

/* With what a library's sort or search calls back for it: a comparison is a part of the sort. */
static double whole_ns(const struct hp_survey *survey, const struct hp_answer_cpu *function)
{
	double ns = (double)function->ns;

	for (size_t i = 0; i < survey->cost_count; i++)
		if (survey->costs[i].function == function->function)
			ns += (double)survey->costs[i].called_ns;
	return ns;
}

/* NULL = no row is a function: all of it is before main, or has no names. */
static const struct hp_answer_cpu *most_of(const struct hp_survey *survey)
{
	const struct hp_answer *answer = survey->answer;
	const struct hp_answer_cpu *most = NULL;

	for (size_t i = 0; i < answer->cpu_count; i++)
		if (answer->cpu[i].function != HP_NONE &&
		    (!most || whole_ns(survey, &answer->cpu[i]) > whole_ns(survey, most)))
			most = &answer->cpu[i];
	return most;
}

/*
 * "  f has 40% of the CPU time.", or "". What it would save to do without that work: no fix of the
 * function can save more.
 */
static char *most_text(const struct hp_survey *survey)
{
	const struct hp_answer_cpu *most = most_of(survey);
	struct hp_text_cell accuracy;
	double ns = most ? whole_ns(survey, most) : 0;
	double saved = hp_survey_worth(survey, ns) / survey->wall_ns;
	char *callee, *bound, *text;

	if (!most)
		return hp_xstrdup("");
	callee = callee_text(most);
	bound = saved < NO_BOUND ? hp_xprintf("; a fix there can save at most %.0f%% of the run",
					      100 * saved)
				 : hp_xstrdup("");
	text = hp_xprintf("  %s has %.0f%% of the CPU time%s%s%s.", most->name,
			  100 * ns / survey->cpu_ns, hp_survey_accuracy(survey, ns, &accuracy),
			  callee, bound);
	free(bound);
	free(callee);
	return text;
}

/* The longest wait with a known cause; NULL = none is significant. */
static const struct hp_answer_wait *wait_of(const struct hp_answer *answer)
{
	for (size_t i = 0; i < answer->wait_count; i++)
		if (answer->waits[i].who && !answer->waits[i].is_nowhere)
			return &answer->waits[i];
	return NULL;
}

static double nowhere_ns(const struct hp_answer *answer)
{
	double ns = 0;

	for (size_t i = 0; i < answer->wait_count; i++)
		ns += answer->waits[i].is_nowhere ? answer->waits[i].ns : 0;
	return ns;
}

/* The causes are titles of a table: "waits for condition c", "for a signal", "in poll". */
static const char *preposition(const char *what)
{
	static const char *const calls[] = { "poll", "sleep", "place" };
	static const char *const things[] = { "child process", "signal", "debugger",
					      "socket",	       "pipe",	 "lock or condition" };

	if (strcmp(what, "disk") == 0)
		return "for the";
	for (size_t i = 0; i < sizeof(things) / sizeof(things[0]); i++)
		if (strcmp(what, things[i]) == 0)
			return "for a";
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strncmp(what, calls[i], strlen(calls[i])) == 0)
			return "in";
	return "for";
}

/* "stream empty X" in tables: "for a message in stream X". */
static char *cause_text(const char *what)
{
	static const struct {
		const char *state;
		const char *text;
	} states[] = { { " empty ", "for a message in" }, { " full ", "for room in" } };
	const char *space = strchr(what, ' ');

	for (size_t i = 0; space && i < sizeof(states) / sizeof(states[0]); i++) {
		size_t length = strlen(states[i].state);

		if (strncmp(space, states[i].state, length) == 0)
			return hp_xprintf("%s %.*s %s", states[i].text, (int)(space - what), what,
					  space + length);
	}
	return hp_xprintf("%s %s", preposition(what), what);
}

static char *waiting_text(const struct hp_answer *answer)
{
	const struct hp_answer_wait *wait = wait_of(answer);
	double ns = nowhere_ns(answer);
	struct hp_text_cell time, more, count, mean;
	char *each, *cause, *text;

	if (!wait && ns <= 0)
		return NULL;
	if (!wait)
		return hp_xprintf("it mostly waits, %s in places that were not recorded.",
				  hp_format_time(&more, ns));
	each = wait->count > 1 && !wait->is_estimated
		       ? hp_xprintf(", in %s waits of %s on average",
				    hp_format_count(&count, wait->count),
				    hp_format_time(&mean, wait->ns / (double)wait->count))
		       : hp_xstrdup("");
	cause = cause_text(wait->what);
	text = hp_xprintf("it mostly waits.  %s waits %s %s%s%s%s%s.", wait->who,
			  hp_format_time(&time, wait->ns), cause, each,
			  ns > wait->ns ? ", and " : "",
			  ns > wait->ns ? hp_format_time(&more, ns) : "",
			  ns > wait->ns ? " more in places that were not recorded" : "");
	free(cause);
	free(each);
	return text;
}

static char *none_text(const struct hp_survey *survey)
{
	/* Findings about memory do not say where the time goes. */
	const char *what = survey->findings->count ? "wasted time" : "waste";
	char *waiting = is_computing(survey) ? NULL : waiting_text(survey->answer);
	char *most = waiting ? NULL : most_text(survey), *text;

	if (waiting)
		text = hp_xprintf("No known pattern of %s: %s", what, waiting);
	else if (is_computing(survey))
		text = hp_xprintf("No known pattern of %s: it computes%s.%s", what,
				  cores_text(survey), most);
	else
		/* Its waits are not known, or are for the ends of threads: what do these do? */
		text = hp_xprintf("No known pattern of %s.%s", what, most);
	free(waiting);
	free(most);
	return text;
}

/* Waits, locks, memory and processes are counted individually: they need no samples. */
static char *few_text(const struct hp_survey *survey)
{
	if (survey->wall_ns < SHORT_NS)
		return hp_xstrdup("The run is too short to judge.");
	if (!survey->threads->count || !survey->report->model.sampling.is_there)
		return hp_xstrdup("There are too few CPU samples to judge.");
	return hp_xstrdup(
		"There are too few CPU samples to judge its computing.  Its waits, locks, "
		"memory and processes show no known pattern of waste.");
}

static bool is_of_memory(const struct hp_finding *finding)
{
	return finding->gain_bytes && finding->gain_ns <= 0;
}

static bool has_time(const struct hp_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		if (!is_of_memory(&findings->list[i]))
			return true;
	return false;
}

static void state_set(const struct hp_survey *survey, struct hp_findings *findings)
{
	bool is_sampled = survey->report->model.sampling.is_there;
	bool is_idle = survey->ran_ns + survey->ready_ns < IDLE * survey->wall_ns;
	bool is_few = survey->samples < HP_ANSWER_SAMPLES && !(is_idle && is_sampled);
	bool is_judged = survey->wall_ns >= SHORT_NS && !is_few;

	if (has_time(findings))
		return;
	if (is_judged)
		findings->none = none_text(survey);
	if (findings->count)
		return;
	findings->state = is_judged ? HP_FINDINGS_NONE : HP_FINDINGS_FEW;
	if (!is_judged)
		findings->none = few_text(survey);
}

/* --- all of it --- */

static void findings_free(void *held)
{
	struct hp_findings *findings = held;

	for (size_t i = 0; i < findings->count; i++)
		finding_release(&findings->list[i]);
	free(findings->list);
	free(findings->none);
	free(findings);
}

const struct hp_findings *hp_findings_of(struct hp_report *report)
{
	static const struct hp_view_kind kind = { .free = findings_free };
	struct hp_findings *findings = hp_views_get(&report->views, &kind);
	struct hp_survey survey;

	if (findings)
		return findings;
	findings = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*findings)));
	hp_survey_init(&survey, report, findings);
	if (survey.wall_ns >= SHORT_NS)
		for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
			rules[i]->find(&survey);
	explained_drop(findings);
	all_rank(findings);
	state_set(&survey, findings);
	hp_owned_release(&survey);
	hp_survey_release(&survey);
	return findings;
}
