/* SPDX-License-Identifier: MIT */
/*
 * end.c - see end.h.
 */
#include "sampler/session/end.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sampler/session/end_fork.h"
#include "segment/clock.h"
#include "segment/session.h"
#include "util/tell.h"

#define STATUS_WAIT_MS 1000
#define REAPED_WAIT_MS 100
#define DYING_NS UINT64_C(10000000)	/* until a killed process is looked for again */
#define READY_NS UINT64_C(1000000000)
#define LOOK_MS 100
#define YOUNG_NS UINT64_C(1000000000)
#define COPY_STACK (1 << 20)
#define OPTIONS_MAX 3

extern char **environ;

/* struct pidfd_info of Linux 6.15; older kernels refuse the ioctl. */
struct pidfd_info {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t pids_and_users[11];
	int32_t exit_code;
	uint32_t rest[4];
};

#define INFO_EXIT UINT64_C(8)
#define ASK_INFO _IOWR(0xFF, 11, struct pidfd_info)

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void hp_end_init(struct hp_end *end, const struct hp_segments *segments)
{
	end->segment = segments->at[0];
	end->segments = segments;
	end->heard = -1;
	end->shared_cpu = -1;
	end->young_until_ns = hp_clock_raw_ns() + YOUNG_NS;
}

void hp_end_wait(void *word, uint32_t value, long ns)
{
	const struct timespec slice = { 0, ns };

	if (syscall(SYS_futex, word, FUTEX_WAIT, value, &slice, NULL, 0) < 0 && errno != EAGAIN &&
	    errno != EINTR && errno != ETIMEDOUT)
		nanosleep(&slice, NULL);
}

/* The exit status is there once the parent has reaped it, which may be never. */
static void ask_kernel(struct hp_header *header, int pidfd)
{
	struct pollfd reaped = { .fd = pidfd, .events = 0 };
	struct pidfd_info info = { .mask = INFO_EXIT };

	poll(&reaped, 1, REAPED_WAIT_MS);
	if (ioctl(pidfd, ASK_INFO, &info) < 0 || !(info.mask & INFO_EXIT))
		return;
	header->root_status = (uint32_t)info.exit_code;
	atomic_store_explicit(&header->status_known, 1, memory_order_release);
}

void hp_end_status(const struct hp_end *end, int root_pidfd, bool is_dead)
{
	struct hp_header *header = end->segment->header;

	if (!end->runner) {
		if (is_dead && root_pidfd >= 0)
			ask_kernel(header, root_pidfd);
		return;
	}
	/* The runner is our parent as long as it lives. */
	for (int waited_ms = 0; waited_ms < STATUS_WAIT_MS; waited_ms += 10) {
		if (atomic_load_explicit(&header->status_known, memory_order_acquire) ||
		    getppid() != end->runner)
			return;
		hp_end_wait(&header->status_known, 0, 10000000);
	}
}

/* Without /proc that of the path we were started by. */
void hp_end_folder(char folder[HP_HELPER_PATH])
{
	ssize_t size = readlink("/proc/self/exe", folder, HP_HELPER_PATH - 1);
	const char *name = (const char *)getauxval(AT_EXECFN);

	folder[size > 0 ? size : 0] = '\0';
	if (size <= 0 && name)
		snprintf(folder, HP_HELPER_PATH, "%s", name);
	char *slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
}

static void levels_note(const struct hp_end *end)
{
	char number[12];

	snprintf(number, sizeof(number), "%u", end->segments->count - 1);
	setenv(HP_LEVELS_VARIABLE, number, 1);
}

/* The report finds the segments of other levels one after another. Ours are above, see
 * level_new and withdraw. */
static void levels_pass(const struct hp_end *end, posix_spawn_file_actions_t *actions)
{
	posix_spawn_file_actions_adddup2(actions, end->segments->at[0]->fd, HP_SAMPLER_SEGMENT_FD);
	for (uint32_t i = 1; i < end->segments->count; i++)
		posix_spawn_file_actions_adddup2(actions, end->segments->at[i]->fd,
						 HP_LEVEL_FD + (int)i - 1);
	levels_note(end);
}

static int execute(const struct hp_end *end, char *const *arguments, int input, const char *path,
		   pid_t *child)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;

	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	/* First: its number may be one of the others' places. */
	if (input >= 0)
		posix_spawn_file_actions_adddup2(&actions, input, 0);
	levels_pass(end, &actions);
	int error = posix_spawn(child, path, &actions, &attributes, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return error;
}

/* We have used a part of it, and dlopen() needs more than the target's smallest limit leaves. */
static bool has_stack(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur >= COPY_STACK;
}

/* `input` becomes its stdin unless it is -1. A program that is executed cannot be held. */
static int spawn(const struct hp_end *end, const char *const options[OPTIONS_MAX], int input,
		 bool *is_held, char path[HP_HELPER_PATH], pid_t *child)
{
	static char name[] = "hotpath", report[] = "report", fd[] = "--fd", number[] = "3";
	char *arguments[4 + OPTIONS_MAX + 1] = { name, report, fd, number };
	char folder[HP_HELPER_PATH], object[HP_HELPER_PATH];
	const char *bin = getenv("HOTPATH_BIN");

	for (int i = 0; i < OPTIONS_MAX; i++)
		arguments[4 + i] = (char *)(uintptr_t)options[i];
	hp_end_folder(folder);
	bool is_there = hp_session_helper_path(path, bin, folder, name);
	if (is_there && hp_clock_raw_ns() < end->young_until_ns && has_stack() &&
	    hp_session_helper_path(object, bin, folder, "hotpath-report.so")) {
		levels_note(end);
		*child = hp_end_fork(&(struct hp_end_copy){ .object = object,
							    .program = path,
							    .arguments = arguments,
							    .segments = end->segments,
							    .input = input,
							    .is_held = *is_held });
		if (*child > 0)
			return 0;
	}
	*is_held = false;
	return execute(end, arguments, input, path, child);
}

/* A socket, since both sides write. A message is read as a whole. */
static bool socket_open(int ends[2])
{
	ends[0] = ends[1] = -1;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
}

static void socket_close(int *end)
{
	if (*end >= 0)
		close(*end);
	*end = -1;
}

/* ---- a report that waits ---- */

static void ready_new(struct hp_end *end, bool is_held)
{
	static const char *const options[OPTIONS_MAX] = { "--ready" };
	char path[HP_HELPER_PATH];
	int ends[2];

	if (!socket_open(ends))
		return;
	end->is_held = is_held;
	int error = spawn(end, options, ends[0], &end->is_held, path, &end->ready);
	socket_close(&ends[0]);
	if (error) {
		socket_close(&ends[1]);
		end->ready = 0;
		return;
	}
	end->begin = ends[1];
	end->ready_until_ns = hp_clock_raw_ns() + READY_NS;
}

void hp_end_prepare(struct hp_end *end)
{
	cpu_set_t all, one;
	int cpu = sched_getcpu();

	if (cpu < 0 || sched_getaffinity(0, sizeof(all), &all) != 0 || CPU_COUNT(&all) < 2)
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		return;
	ready_new(end, true);
	sched_setaffinity(0, sizeof(all), &all);
	atomic_store_explicit(&end->shared_cpu, end->ready ? cpu : -1, memory_order_relaxed);
}

void hp_end_go(struct hp_end *end)
{
	if (end->is_held && end->ready)
		send(end->begin, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	end->is_held = false;
}

void hp_end_step_aside(const struct hp_end *end)
{
	int cpu = atomic_load_explicit(&end->shared_cpu, memory_order_relaxed);
	cpu_set_t all, others;

	if (cpu < 0 || sched_getaffinity(getpid(), sizeof(all), &all) != 0)
		return;
	others = all;
	CPU_CLR(cpu, &others);
	if (CPU_COUNT(&others) == 0)
		return;
	sched_setaffinity(getpid(), sizeof(others), &others);
	sched_setaffinity(getpid(), sizeof(all), &all);
}

void hp_end_prepare_late(struct hp_end *end)
{
	if (end->runner && !end->ready && !end->dying && end->segments->count == 1 &&
	    !atomic_load_explicit(&end->segment->header->status_known, memory_order_acquire))
		ready_new(end, false);
}

static void unbind(pid_t child)
{
	static const struct sched_param none;
	cpu_set_t all;

	sched_setscheduler(child, SCHED_OTHER, &none);
	if (sched_getaffinity(0, sizeof(all), &all) == 0)
		sched_setaffinity(child, sizeof(all), &all);
}

static void dying_look(struct hp_end *end, uint64_t now_ns)
{
	if (waitpid(end->dying, NULL, WNOHANG) == 0) {
		end->ready_until_ns = now_ns + DYING_NS;
		return;
	}
	end->dying = 0;
	end->ready_until_ns = 0;
}

/*
 * It has begun nothing. On a busy machine, it takes up to 0.7 s until it has a processor to end on:
 * waiting for that, we would lose records.
 */
static void ready_end(struct hp_end *end)
{
	socket_close(&end->begin);
	kill(end->ready, SIGKILL);
	unbind(end->ready);
	end->dying = end->ready;
	end->ready = 0;
	dying_look(end, hp_clock_raw_ns());
}

void hp_end_do(struct hp_end *end, uint64_t now_ns)
{
	if (now_ns < end->ready_until_ns)
		return;
	atomic_store_explicit(&end->shared_cpu, -1, memory_order_relaxed);
	if (end->ready)
		ready_end(end);
	else if (end->dying)
		dying_look(end, now_ns);
}

/*
 * False if there is none, or it has died, perhaps of a faulty object: another copy of us would load
 * that, too.
 */
static bool ready_begin(struct hp_end *end)
{
	bool knows_all = end->segments->count == 1;	/* not those that were added since */

	if (!end->ready)
		return false;
	hp_end_go(end);
	unbind(end->ready);
	if (!knows_all || send(end->begin, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1) {
		if (knows_all)
			end->young_until_ns = 0;
		ready_end(end);
		return false;
	}
	end->heard = end->begin;
	end->begin = -1;
	end->report = end->ready;
	end->was_ready = true;
	end->ready = 0;
	end->ready_until_ns = 0;
	return true;
}

/* Without a socket, the report limits its time itself. */
static int start_new(struct hp_end *end, char path[HP_HELPER_PATH])
{
	const char *options[OPTIONS_MAX] = { NULL };
	int ends[2], count = 0;
	pid_t child = 0;
	bool is_heard = !end->is_quiet && socket_open(ends), is_held = false;

	if (end->is_quiet)
		options[count++] = "--again";
	else if (is_heard)
		options[count++] = "--heard";
	if (end->is_late)
		options[count++] = "--late";
	if (end->is_late && end->has_printed)
		options[count++] = "--printed";
	int error = spawn(end, options, is_heard ? ends[0] : -1, &is_held, path, &child);
	end->report = error ? 0 : child;
	if (!is_heard)
		return error;
	socket_close(&ends[0]);
	if (error)
		socket_close(&ends[1]);
	end->heard = ends[1];
	return error;
}

static int start(struct hp_end *end)
{
	char path[HP_HELPER_PATH];
	int error = !end->is_quiet && ready_begin(end) ? 0 : start_new(end, path);

	/* The second one waits for no file. */
	if (end->heard >= 0 && !end->is_late)
		end->until_ns = hp_clock_raw_ns() + hp_report_most_ms() * 1000000;
	if (!error)
		return 0;
	hp_tell("hotpath: no report: %s: %s; HOTPATH_BIN names the folder of hotpath\n", path,
		strerror(error));
	return -error;
}

void hp_end_tell(const struct hp_end *end, enum hp_report_word word)
{
	for (uint32_t i = 0; i < end->segments->count; i++) {
		struct hp_header *header = end->segments->at[i]->header;

		atomic_store_explicit(&header->report_word, word, memory_order_release);
		futex_wake(&header->report_word);
	}
}

bool hp_end_start(struct hp_end *end, bool is_wanted)
{
	if (!is_wanted) {
		hp_end_tell(end, HP_REPORT_DONE);
		return false;
	}
	if (start(end) < 0) {
		hp_end_tell(end, HP_REPORT_FAILED);
		return false;
	}
	return true;
}

static void take(struct hp_end *end, const uint8_t told[2], ssize_t size)
{
	switch (told[0]) {
	case HP_TOLD_PRINTED:
		end->has_printed = true;
		break;
	case HP_TOLD_WAITS:
		end->until_ns = 0;
		break;
	case HP_TOLD_ENDED:
		end->is_told = size == 2;
		end->status = told[1];
	}
}

bool hp_end_hear(struct hp_end *end)
{
	uint8_t told[2];
	ssize_t size = -1;

	while (end->heard >= 0 && !end->is_told &&
	       (size = recv(end->heard, told, sizeof(told), MSG_DONTWAIT)) > 0)
		take(end, told, size);
	/* It ended without a word: how, the kernel knows. */
	if (size == 0)
		socket_close(&end->heard);
	return end->is_told;
}

bool hp_end_is_late(const struct hp_end *end, uint64_t now_ns)
{
	return end->report && end->until_ns && now_ns >= end->until_ns;
}

/* One that sleeps in the kernel may not be killable: nobody waits for it. */
bool hp_end_retry(struct hp_end *end)
{
	kill(end->report, SIGKILL);
	waitpid(end->report, NULL, WNOHANG);
	socket_close(&end->heard);
	end->report = 0;
	end->until_ns = 0;
	end->is_late = true;
	if (start(end) == 0)
		return true;
	hp_end_tell(end, HP_REPORT_FAILED);
	return false;
}

bool hp_end_replace(struct hp_end *end)
{
	siginfo_t info = { .si_pid = 0 };

	if (!end->was_ready || end->is_told || end->has_printed || !end->report ||
	    waitid(P_PID, (id_t)end->report, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	    !info.si_pid || info.si_code == CLD_EXITED)
		return false;
	waitpid(end->report, NULL, 0);
	socket_close(&end->heard);
	end->was_ready = false;
	end->young_until_ns = 0;
	return start(end) == 0;
}

void hp_end_reap(struct hp_end *end)
{
	waitpid(end->behind, NULL, WNOHANG);
	end->behind = 0;
}

bool hp_end_is_done(struct hp_end *end)
{
	siginfo_t info = { .si_pid = 0 };

	if (!end->report || hp_end_hear(end) ||
	    waitid(P_PID, (id_t)end->report, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		return true;
	return info.si_pid != 0;
}

/* For kernels without pidfd, and for a report that nobody waits for. */
static void wait_until_done(struct hp_end *end)
{
	siginfo_t info;

	while (end->heard >= 0 && !hp_end_is_done(end)) {
		struct pollfd told = { .fd = end->heard, .events = POLLIN };

		poll(&told, 1, LOOK_MS);
		if (hp_end_is_late(end, hp_clock_raw_ns()))
			hp_end_retry(end);
	}
	/* It keeps its number until it is no longer to be killed with us. */
	while (!end->is_told && end->report &&
	       waitid(P_PID, (id_t)end->report, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
}

/* As from waitpid(). */
static int outcome(struct hp_end *end)
{
	pid_t child = end->report;
	int status = 0;

	end->report = 0;
	end->until_ns = 0;
	if (end->is_told) {
		end->behind = child;
		socket_close(&end->heard);
		return W_EXITCODE(end->status, 0);
	}
	if (!child)
		return W_EXITCODE(1, 0);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

void hp_end_finish(struct hp_end *end)
{
	wait_until_done(end);
	int status = outcome(end);
	/* A report that exits with a failure has printed the reason. */
	if (WIFSIGNALED(status) && !end->is_quiet)
		hp_tell("hotpath: the report was killed by %s; HOTPATH_SEGMENT_PATH=FILE keeps "
			"the data for `hotpath report FILE`\n",
			strsignal(WTERMSIG(status)));
	if (!end->is_quiet)
		hp_end_tell(end, status ? HP_REPORT_FAILED : HP_REPORT_DONE);
	while (end->dying && waitpid(end->dying, NULL, 0) < 0 && errno == EINTR)
		;
	end->dying = 0;
}

void hp_end_again(struct hp_end *end)
{
	end->is_quiet = true;
	end->is_told = end->is_late = false;
	if (start(end) == 0)
		hp_end_finish(end);
}

void hp_end_let_go(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		fd = dup(1);
	dup2(fd, 2);
	if (fd > 2)
		close(fd);
}

static bool map_over(const struct hp_segment *segment, int protection, int sharing)
{
	return mmap(segment->header, segment->size, protection, sharing | MAP_FIXED, segment->fd,
		    0) != MAP_FAILED;
}

/* Others' changes to it may exclude us: then we write where nobody reads. */
static void map_nothing(const struct hp_segment *segment)
{
	if (mmap(segment->header, segment->size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		_exit(1);
}

/*
 * The kernel refuses to seal a memfd against writing while it is mapped for it.  So we unmap our
 * own mapping and restore it if others have one. If it cannot be unmapped, we would always find
 * ourselves: then only the list of members decides. Once it is sealed, later writes are private.
 */
static bool is_alone(const struct hp_segment *segment)
{
	if (!map_over(segment, PROT_READ, MAP_PRIVATE))
		return true;
	bool is_sealed =
		fcntl(segment->fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) == 0 || errno != EBUSY;
	if (!map_over(segment, PROT_READ | PROT_WRITE, is_sealed ? MAP_PRIVATE : MAP_SHARED))
		map_nothing(segment);
	return is_sealed;
}

/* The session's own first: while that is in use, the others are unchanged. */
bool hp_end_is_alone(const struct hp_segments *segments)
{
	for (uint32_t i = 0; i < segments->count; i++)
		if (!is_alone(segments->at[i]))
			return false;
	return true;
}
