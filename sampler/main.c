/* SPDX-License-Identifier: MIT */
/*
 * main.c - hotpath-sampler: the process that outlives the target.
 *
 * Folder: sampler - the helper process of a session: waits for events and
 *   dispatches them
 * May use: sampler/session segment
 *
 * Started by the first library of a session or by `hotpath run`, with the
 * segment as descriptor 3, the session's socket as 4, the root's stderr as 2.
 * It sleeps until
 *
 *   the socket    a new image of the session asks for the segment
 *   a pidfd       a member ended
 *   the end word the root exits and requests the report; a futex, since the
 *                 root may only use that and stores. A thread waits on it and
 *                 passes it on through an eventfd
 *   the report    `hotpath report` says that it is done, or has ended
 *   a ring        samples must be read
 *   a port        a client wants live figures: their server is started
 *   the time      for the next scan of the threads, at most 4 times a second;
 *                 for the end of the program, if HOTPATH_SHUTDOWN_MS asks for it
 *   SIGTERM       a request to end: see sampler/session/term.h
 *
 * Separate threads scan held locks (sampler/session/look.h), woken by a futex.
 *
 * Each of these may be refused. Then it is polled every 20 ms instead, so that
 * an ended program leaves nothing behind.
 *
 * The report is started when the root ends.  Then the sampler continues,
 * without the root's stderr, until the last member is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/session/deadline.h"
#include "sampler/session/door.h"
#include "sampler/session/end.h"
#include "sampler/session/look.h"
#include "sampler/session/member.h"
#include "sampler/session/perf.h"
#include "sampler/session/perf_burst.h"
#include "sampler/session/port.h"
#include "sampler/session/samply.h"
#include "sampler/session/term.h"
#include "sampler/session/cpu_timer.h"
#include "sampler/session/watch.h"
#include "segment/clock.h"
#include "segment/guard.h"
#include "segment/session.h"
#include "segment/setting.h"
#include "segment/section_key.h"

/* Data of the epoll: pids of members are below. */
#define EVENT_SOCKET (UINT64_C(1) << 40)
#define EVENT_END_WORD (UINT64_C(2) << 40)
#define EVENT_REPORT (UINT64_C(3) << 40)
#define EVENT_RING (UINT64_C(4) << 40)
#define EVENT_TOLD (UINT64_C(5) << 40)
#define EVENT_KNOCK (UINT64_C(16) << 40)
#define EVENT_SERVER (UINT64_C(17) << 40)

#define NOTE_CLOCK_NS UINT64_C(1000000000)
#define SCAN_AGAIN_NS UINT64_C(20000000)
#define SCAN_SHARE 20	/* of all time, additional scans may take one part in so many */
#define MEET_NS UINT64_C(250000000)
#define SAMPLE_DELAY_NS UINT64_C(5000000)	/* until the CPU is sampled without a request */
#define SUSPENSION_NS INT64_C(1000000)	/* shorter is no suspension, but the clocks' grain */
#define ALONE_NS UINT64_C(200000000)	/* between checks for the end of the session */
#define FALLBACK_MS 20	/* between checks of things that do not wake us */
#define STACK_SIZE (128 << 10)

enum root_state { ROOT_RUNS, ROOT_ENDED, ROOT_REPORTED };

struct sampler {
	struct hp_segment segment;
	struct hp_begin begin;
	struct hp_settings settings;
	char default_values[HP_DEFAULTS_MAX];	/* words of the program's defaults */
	struct hp_members members;
	struct hp_watcher watcher;
	struct hp_perf perf;
	struct hp_ticks ticks;
	struct hp_samply samply;
	struct hp_door door;
	struct hp_end end;
	struct hp_deadline deadline;
	struct hp_looker looker;
	struct hp_server server;
	enum root_state root;
	_Atomic bool has_thread;	/* that wakes us when an end word changes; it signals that itself */
	uint32_t awaited;	/* segments whose end words have one */
	bool is_blind;	/* epoll_wait is refused */
	int epoll;
	int end_event;
	int report_pidfd;
	uint64_t look_ns;	/* when the next one is due */
	uint64_t noted_ns;	/* when the clock was noted */
	uint64_t met_ns;	/* when new processes were last searched for */
	uint64_t scan_ns;	/* when the records must be checked again; 0 = at the next scan */
	uint64_t calm_ns;	/* not before this */
	uint64_t sample_ns;	/* when sampling begins; 0 = it has begun, or never will */
	uint64_t reported_ticks;	/* when the report was started */
	uint64_t asked_ns;	/* when the kernel was last queried for users of the segment */
	int64_t suspended_ns;	/* suspended_most() at the start */
};

static struct sampler the_sampler;	/* threads have a segment for their argument */

extern char **environ;

/* ---- start ---- */

/*
 * The kernel writes HP_SAMPLER_DIED over our pid in the segment when this
 * thread ends, even by SIGKILL: it treats the word as a robust mutex that we
 * hold. So a waiting target notices without a system call that a seccomp
 * filter could refuse.
 */
static void announce(struct hp_header *header)
{
	static struct {
		void *next;
	} lock;
	static struct {
		void *list;
		long offset;
		void *pending;
	} head;

	atomic_store(&header->sampler_pid, (uint32_t)getpid());
	lock.next = &head;
	head.list = &lock;
	head.offset = (long)((uintptr_t)&header->sampler_pid - (uintptr_t)&lock);
	syscall(SYS_set_robust_list, &head, sizeof(head));
}

static void *wait_for_end(void *argument)
{
	struct sampler *sampler = &the_sampler;
	const struct hp_segment *segment = argument;
	_Atomic uint32_t *word = &segment->header->end_word;

	while (atomic_load_explicit(word, memory_order_acquire) == HP_END_RUNNING) {
		if (hp_segment_is_bounded(segment) ||
		    (segment == &sampler->segment && hp_server_is_asked(segment)))
			eventfd_write(sampler->end_event, 1);
		if (syscall(SYS_futex, word, FUTEX_WAIT, HP_END_RUNNING, NULL, NULL, 0) < 0 &&
		    errno != EAGAIN && errno != EINTR) {
			atomic_store(&sampler->has_thread, false);
			break;
		}
	}
	eventfd_write(sampler->end_event, 1);
	hp_end_step_aside(&sampler->end);
	return NULL;
}

static bool start_thread(struct hp_segment *segment)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	int error = pthread_create(&thread, &attributes, wait_for_end, segment);
	pthread_attr_destroy(&attributes);
	return error == 0;
}

/* A segment for another level may be added at any time. */
static void start_threads(struct sampler *sampler)
{
	const struct hp_segments *segments = &sampler->members.segments;

	for (; atomic_load(&sampler->has_thread) && sampler->awaited < segments->count;
	     sampler->awaited++)
		if (!start_thread(segments->at[sampler->awaited]))
			atomic_store(&sampler->has_thread, false);
}

static bool watch_fd(const struct sampler *sampler, int fd, uint64_t data)
{
	struct epoll_event event = { .events = EPOLLIN, .data = { .u64 = data } };

	return epoll_ctl(sampler->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* 0 = the signal could not be queued. */
static uint32_t root_told(void)
{
	static const struct timespec now;
	siginfo_t info;
	sigset_t told;

	sigemptyset(&told);
	sigaddset(&told, HP_ROOT_SIGNAL);
	return sigtimedwait(&told, &info, &now) > 0 && info.si_code == SI_QUEUE
		       ? (uint32_t)info.si_value.sival_int
		       : 0;
}

/* One that is gone, or cannot be asked for, may be one. */
static bool is_child_of_runner(const struct sampler *sampler, uint32_t pid)
{
	struct hp_level level;
	uint32_t parent;

	return !hp_level_read(&level, pid, &parent) || parent == sampler->begin.runner_pid;
}

/*
 * `hotpath run` starts us before the root, which then tells us its pid and stores it.  Any process
 * that may write the number, or send us a signal, can name another process: only a child of the
 * runner is accepted.
 */
static bool wait_for_root(struct sampler *sampler)
{
	struct hp_header *header = sampler->segment.header;
	char text[HP_BEGIN_TEXT];
	uint32_t told;

	while (!(sampler->begin.root_pid = *(volatile uint32_t *)&header->root_pid)) {
		if (getppid() != (pid_t)sampler->begin.runner_pid || hp_term_is_asked())
			return false;
		hp_end_wait(&header->root_pid, 0, 100000000);
	}
	told = root_told();
	if (told && is_child_of_runner(sampler, told))
		sampler->begin.root_pid = told;
	else if (!is_child_of_runner(sampler, sampler->begin.root_pid))
		return false;
	/* The report gets it through the environment, too. */
	hp_begin_text(&sampler->begin, text);
	setenv(HP_BEGIN_VARIABLE, text, 1);
	return true;
}

/* Only settings that we started with: members can write the segment. */
static void settings_read(struct sampler *sampler)
{
	const char *defaults = getenv(HP_DEFAULTS_VARIABLE);

	if (!hp_begin_read(&sampler->begin, getenv(HP_BEGIN_VARIABLE)))
		sampler->begin = hp_begin_of(sampler->segment.header);
	hp_settings_read(&sampler->settings, environ, NULL, NULL);
	hp_settings_default(&sampler->settings, HP_SETTINGS_OF_PROGRAM, defaults ? defaults : "",
			    sampler->default_values, NULL, NULL);
}

static int64_t reading_ns(clockid_t clock)
{
	struct timespec time;

	if (clock_gettime(clock, &time) != 0)
		return 0;
	return (int64_t)time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/*
 * How long the machine has been suspended since it was booted, ns. The helper may lose its
 * processor between two readings, so their order makes the result at most or at least this.
 */
static int64_t suspended_most(void)
{
	int64_t without = reading_ns(CLOCK_MONOTONIC);

	return reading_ns(CLOCK_BOOTTIME) - without;
}

static int64_t suspended_least(void)
{
	int64_t with = reading_ns(CLOCK_BOOTTIME);

	return with - reading_ns(CLOCK_MONOTONIC);
}

static void cores_note(const struct hp_segment *segment)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	/* Relaxed: readers look once the report has begun. */
	atomic_store_explicit(&hp_segment_recorded_at(segment)->cores,
			      cores > 0 ? (uint32_t)cores : 0, memory_order_relaxed);
}

/* True if it is requested by its name. */
static bool sampler_init(struct sampler *sampler)
{
	/* The rest is zero, and most of it untouched: each page would be a page fault. */
	sampler->report_pidfd = -1;
	sampler->suspended_ns = suspended_most();
	if (hp_segment_attach(&sampler->segment, HP_SAMPLER_SEGMENT_FD) < 0)
		return false;
	announce(sampler->segment.header);
	cores_note(&sampler->segment);
	settings_read(sampler);
	sampler->epoll = epoll_create1(EPOLL_CLOEXEC);
	sampler->end_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	hp_door_init(&sampler->door, sampler->epoll, EVENT_SOCKET);
	sampler->has_thread = watch_fd(sampler, sampler->end_event, EVENT_END_WORD);
	hp_members_init(&sampler->members, &sampler->segment, sampler->epoll);
	hp_watcher_init(&sampler->watcher, &sampler->segment, &sampler->members,
			(uint32_t)sampler->settings.threads_interval_ms,
			(struct hp_watch_wish){
				.rows = hp_settings_asks_threads(&sampler->settings),
				.sums = hp_settings_asks(&sampler->settings, HP_KEY_FUNCTIONS_CPU),
			});
	hp_perf_init(&sampler->perf, &sampler->segment, &sampler->settings, &sampler->members,
		     (struct hp_perf_wish){
			     .samples =
				     hp_settings_asks(&sampler->settings, HP_KEY_FUNCTIONS_CPU) ||
				     hp_settings_names(&sampler->settings, HP_KEY_BOUND),
			     .waits = hp_settings_asks(&sampler->settings, HP_KEY_OFFCPU) ||
				      hp_settings_names(&sampler->settings, HP_KEY_BOUND) ||
				      hp_settings_names(&sampler->settings, HP_KEY_THREAD_STATES),
		     });
	if (sampler->perf.record)
		sampler->watcher.sampling =
			hp_segment_offset(&sampler->segment, sampler->perf.record);
	hp_ticks_init(&sampler->ticks, &sampler->perf);
	hp_end_init(&sampler->end, &sampler->members.segments);
	return sampler->epoll >= 0;
}

/* ---- the root's end ---- */

static bool is_root(const struct sampler *sampler, uint32_t pid)
{
	return pid == sampler->members.root_pid;
}

/*
 * It asks in the segment that it writes: in the others any process can set the word, and a root
 * that dropped rights has another level than before.
 */
static bool has_root_asked(const struct sampler *sampler)
{
	const struct hp_members *members = &sampler->members;

	if (sampler->root != ROOT_RUNS)
		return false;
	for (uint32_t i = 0; i < members->segments.count; i++)
		if (members->segments.at[i]->header->end_word >= HP_END_ASKED &&
		    hp_members_is_of_level(members, members->root_pid, i))
			return true;
	return false;
}

/* Records that looked dead once are checked again a moment later. */
static void scan_to_the_end(struct sampler *sampler)
{
	hp_members_scan(&sampler->members);
	if (sampler->members.suspected) {
		usleep(2000);
		hp_members_scan(&sampler->members);
	}
}

static bool is_relative(const char *path)
{
	return path && path[0] && path[0] != '/';
}

/* If processes outlive the root, another report follows, with the same paths. */
static bool needs_folder(const struct hp_settings *settings)
{
	return settings->output_path || is_relative(getenv("HOTPATH_BIN")) ||
	       (is_relative(settings->profile_dir) && strcmp(settings->profile_dir, "off") != 0);
}

static void report_is_done(struct sampler *sampler)
{
	sampler->root = ROOT_REPORTED;
	hp_end_let_go();
	sampler->members.keep_root = false;
	if (!needs_folder(&sampler->settings))
		(void)!chdir("/");
	scan_to_the_end(sampler);
	sampler->asked_ns = 0;
}

/* The report is read now or later. */
static bool is_wanted(const struct hp_settings *settings)
{
	return settings->format != HP_FORMAT_NONE || settings->keep;
}

/* Output of processes that outlive the root goes to a file as well. */
static bool is_wanted_again(const struct hp_settings *settings)
{
	return settings->keep || (settings->format != HP_FORMAT_NONE && settings->output_path);
}

static void report_unwatch(struct sampler *sampler)
{
	if (sampler->report_pidfd >= 0)
		close(sampler->report_pidfd);
	sampler->report_pidfd = -1;
}

/* It is done, or its process has ended. */
static void report_ended(struct sampler *sampler)
{
	if (sampler->root != ROOT_ENDED)
		return;
	hp_end_finish(&sampler->end);
	if (!sampler->end.behind)
		report_unwatch(sampler);
	report_is_done(sampler);
}

static void report_watch(struct sampler *sampler)
{
	if (sampler->end.heard >= 0)
		watch_fd(sampler, sampler->end.heard, EVENT_TOLD);
	sampler->report_pidfd = (int)syscall(SYS_pidfd_open, sampler->end.report, 0);
	if (sampler->report_pidfd >= 0 && watch_fd(sampler, sampler->report_pidfd, EVENT_REPORT))
		return;
	report_ended(
		sampler);	/* an old kernel, or no room: joining processes wait until a timeout */
}

static void report_process_ended(struct sampler *sampler)
{
	if (sampler->end.behind) {
		report_unwatch(sampler);
		hp_end_reap(&sampler->end);
	} else if (sampler->root == ROOT_ENDED && hp_end_replace(&sampler->end)) {
		report_unwatch(sampler);
		report_watch(sampler);
	} else {
		report_ended(sampler);
	}
}

static void report_if_late(struct sampler *sampler, uint64_t now)
{
	if (!hp_end_is_late(&sampler->end, now))
		return;
	if (hp_end_hear(&sampler->end)) {
		report_ended(sampler);
		return;
	}
	report_unwatch(sampler);
	if (hp_end_retry(&sampler->end))
		report_watch(sampler);
	else
		report_is_done(sampler);
}

/* Members that continue without the root. */
static bool has_others(const struct sampler *sampler)
{
	const struct hp_members *members = &sampler->members;

	return members->count > (hp_members_find(members, members->root_pid) ? 1 : 0);
}

static void note_suspension(const struct sampler *sampler)
{
	int64_t ns = suspended_least() - sampler->suspended_ns;

	if (ns > SUSPENSION_NS)
		atomic_store_explicit(&hp_segment_recorded_at(&sampler->segment)->suspended_ns,
				      (uint64_t)ns, memory_order_relaxed);
}

/* The cost of profiling outside the program: stored at each scan, and before the report. */
static void note_own_cpu(const struct sampler *sampler)
{
	struct hp_recorded *recorded = hp_segment_recorded_at(&sampler->segment);
	struct timespec time;

	note_suspension(sampler);
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0)
		atomic_store_explicit(&recorded->helper_cpu_ns,
				      (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec,
				      memory_order_relaxed);
}

static void root_ends(struct sampler *sampler, int root_pidfd, bool is_dead)
{
	struct hp_header *header = sampler->segment.header;

	if (sampler->root != ROOT_RUNS)
		return;
	sampler->root = ROOT_ENDED;
	hp_term_root_ended();
	scan_to_the_end(sampler);
	if (!has_others(sampler))
		hp_server_pause(&sampler->server);
	hp_watcher_look(&sampler->watcher);
	hp_perf_finish(&sampler->perf);
	/* The report must not inherit short time slices. */
	hp_perf_burst_hurry(&sampler->perf, false);
	hp_ticks_finish(&sampler->ticks);
	hp_samply_finish(&sampler->samply);
	note_own_cpu(sampler);
	hp_clock_note(header);
	sampler->reported_ticks = header->last.ticks;
	/* Under a runner the root waits for no more than this. */
	hp_end_tell(&sampler->end, HP_REPORT_STARTED);
	if (is_wanted(&sampler->settings))
		hp_end_prepare_late(&sampler->end);
	hp_end_status(&sampler->end, root_pidfd, is_dead);
	if (!hp_end_start(&sampler->end, is_wanted(&sampler->settings))) {
		report_is_done(sampler);
		return;
	}
	if (!has_others(sampler) && !sampler->members.suspected)
		hp_perf_leave(&sampler->perf);	/* while the report is made */
	report_watch(sampler);
}

/* Another scan so soon, or after a long one, later. */
static void scan_after(struct sampler *sampler, uint64_t ns)
{
	uint64_t due_ns = hp_clock_raw_ns() + ns;

	sampler->scan_ns = due_ns > sampler->calm_ns ? due_ns : sampler->calm_ns;
}

static void member_ended(void *context, uint32_t pid)
{
	struct sampler *sampler = context;
	const struct hp_member *member = hp_members_find(&sampler->members, pid);
	int pidfd = -1;

	if (!member)
		return;
	if (is_root(sampler, pid) && sampler->root == ROOT_RUNS)
		pidfd = fcntl(member->pidfd, F_DUPFD_CLOEXEC, 0);
	hp_members_remove(&sampler->members, pid);
	if (!sampler->scan_ns)
		scan_after(sampler, SCAN_AGAIN_NS);
	if (is_root(sampler, pid))
		root_ends(sampler, pidfd, true);
	if (pidfd >= 0)
		close(pidfd);
}

/* ---- the loop ---- */

static bool is_bounded(const struct sampler *sampler)
{
	const struct hp_segments *segments = &sampler->members.segments;

	for (uint32_t i = 0; i < segments->count; i++)
		if (hp_segment_is_bounded(segments->at[i]))
			return true;
	return false;
}

/* The server must not inherit short time slices. */
static void knock(struct sampler *sampler)
{
	bool is_in_hurry = sampler->perf.burst.is_in_hurry;

	hp_perf_burst_hurry(&sampler->perf, false);
	hp_server_knock(&sampler->server);
	hp_perf_burst_hurry(&sampler->perf, is_in_hurry);
}

static void handle(struct sampler *sampler, uint64_t data)
{
	eventfd_t count;

	switch (data) {
	case EVENT_SOCKET:
		hp_door_answer(&sampler->door, &sampler->members);
		break;
	case EVENT_END_WORD:
		eventfd_read(sampler->end_event, &count);
		if (has_root_asked(sampler))
			root_ends(sampler, -1, false);
		else if (is_bounded(sampler))
			scan_after(sampler, 0);
		break;	/* otherwise a port is requested, which is handled anyway */
	case EVENT_REPORT:
		report_process_ended(sampler);
		break;
	case EVENT_TOLD:
		if (hp_end_hear(&sampler->end))
			report_ended(sampler);
		break;
	case EVENT_RING:	/* with everything that is due */
		break;
	case EVENT_KNOCK:
		knock(sampler);
		break;
	case EVENT_SERVER:
		hp_server_ended(&sampler->server);
		break;
	default:
		member_ended(sampler, (uint32_t)data);
	}
}

/*
 * While many short processes come and go, their records are freed soon, so that
 * the next ones need none of their own. New ones are examined less often.
 */
static void scan(struct sampler *sampler, bool meets)
{
	uint64_t begin_ns = hp_clock_raw_ns(), end_ns;
	bool is_soon = false;

	if (meets) {
		sampler->met_ns = begin_ns;
		hp_door_look(&sampler->door, &sampler->members);
		hp_members_scan(&sampler->members);
	} else {
		hp_members_scan_ended(&sampler->members);
	}
	for (uint32_t i = 0; i < sampler->members.segments.count; i++)
		is_soon |= hp_segment_widen(sampler->members.segments.at[i], hp_member_is_gone);
	/* The end of a process that has been met is signalled. */
	is_soon = (is_soon && !meets) || sampler->members.suspected;
	end_ns = hp_clock_raw_ns();
	sampler->calm_ns = end_ns + (end_ns - begin_ns) * SCAN_SHARE;
	sampler->scan_ns = 0;
	if (is_soon)
		scan_after(sampler, SCAN_AGAIN_NS);
}

static void look(struct sampler *sampler)
{
	uint32_t wait_ms = (uint32_t)sampler->settings.threads_interval_ms;

	hp_members_poll(&sampler->members, sampler->is_blind, member_ended, sampler);
	scan(sampler, true);
	hp_members_judge(&sampler->members);	/* those just found, too */
	if (sampler->root != ROOT_ENDED) {	/* the report reads a consistent state */
		wait_ms = hp_watcher_look(&sampler->watcher);
		note_own_cpu(sampler);
	}
	if (sampler->root == ROOT_RUNS)
		hp_perf_calm(&sampler->perf, sampler->watcher.busy_ns, sampler->watcher.switches);
	else if (has_others(sampler))	/* one that was forked just before the root ended */
		hp_server_resume(&sampler->server);
	sampler->look_ns = hp_clock_raw_ns() + (uint64_t)wait_ms * 1000000;
}

/*
 * For a newly started helper, opening counters takes longer than a short
 * program runs, and its report would wait for that. If samples are requested,
 * all are opened.
 */
static uint64_t sample_delay(const struct hp_settings *settings)
{
	/* By then the program to run is known, not only its launcher. */
	if (settings->cpu == HP_CPU_SAMPLY)
		return SAMPLE_DELAY_NS;
	bool is_asked = settings->cpu_hz || hp_settings_wants_samples(settings) ||
			hp_settings_names(settings, HP_KEY_OFFCPU);

	return is_asked ? 0 : SAMPLE_DELAY_NS;
}

static void sample_if_due(struct sampler *sampler, uint64_t now)
{
	if (!sampler->sample_ns || now < sampler->sample_ns || sampler->root != ROOT_RUNS)
		return;
	sampler->sample_ns = 0;
	if (sampler->settings.cpu == HP_CPU_SAMPLY && sampler->perf.record) {
		hp_samply_start(&sampler->samply, &sampler->segment, sampler->perf.record,
				sampler->members.root_pid);
		return;
	}
	hp_perf_start(&sampler->perf, sampler->members.root_pid, sampler->epoll, EVENT_RING);
}

/* Work that is due. Slightly early for the clock, so that it coincides with every fourth scan. */
static void do_due(struct sampler *sampler)
{
	uint64_t now = hp_clock_raw_ns();

	start_threads(sampler);
	hp_door_do(&sampler->door, now);
	hp_end_do(&sampler->end, now);
	report_if_late(sampler, now);
	hp_deadline_do(&sampler->deadline, &sampler->members, sampler->root == ROOT_RUNS);
	hp_server_do(&sampler->server, now);
	hp_members_pass(&sampler->members);
	hp_looker_do(&sampler->looker, &sampler->members.segments);
	hp_server_give_way(&sampler->server);
	sample_if_due(sampler, now);
	if (sampler->root != ROOT_ENDED) {
		hp_perf_read(&sampler->perf);
		hp_ticks_read(&sampler->ticks);
	}
	if (now >= sampler->look_ns)
		look(sampler);
	else if (sampler->scan_ns && now >= sampler->scan_ns)
		scan(sampler, now >= sampler->met_ns + MEET_NS);
	if (now < sampler->noted_ns + NOTE_CLOCK_NS - NOTE_CLOCK_NS / 16)
		return;
	hp_clock_note(sampler->segment.header);
	sampler->noted_ns = now;
}

/* How long to sleep, in ms. */
static int patience(const struct sampler *sampler)
{
	uint64_t now = hp_clock_raw_ns();
	uint64_t clock_ns = sampler->noted_ns + NOTE_CLOCK_NS;
	uint64_t due = sampler->look_ns < clock_ns ? sampler->look_ns : clock_ns;
	if (sampler->scan_ns && sampler->scan_ns < due)
		due = sampler->scan_ns;
	if (sampler->sample_ns && sampler->root == ROOT_RUNS && sampler->sample_ns < due)
		due = sampler->sample_ns;
	if (sampler->deadline.due_ns && sampler->deadline.due_ns < due)
		due = sampler->deadline.due_ns;
	if (sampler->door.due_ns && sampler->door.due_ns < due)
		due = sampler->door.due_ns;
	if (sampler->end.ready_until_ns && sampler->end.ready_until_ns < due)
		due = sampler->end.ready_until_ns;
	if (sampler->end.until_ns && sampler->end.until_ns < due)
		due = sampler->end.until_ns;
	if (sampler->server.due_ns && sampler->server.due_ns < due)
		due = sampler->server.due_ns;
	if (sampler->root == ROOT_REPORTED && !sampler->members.count &&
	    sampler->asked_ns + ALONE_NS < due)
		due = sampler->asked_ns + ALONE_NS;
	if (sampler->perf.look_ns && sampler->root == ROOT_RUNS && sampler->perf.look_ns < due)
		due = sampler->perf.look_ns;
	if (sampler->perf.early_ns && sampler->root == ROOT_RUNS && sampler->perf.early_ns < due)
		due = sampler->perf.early_ns;
	if (sampler->ticks.is_on && now + HP_TICKS_EVERY_NS < due)
		due = now + HP_TICKS_EVERY_NS;
	int wait_ms = due > now ? (int)((due - now) / 1000000) + 1 : 0;

	bool is_woken = atomic_load(&sampler->has_thread) && !sampler->is_blind;

	return !is_woken && wait_ms > FALLBACK_MS ? FALLBACK_MS : wait_ms;
}

/* Queries the kernel no more often than we scan threads. */
static bool is_over(struct sampler *sampler)
{
	uint64_t now = hp_clock_raw_ns();

	if (sampler->root != ROOT_REPORTED)
		return false;
	if (hp_term_is_asked())
		return true;
	if (sampler->members.count || now < sampler->asked_ns + ALONE_NS)
		return false;
	hp_members_scan(&sampler->members);
	sampler->asked_ns = now;
	/*
	 * When a process was killed, the first scan suspects its end, and the second one
	 * records it, which is then reported.
	 */
	if (sampler->members.count || sampler->members.suspected)
		return false;
	hp_looker_pause();
	bool is_alone = hp_end_is_alone(&sampler->members.segments);
	hp_looker_go_on();
	return is_alone;
}

/* All possible reasons for waking up are checked, except the ports, so live figures end. */
static void handle_all(struct sampler *sampler)
{
	static const uint64_t all[] = { EVENT_SOCKET, EVENT_END_WORD };
	struct timespec nap = { 0, FALLBACK_MS * 1000000L };

	if (patience(sampler) > 0)
		nanosleep(&nap, NULL);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		handle(sampler, all[i]);
	hp_members_poll(&sampler->members, true, member_ended, sampler);
	if (sampler->root == ROOT_ENDED && hp_end_is_done(&sampler->end))
		report_ended(sampler);
}

static void run(struct sampler *sampler)
{
	struct epoll_event events[32];

	while (!is_over(sampler)) {
		hp_end_go(&sampler->end);
		int count = epoll_wait(sampler->epoll, events, 32, patience(sampler));

		sampler->is_blind = count < 0 && errno != EINTR;
		if (sampler->is_blind)
			handle_all(sampler);
		for (int i = 0; i < count; i++)
			handle(sampler, events[i].data.u64);
		if (has_root_asked(sampler))
			root_ends(sampler, -1, false);
		do_due(sampler);
	}
}

static void root_begins(struct sampler *sampler)
{
	sampler->sample_ns = hp_clock_raw_ns() + sample_delay(&sampler->settings);
	/*
	 * It takes longer to start than many a program runs. Without a runner our parent may be the
	 * program, as process 1 of its namespace or as one that adopts orphans: if we were killed, its
	 * wait() would find the prepared process.
	 */
	if (sampler->end.runner && is_wanted(&sampler->settings))
		hp_end_prepare(&sampler->end);
}

int main(void)
{
	struct sampler *sampler = &the_sampler;
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);	/* one that is blocked is not handled */
	sigprocmask(SIG_SETMASK, &all, NULL);
	hp_guard_start();
	if (!sampler_init(sampler)) {
		dprintf(2,
			"hotpath-sampler: no segment of this version; the library starts it, and both "
			"must be from the same build\n");
		return 1;
	}
	hp_term_init(&sampler->end.report, sampler->end_event);
	sampler->end.runner = (pid_t)sampler->begin.runner_pid;
	if (sampler->end.runner && !wait_for_root(sampler))
		return 0;
	sampler->members.root_pid = sampler->begin.root_pid;
	/*
	 * From now on others join without waiting for us. Not before, unless the runner told us the
	 * root's pid: their code can write the header, and the pid decides the name of the kept run.
	 */
	hp_segment_room(&sampler->segment)->pid_namespace = hp_member_namespace();
	hp_door_open_lobby(&sampler->door, &sampler->segment);
	hp_deadline_init(&sampler->deadline, sampler->begin.start_ns,
			 sampler->settings.shutdown_ms);
	start_threads(sampler);
	hp_looker_do(&sampler->looker, &sampler->members.segments);
	hp_server_init(&sampler->server, &sampler->segment, &sampler->settings, sampler->epoll,
		       EVENT_KNOCK, EVENT_SERVER);
	if (!hp_members_add(&sampler->members, sampler->members.root_pid))
		root_ends(sampler, -1, true);	/* it was faster than us */
	else
		root_begins(sampler);
	if (sampler->perf.has_waits)
		hp_perf_burst_hurry(&sampler->perf, true);
	run(sampler);
	hp_server_close(&sampler->server);
	if (is_wanted_again(&sampler->settings) &&
	    hp_members_outlived(&sampler->members, sampler->reported_ticks))
		hp_end_again(&sampler->end);
	return 0;
}
