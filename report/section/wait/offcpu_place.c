/* SPDX-License-Identifier: MIT */
/*
 * offcpu_place.c - the function and the cause of a wait, from its stack.
 *
 * A wait belongs to the innermost instrumented function on its stack; if none is
 * instrumented, to the innermost function that is neither the C library's nor a
 * wrapper of its locks. The kernel's functions inside it reveal the cause.
 */
#include <string.h>

#include "report/name/name.h"
#include "report/name/wrapper.h"
#include "report/section/cpu/cpu.h"
#include "report/section/wait/offcpu.h"
#include "segment/layout/process.h"

/*
 * Parts of names of the kernel's functions; the innermost known one decides.  A `$` at the end of a
 * part is the end of the name: do_wait waits for a child, do_wait_intr for any event.
 */
struct cause {
	const char *part;
	const char *on;
};

static const char on_sleep[] = "sleep";

static const struct cause causes[] = {
	{ "futex", "lock" },
	{ "nanosleep", on_sleep },
	{ "ep_poll", "poll" },
	{ "epoll", "poll" },
	{ "poll_schedule", "poll" },
	{ "io_cqring_wait", "poll" },
	{ "do_sys_poll", "poll" },
	{ "do_select", "poll" },
	{ "pipe_", "pipe" },
	{ "fsync", "disk" },
	{ "sync_file", "disk" },
	{ "folio_wait", "disk" },
	{ "io_schedule", "disk" },
	{ "submit_bio", "disk" },
	{ "do_wait$", "child" },
	{ "wait4", "child" },
	{ "kernel_clone", "child" },
	{ "skb_wait", "socket" },
	{ "csk_accept", "socket" },
	{ "unix_accept", "socket" },
	{ "skb_recv", "socket" },
	{ "sock_", "socket" },
	{ "tcp_", "socket" },
	{ "unix_stream", "socket" },
	{ "page_fault", "memory" },
	{ "sigtimedwait", "signal" },
	{ "sys_pause", "signal" },
	{ "sigsuspend", "signal" },
	{ "ptrace", "debugger" },
	{ "do_signal_stop", HP_ON_STOP },
	{ "timerfd_read", "poll" },
	{ "eventfd_read", "poll" },
	{ "inotify_read", "poll" },
	{ "signalfd", "poll" },
	{ "stream_connect", "socket" },
};

static const struct hp_cpu_frame *frame_of(const struct hp_cpu *cpu, uint32_t stack)
{
	uint32_t count;
	const struct hp_cpu_frame *frames =
		hp_cpu_found(cpu, &cpu->places[cpu->of_stack[stack]], &count);

	return &frames[count - 1];
}

static bool is_kernel(const struct hp_report *report, uint32_t stack)
{
	uint32_t object = report->model.sampling.stacks[stack].object;

	return object != HP_NONE && report->model.objects[object].kind == HP_OBJECT_KERNEL;
}

static bool has_part(const char *name, const char *part)
{
	size_t length = strlen(part), whole = strlen(name);

	if (part[length - 1] != '$')
		return strstr(name, part) != NULL;
	length--;
	return whole >= length && strncmp(name + whole - length, part, length) == 0;
}

/* From the function's name, which does not change: 1 = no cause, else the cause's place + 2. */
static uint8_t cause_of(const struct hp_report *report, uint32_t stack)
{
	struct hp_cpu *cpu = hp_report_cpu(report);
	struct hp_cpu_function *f = &cpu->functions[frame_of(cpu, stack)->function];

	if (f->cause)
		return f->cause;
	f->cause = 1;
	for (size_t i = 0; f->cause == 1 && i < sizeof(causes) / sizeof(causes[0]); i++)
		if (has_part(f->name, causes[i].part))
			f->cause = (uint8_t)(i + 2);
	return f->cause;
}

bool hp_offcpu_is_libc(const struct hp_report *report, uint32_t object)
{
	static const char *const names[] = { "libc.so", "libc-", "libpthread", "ld-linux",
					     "libhotpath.so" };
	const char *path = object == HP_NONE ? "" : report->model.objects[object].path;
	const char *base = hp_name_file(path);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(base, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static bool is_ours(const struct hp_report *report, uint32_t object)
{
	return object != HP_NONE && report->model.objects[object].is_profiler;
}

/*
 * A poll without descriptors (preload/loop/hook_wait.c). The library's frames are next to the
 * kernel's, after those of the C library.
 */
static bool is_nap(const struct hp_report *report, uint32_t stack)
{
	static const char nap[] = "hp_nap_";
	const struct hp_cpu *cpu = hp_report_cpu(report);

	for (; stack; stack = report->model.sampling.stacks[stack].above) {
		uint32_t object = cpu->places[cpu->of_stack[stack]].object;

		if (is_kernel(report, stack))
			continue;
		if (!hp_offcpu_is_libc(report, object))
			return false;
		if (is_ours(report, object))
			return strncmp(cpu->functions[frame_of(cpu, stack)->function].name, nap,
				       strlen(nap)) == 0;
	}
	return false;
}

const char *hp_offcpu_cause(const struct hp_report *report, uint32_t stack)
{
	uint32_t whole = stack;

	for (; stack && is_kernel(report, stack);
	     stack = report->model.sampling.stacks[stack].parent) {
		uint8_t cause = cause_of(report, stack);

		if (cause <= 1)
			continue;
		if (strcmp(causes[cause - 2].on, "poll") == 0 && is_nap(report, whole))
			return on_sleep;
		return causes[cause - 2].on;
	}
	return "other";
}

/* Waits for the helper, to join its session and to end it. */
bool hp_offcpu_is_helper(const struct hp_report *report, uint32_t stack)
{
	static const char session[] = "hp_session_";
	const struct hp_cpu *cpu = hp_report_cpu(report);

	for (; stack; stack = report->model.sampling.stacks[stack].above) {
		uint32_t object = cpu->places[cpu->of_stack[stack]].object;
		const char *name = cpu->functions[frame_of(cpu, stack)->function].name;

		if (is_kernel(report, stack))
			continue;
		if (!hp_offcpu_is_libc(report, object))
			return false;
		if (is_ours(report, object) && strncmp(name, session, strlen(session)) == 0)
			return true;
	}
	return false;
}

/* The kernel's page of code works for its caller, like the C library. */
bool hp_offcpu_is_servant(const struct hp_report *report, uint32_t object)
{
	return hp_offcpu_is_libc(report, object) ||
	       (object != HP_NONE && report->model.objects[object].kind == HP_OBJECT_VDSO);
}

/* How well a function explains a wait. */
enum fit { UNFIT, LIBC, WRAPPER, OTHER, WHOLE };

static enum fit fit_find(const struct hp_report *report, uint32_t object,
			 const struct hp_cpu_function *f)
{
	if (report->has_functions && f->instrumented != HP_NONE)
		return WHOLE;
	if (hp_offcpu_is_servant(report, object))
		return LIBC;
	if (hp_wrapper_waits(f->name))
		return WRAPPER;
	return report->has_functions ? OTHER : WHOLE;
}

/* Each function is met in many stacks, and only its name and object decide. */
static enum fit fit_of(const struct hp_report *report, uint32_t object, struct hp_cpu_function *f)
{
	if (f->object != object)
		return fit_find(report, object, f);
	if (!f->fit)
		f->fit = (uint8_t)(1 + fit_find(report, object, f));
	return (enum fit)(f->fit - 1);
}

uint32_t hp_offcpu_function(const struct hp_report *report, uint32_t stack)
{
	struct hp_cpu *cpu = hp_report_cpu(report);
	uint32_t best = HP_NONE;
	enum fit found = UNFIT;

	for (; stack; stack = report->model.sampling.stacks[stack].parent) {
		const struct hp_cpu_place *place = &cpu->places[cpu->of_stack[stack]];

		if (is_kernel(report, stack))
			continue;
		for (uint32_t i = 0; i < place->count; i++) {
			uint32_t function = cpu->frames[place->first + i].function;
			enum fit fit = fit_of(report, place->object, &cpu->functions[function]);

			if (fit > found) {
				best = function;
				found = fit;
			}
			if (fit == WHOLE)
				return function;
		}
	}
	return best;
}
