/* SPDX-License-Identifier: MIT */
/*
 * text.c - stacks as text: equal ones once, most threads first, without frames
 * common to all programs.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/name/short.h"
#include "report/name/wrapper.h"
#include "report/stacks/stacks.h"

#define WAITS_SHOWN 3	/* of a group */
#define HOLDS_SHOWN 3	/* of a thread */
#define CYCLE_MAX 6	/* most functions in a recursion cycle */
#define INDENT 4	/* columns */
#define TAIL 2	/* outer lines of a stack truncated for the screen */

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

/* --- whose stacks --- */

static const struct hp_taken *thread_at(const struct hp_stacks *stacks,
					const struct hp_stack_group *group, size_t i)
{
	return &stacks->take.threads[group->threads[i]];
}

/* Number of threads from `first` on with one name and consecutive numbers. */
static size_t run_length(const struct hp_stacks *stacks, const struct hp_stack_group *group,
			 size_t first)
{
	const struct hp_taken *from = thread_at(stacks, group, first);
	size_t length = 1;

	while (first + length < group->count) {
		const struct hp_taken *next = thread_at(stacks, group, first + length);

		if (next->tid != from->tid + (pid_t)length || strcmp(next->name, from->name) != 0)
			break;
		length++;
	}
	return length;
}

/* "worker 17-24, writer 30 and 5 more", in at most `width` columns or one name. */
static char *names_text(const struct hp_stacks *stacks, const struct hp_stack_group *group,
			size_t width)
{
	char *text = hp_xstrdup("");
	size_t i = 0;

	while (i < group->count) {
		size_t length = run_length(stacks, group, i);
		const struct hp_taken *from = thread_at(stacks, group, i);
		char *name = hp_text_clean(from->name), *longer;

		longer = length > 1 ? hp_xprintf("%s%s%s %d-%d", text, i ? ", " : "", name,
						 (int)from->tid, (int)from->tid + (int)length - 1)
				    : hp_xprintf("%s%s%s %d", text, i ? ", " : "", name,
						 (int)from->tid);
		free(name);
		if (i && hp_text_width(longer) + 12 > width) {
			free(longer);
			longer = hp_xprintf("%s and %zu more", text, group->count - i);
			length = group->count - i;
		}
		free(text);
		text = longer;
		i += length;
	}
	return text;
}

static size_t in_state(const struct hp_stacks *stacks, const struct hp_stack_group *group,
		       char state)
{
	size_t count = 0;

	for (size_t i = 0; i < group->count; i++)
		count += thread_at(stacks, group, i)->state == state;
	return count;
}

static void group_head(const struct hp_stacks *stacks, const struct hp_stack_group *group,
		       const struct hp_stacks_look *look, FILE *out)
{
	size_t running = in_state(stacks, group, 'R'), stopped = in_state(stacks, group, 'T');
	char *state = running == group->count && group->count == 1 ? hp_xstrdup(", running")
		      : running == group->count			   ? hp_xstrdup(", all running")
		      : running ? hp_xprintf(", %zu running", running)
		      : stopped ? hp_xstrdup(", stopped")
				: hp_xstrdup("");
	char *names = names_text(stacks, group, look->width - 16 - strlen(state));

	fprintf(out, "\n%zu thread%s: %s%s\n", group->count, plural(group->count), names, state);
	free(names);
	free(state);
}

/* --- recorded data --- */

/* The stack does not show a wait that began later. */
static const struct hp_stack_known_thread *recorded_of(const struct hp_stacks *stacks,
						       const struct hp_taken *thread)
{
	return stacks->recorded ? hp_stack_known_thread(stacks->recorded, (uint32_t)thread->tid)
				: NULL;
}

bool hp_stacks_is_waiting(const struct hp_stacks *stacks, const struct hp_taken *thread)
{
	const struct hp_stack_known_thread *recorded = recorded_of(stacks, thread);
	uint64_t now = stacks->recorded ? hp_stack_known_ns(stacks->recorded) : 0;

	if (!recorded || !recorded->is_waiting)
		return false;
	return !thread->taken_ns || now <= thread->taken_ns ||
	       recorded->wait.since_ns >= now - thread->taken_ns;
}

static const char *name_of(const struct hp_stacks *stacks, uint32_t tid)
{
	for (size_t i = 0; i < stacks->take.count; i++)
		if ((uint32_t)stacks->take.threads[i].tid == tid)
			return stacks->take.threads[i].name;
	return "";
}

static void wait_write(const struct hp_stacks *stacks, uint32_t tid,
		       const struct hp_stack_known_wait *wait, FILE *out)
{
	char *name = hp_text_clean(wait->holder ? name_of(stacks, wait->holder) : "");
	char *at = hp_name_display_path(wait->holder_at ? wait->holder_at : "", 0);
	struct hp_text_cell cell;

	fprintf(out, "  %u waits for %s %s", tid, wait->kind, wait->object);
	fprintf(out, " since %s", hp_format_time(&cell, (double)wait->since_ns));
	if (wait->holder && wait->holder_at)
		fprintf(out, "; held by %u%s%s, got at %s", wait->holder, *name ? " " : "", name,
			at);
	else if (wait->holder)
		fprintf(out, "; last used by %u%s%s", wait->holder, *name ? " " : "", name);
	putc('\n', out);
	free(name);
	free(at);
}

static void holds_write(const struct hp_stack_known_thread *thread, FILE *out)
{
	struct hp_text_cell cell;

	for (size_t i = 0; i < thread->hold_count && i < HOLDS_SHOWN; i++) {
		const struct hp_stack_known_hold *hold = &thread->holds[i];
		char *at = hp_name_display_path(hold->at, 0);

		fprintf(out, "  %u holds %s %s, got at %s", thread->tid, hold->kind, hold->object,
			at);
		free(at);
		if (hold->since_ns)
			fprintf(out, ", since %s", hp_format_time(&cell, (double)hold->since_ns));
		putc('\n', out);
	}
	if (thread->hold_count > HOLDS_SHOWN)
		fprintf(out, "  %u holds %zu more\n", thread->tid,
			thread->hold_count - HOLDS_SHOWN);
}

static int compare_waits(const void *left, const void *right)
{
	const struct hp_stack_known_thread *a = *(const struct hp_stack_known_thread *const *)left;
	const struct hp_stack_known_thread *b = *(const struct hp_stack_known_thread *const *)right;

	if (a->wait.since_ns != b->wait.since_ns)
		return a->wait.since_ns > b->wait.since_ns ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* The longest waits of a group, and the locks its threads hold. */
static void group_recorded(const struct hp_stacks *stacks, const struct hp_stack_group *group,
			   FILE *out)
{
	const struct hp_stack_known_thread **waits = hp_xcalloc(group->count, sizeof(*waits));
	size_t count = 0, holders = 0;

	for (size_t i = 0; i < group->count; i++)
		if (hp_stacks_is_waiting(stacks, thread_at(stacks, group, i)))
			waits[count++] = recorded_of(stacks, thread_at(stacks, group, i));
	if (count)
		qsort(waits, count, sizeof(*waits), compare_waits);
	for (size_t i = 0; i < count && i < WAITS_SHOWN; i++)
		wait_write(stacks, waits[i]->tid, &waits[i]->wait, out);
	if (count > WAITS_SHOWN)
		fprintf(out, "  %zu more wait, for a shorter time\n", count - WAITS_SHOWN);
	free(waits);
	for (size_t i = 0; i < group->count && holders < WAITS_SHOWN; i++) {
		const struct hp_stack_known_thread *thread =
			recorded_of(stacks, thread_at(stacks, group, i));

		if (thread && thread->hold_count) {
			holds_write(thread, out);
			holders++;
		}
	}
}

/* --- lines --- */

static bool is_hidden(const char *function)
{
	static const char *const names[] = { "_start", "execute_native_thread_routine",
					     "__clone_internal", "thread_start", "__GI___clone*" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (hp_wrapper_matches(names[i], strlen(names[i]), function))
			return true;
	return hp_wrapper_is_plumbing(function) ||
	       (hp_wrapper_is_outermost(function) && strcmp(function, "main") != 0);
}

/* Displayed lines: without the frames that every thread starts with. */
static size_t shown_count(const struct hp_stack_group *group, const struct hp_stacks_look *look)
{
	size_t count = group->line_count;

	if (!look->lines_most)
		return count;
	while (count > 1 && is_hidden(group->lines[count - 1].function))
		count--;
	return count;
}

/* Its source location, else its file; fresh. */
static char *place_text(const struct hp_stacks *stacks, const struct hp_stack_group *group,
			const struct hp_stack_line *line)
{
	const struct hp_stack_frame *frame = &hp_stacks_first(stacks, group)->frames[line->frame];
	const struct hp_stack_object *object = hp_stacks_object(stacks, frame);

	if (line->file && line->line)
		return hp_xprintf("%s:%d", hp_name_file(line->file), line->line);
	if (frame->is_signal)
		return hp_xstrdup("a signal handler's frame");
	if (!object)
		return hp_xstrdup("JIT code");
	return hp_text_clean(hp_name_file(object->path));
}

static void line_write(const struct hp_stacks *stacks, const struct hp_stack_group *group, size_t i,
		       const struct hp_stacks_look *look, FILE *out)
{
	const struct hp_stack_line *line = &group->lines[i];
	char *place = place_text(stacks, group, line), *whole, *name;
	const char *mark = line->is_inlined ? " (inlined)" : "";
	size_t taken = INDENT + 2 + hp_text_width(place) + strlen(mark);
	size_t room = look->width > taken + 20 ? look->width - taken : 20, width;

	whole = hp_name_short(line->function, 0);
	name = hp_name_fit(whole, room);
	width = hp_text_width(name) + strlen(mark);
	fprintf(out, "%*s%s%s%*s  %s\n", INDENT, "", name, mark, width < 40 ? (int)(40 - width) : 0,
		"", place);
	free(whole);
	free(name);
	free(place);
}

/* How often the `length` functions from `at` on repeat. */
static size_t repeats(const struct hp_stack_group *group, size_t at, size_t length, size_t end)
{
	size_t count = 1;

	while (at + (count + 1) * length <= end) {
		for (size_t i = 0; i < length; i++)
			if (strcmp(group->lines[at + i].function,
				   group->lines[at + count * length + i].function) != 0)
				return count;
		count++;
	}
	return count;
}

/* Recursion from `at` on: *length functions that repeat this often; 1 = none. */
static size_t recursion(const struct hp_stack_group *group, size_t at, size_t end, size_t *length)
{
	for (*length = 1; *length <= CYCLE_MAX; ++*length) {
		size_t count = repeats(group, at, *length, end);

		if (count > 3 || (count == 3 && *length > 1))
			return count;
	}
	*length = 1;
	return 1;
}

/* Lines from `at` up to `end`, each recursion cycle once. */
static void lines_write(const struct hp_stacks *stacks, const struct hp_stack_group *group,
			size_t end, const struct hp_stacks_look *look, FILE *out)
{
	size_t written = 0, at = 0, most = look->lines_most;

	while (at < end) {
		size_t length = 1, count = most ? recursion(group, at, end, &length) : 1;

		if (most && written + length > most - TAIL && end - at > TAIL &&
		    count * length < end - at) {
			fprintf(out, "%*s... %zu more\n", INDENT, "", end - at - TAIL);
			at = end - TAIL;
			most = 0;
			continue;
		}
		for (size_t i = 0; i < length; i++)
			line_write(stacks, group, at + i, look, out);
		if (count > 1)
			fprintf(out, "%*s... %s%zu time%s more\n", INDENT, "",
				length > 1 ? "these functions " : "", count - 1, plural(count - 1));
		written += length + (count > 1);
		at += length * count;
	}
}

/* Only the innermost function of the part shared with the group above is repeated. */
static void group_lines(const struct hp_stacks *stacks, const struct hp_stack_group *group,
			const struct hp_stacks_look *look, FILE *out)
{
	size_t shown = shown_count(group, look), hidden = group->line_count - shown;
	size_t common = group->common > hidden ? group->common - hidden : 0;

	if (!look->lines_most || common < 2 || common >= shown)
		common = 0;
	if (!shown)
		fprintf(out, "%*s(its stack cannot be read)\n", INDENT, "");
	lines_write(stacks, group, shown - common, look, out);
	if (common) {
		line_write(stacks, group, shown - common, look, out);
		if (common > 1)
			fprintf(out, "%*s... %zu more as above\n", INDENT, "", common - 1);
	}
}

static const char *end_text(enum hp_stack_end end)
{
	switch (end) {
	case HP_STACK_CUT:
		return "the outer part was not copied";
	case HP_STACK_LOST:
		return "the caller is unknown from here on";
	case HP_STACK_DEEP:
		return "the outer part is omitted";
	default:
		return NULL;
	}
}

/* --- all --- */

static void head_write(const struct hp_stacks *stacks, FILE *out)
{
	char *name = hp_text_clean(stacks->process.comm);
	struct hp_text_cell median, longest;

	fprintf(out, "%s, pid %d: %zu thread%s", name, (int)stacks->process.pid, stacks->taken,
		plural(stacks->taken));
	if (stacks->taken > 1)
		fprintf(out,
			", %zu different stack%s; each was stopped for %s (median), %s at most",
			stacks->group_count, plural(stacks->group_count),
			hp_format_time(&median, (double)stacks->still_median_ns),
			hp_format_time(&longest, (double)stacks->still_longest_ns));
	else if (stacks->taken)
		fprintf(out, "; it was stopped for %s",
			hp_format_time(&median, (double)stacks->still_median_ns));
	putc('\n', out);
	free(name);
}

static void missing_write(const struct hp_stacks *stacks, FILE *out)
{
	for (size_t i = 0, told = 0; i < stacks->take.count && stacks->busy; i++) {
		const struct hp_taken *thread = &stacks->take.threads[i];
		char *name;

		if (thread->outcome != HP_STOP_BUSY || ++told > WAITS_SHOWN)
			continue;
		name = hp_text_clean(thread->name);
		fprintf(out, "\n%s %d is in the kernel and cannot be stopped (state %c)\n", name,
			(int)thread->tid, thread->state ? thread->state : '?');
		free(name);
	}
	if (stacks->busy > WAITS_SHOWN)
		fprintf(out, "%zu more threads cannot be stopped\n", stacks->busy - WAITS_SHOWN);
	if (stacks->refused)
		fprintf(out, "\nno permission to inspect %zu thread%s\n", stacks->refused,
			plural(stacks->refused));
}

void hp_stacks_write(struct hp_stacks *stacks, const struct hp_stacks_look *look, FILE *out)
{
	size_t most = look->groups_most ? look->groups_most : stacks->group_count, left = 0;

	head_write(stacks, out);
	if (stacks->recorded)
		hp_stack_known_deadlocks(stacks->recorded, out);
	for (size_t i = 0; i < stacks->group_count; i++) {
		const struct hp_stack_group *group = &stacks->groups[i];
		const char *end = end_text(hp_stacks_first(stacks, group)->end);

		if (i >= most) {
			left += group->count;
			continue;
		}
		group_head(stacks, group, look, out);
		group_recorded(stacks, group, out);
		group_lines(stacks, group, look, out);
		if (end)
			fprintf(out, "%*s(%s)\n", INDENT, "", end);
	}
	if (left)
		fprintf(out, "\n%zu more thread%s in %zu more stack%s; hotpath stacks --all %d\n",
			left, plural(left), stacks->group_count - most,
			plural(stacks->group_count - most), (int)stacks->process.pid);
	missing_write(stacks, out);
}

void hp_stacks_write_recorded(const struct hp_stacks *stacks, FILE *out)
{
	size_t count;
	const struct hp_stack_known_thread *threads =
		hp_stack_known_threads(stacks->recorded, &count);

	hp_stack_known_deadlocks(stacks->recorded, out);
	for (size_t i = 0; i < count; i++) {
		if (threads[i].is_waiting) {
			wait_write(stacks, threads[i].tid, &threads[i].wait, out);
			fprintf(out, "%*sat %s\n", INDENT, "", threads[i].wait.path);
		}
		holds_write(&threads[i], out);
	}
	if (!count)
		fputs("no thread waits for a lock or a channel, and none holds one\n", out);
}
