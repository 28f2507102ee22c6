/* SPDX-License-Identifier: MIT */
/*
 * fd.c - maps descriptors to channels.
 *
 * Unannounced descriptors are looked up in the kernel at their first use,
 * once: an inherited pipe, or one received over a socket. Its inode tells if a
 * process of the session already has it.
 *
 * The table is not wiped on fork: a child has the same descriptors.  A vfork child
 * has its own descriptors and works in its parent's memory, so it changes nothing
 * here.
 *
 * A word is emptied before the real close: after it, the number may be another
 * thread's new descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/channel/channel.h"
#include "preload/channel/datagram.h"
#include "preload/channel/watch.h"
#include "preload/guest/begin.h"
#include "preload/guest/bulky.h"
#include "preload/guest/confine.h"
#include "preload/guest/guest.h"
#include "preload/guest/self.h"
#include "preload/lock/file.h"
#include "segment/newer.h"

static _Atomic uint32_t has_left;	/* the process is ending */
static _Atomic uint32_t above;	/* no descriptor from here on was ever announced */

static bool is_ours(void)
{
	return !hp_self_is_borrowed();
}

bool hp_channel_stat(int fd, struct stat *stat)
{
	if (fstat(fd, stat) == 0)
		return true;
	if (errno != EBADF)
		hp_refused();
	return false;
}

static uint64_t word_of(const struct hp_lane *out, const struct hp_lane *in)
{
	return (out ? hp_lane_id(out) : HP_LANE_NONE) << 32 | (in ? hp_lane_id(in) : HP_LANE_NONE);
}

static bool is_channel(uint64_t word)
{
	return word != HP_FD_UNKNOWN && word != HP_FD_NONE;
}

static void word_hold(uint64_t word)
{
	struct hp_lane *out = hp_channel_lane(word >> 32);
	struct hp_lane *in = hp_channel_lane(word & UINT32_MAX);

	if (!is_channel(word))
		return;
	if (out)
		hp_lane_hold(out, true);
	if (in)
		hp_lane_hold(in, false);
}

static void word_drop(uint64_t word)
{
	struct hp_lane *out = hp_channel_lane(word >> 32);
	struct hp_lane *in = hp_channel_lane(word & UINT32_MAX);

	if (!is_channel(word))
		return;
	if (out)
		hp_lane_drop(out, true);
	if (in)
		hp_lane_drop(in, false);
}

/* Another thread was first. */
static void word_unmake(uint64_t word)
{
	struct hp_lane *out = hp_channel_lane(word >> 32);
	struct hp_lane *in = hp_channel_lane(word & UINT32_MAX);

	if (out)
		hp_lane_unmake(out);
	if (in)
		hp_lane_unmake(in);
}

static bool is_told(int fd)
{
	return (unsigned)fd < hp_channel_fds_most;
}

static uint64_t word_at(int fd)
{
	return is_told(fd) ? atomic_load_explicit(&hp_channel_fds[fd], memory_order_relaxed)
			   : HP_FD_UNKNOWN;
}

static void note_highest(int fd)
{
	uint32_t before = atomic_load_explicit(&above, memory_order_relaxed);

	while (before <= (uint32_t)fd &&
	       !atomic_compare_exchange_weak_explicit(&above, &before, (uint32_t)fd + 1,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

HP_BULKY _Atomic uint64_t hp_channel_told[HP_FDS / 64];

void hp_channel_tell(int fd)
{
	if ((unsigned)fd >= HP_FDS)
		return;
	note_highest(fd);
	atomic_fetch_or_explicit(&hp_channel_told[fd / 64], UINT64_C(1) << fd % 64,
				 memory_order_relaxed);
}

HP_COLD void hp_channel_told_read(int fd, const void *buffer, size_t size)
{
	int saved = errno;

	HP_ABOVE(read, fd, buffer, size);
	errno = saved;
}

static HP_COLD void tell_close(int fd)
{
	int saved = errno;

	if (is_ours()) {
		atomic_fetch_and_explicit(&hp_channel_told[fd / 64], ~(UINT64_C(1) << fd % 64),
					  memory_order_relaxed);
		HP_ABOVE(closed, fd);
	}
	errno = saved;
}

/* The descriptor is new, whatever the number was before. */
static void put(int fd, uint64_t word)
{
	uint64_t before;

	if (!is_told(fd))
		return;
	note_highest(fd);
	word_hold(word);
	before = atomic_exchange_explicit(&hp_channel_fds[fd], word, memory_order_acq_rel);
	word_drop(before);
}

/* The descriptor is about to be closed. */
static void forget(int fd)
{
	uint64_t word;

	if (!is_told(fd))
		return;
	word = word_at(fd);
	if (word == HP_FD_UNKNOWN || (is_channel(word) && !is_ours()))
		return;
	word_drop(
		atomic_exchange_explicit(&hp_channel_fds[fd], HP_FD_UNKNOWN, memory_order_acq_rel));
}

void hp_channel_forget(int fd)
{
	bool is_watched = hp_watch_holds(fd);
	int saved;

	hp_file_forget(fd);
	if (HP_UNLIKELY(hp_channel_is_told(fd)))
		tell_close(fd);

	/* Before the loader has relocated us, nothing is recorded, and errno is inaccessible. */
	if (!is_watched && !is_told(fd))
		return;
	saved = errno;
	if (is_watched && is_ours())
		hp_watch_close(fd);
	forget(fd);
	errno = saved;
}

void hp_channel_veil(int fd)
{
	uint64_t word = hp_channel_word(fd);
	struct hp_lane *out = hp_channel_lane(word >> 32);
	struct hp_lane *in = hp_channel_lane(word & UINT32_MAX);

	if (out)
		atomic_fetch_or_explicit(&out->veiled, HP_VEILED_SENDS, memory_order_relaxed);
	if (in)
		atomic_fetch_or_explicit(&in->veiled, HP_VEILED_RECEIVES, memory_order_relaxed);
}

/* `copy` is another number for the object of `fd`. */
void hp_channel_copied(int fd, int copy)
{
	uint64_t word;
	int saved;

	if (fd != copy)
		hp_file_forget(copy);
	if (fd != copy && hp_channel_is_told(copy))
		tell_close(copy);
	if (fd == copy || !is_told(copy))
		return;
	saved = errno;
	word = word_at(fd);
	if ((is_channel(word) || is_channel(word_at(copy))) && !is_ours())
		return;
	put(copy, word);
	if (copy <= STDERR_FILENO && is_channel(word))
		hp_channel_veil(copy);
	errno = saved;
}

/* --- descriptors that existed before us --- */

static bool is_nameless(int fd)
{
	struct statfs fs;

	return syscall(SYS_fstatfs, fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC;
}

static void wish_pipe(struct hp_channel_wish *wish, int fd, const struct stat *stat)
{
	long size = syscall(SYS_fcntl, fd, F_GETPIPE_SZ);

	wish->device = stat->st_dev;
	wish->out_inode = wish->in_inode = stat->st_ino;
	wish->capacity = size > 0 ? (uint64_t)size : 0;
	/* Each of its pages may be half empty. */
	wish->safe = wish->capacity > 4 * HP_PAGE ? wish->capacity / 2 - HP_PAGE : 0;
}

/* A FIFO is named by its path. */
static void label_fifo(const struct hp_lane *lane, int fd)
{
	char link[32] = "/proc/self/fd/", path[256], digits[12];
	size_t length = strlen(link), count = 0;
	long size;

	do
		digits[count++] = (char)('0' + fd % 10);
	while (fd /= 10);
	while (count)
		link[length++] = digits[--count];
	size = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof(path));
	if (lane && size > 0)
		hp_channel_label(lane, path, (size_t)size);
}

static struct hp_lane *find_pipe(int fd, const struct stat *stat)
{
	struct hp_lane *lane = hp_lane_of_inode(stat->st_dev, stat->st_ino, true);
	struct hp_channel_wish wish = { .is_found = true, .descriptor = (uint32_t)fd };

	if (lane)
		return lane;
	wish.kind = is_nameless(fd) ? HP_CHANNEL_PIPE : HP_CHANNEL_FIFO;
	wish_pipe(&wish, fd, stat);
	lane = hp_lane_meet(&wish);
	if (wish.kind == HP_CHANNEL_FIFO)
		label_fifo(lane, fd);
	return lane;
}

static uint64_t meet_pipe(int fd, const struct stat *stat)
{
	long flags = syscall(SYS_fcntl, fd, F_GETFL);
	struct hp_lane *lane = flags < 0 ? NULL : find_pipe(fd, stat);
	long mode = flags & O_ACCMODE;

	if (!lane)
		return HP_FD_NONE;
	/* Another process has it, too. */
	atomic_store_explicit(&lane->shared, 1, memory_order_relaxed);
	return word_of(mode == O_RDONLY ? NULL : lane, mode == O_WRONLY ? NULL : lane);
}

static uint64_t meet_socket(int fd, const struct stat *stat)
{
	struct hp_lane *out = hp_lane_of_inode(stat->st_dev, stat->st_ino, true);
	struct hp_lane *in = hp_lane_of_inode(stat->st_dev, stat->st_ino, false);

	if (!out)
		hp_datagram_meet(fd, stat, &out, &in);
	if (out)
		atomic_store_explicit(&out->shared, 1, memory_order_relaxed);
	if (in)
		atomic_store_explicit(&in->shared, 1, memory_order_relaxed);
	return word_of(out, in);
}

/*
 * Files have one, and pipes and sockets do not. Asking takes less than half of the time of fstat,
 * which counts for programs that open many files.
 */
static bool has_position(int fd)
{
	return syscall(SYS_lseek, fd, 0, SEEK_CUR) >= 0;
}

static HP_COLD uint64_t meet(int fd, bool is_at_position)
{
	uint64_t word = HP_FD_NONE, before = HP_FD_UNKNOWN;
	struct stat stat;

	if (hp_is_confined() || !is_ours() || !hp_channel_is_on())
		return HP_FD_NONE;
	if (is_at_position && has_position(fd))
		;
	else if (!hp_channel_stat(fd, &stat))
		return HP_FD_NONE;
	else if (S_ISFIFO(stat.st_mode))
		word = meet_pipe(fd, &stat);
	else if (S_ISSOCK(stat.st_mode))
		word = meet_socket(fd, &stat);
	if (!atomic_compare_exchange_strong_explicit(&hp_channel_fds[fd], &before, word,
						     memory_order_acq_rel, memory_order_relaxed)) {
		word_unmake(word);
		return before;
	}
	note_highest(fd);
	word_hold(word);
	if (fd <= STDERR_FILENO)
		hp_channel_veil(fd);
	return word;
}

/* Our own work for a lane may call it for its own descriptors. */
static uint64_t meet_first(int fd, bool is_at_position)
{
	int saved = errno;
	uint64_t word = hp_start_is_running() ? HP_FD_NONE : meet(fd, is_at_position);

	errno = saved;
	return word;
}

HP_COLD uint64_t hp_channel_meet(int fd)
{
	return meet_first(fd, false);
}

HP_COLD uint64_t hp_channel_meet_at_position(int fd)
{
	return meet_first(fd, true);
}

/* --- new descriptors --- */

void hp_channel_pipe(const int fds[2], int flags, uintptr_t caller)
{
	struct hp_channel_wish wish = { .kind = HP_CHANNEL_PIPE, .caller = caller };
	struct hp_lane *lane;
	struct stat stat;

	if (!is_told(fds[0]) || !is_told(fds[1]) || !is_ours() || !hp_channel_stat(fds[0], &stat))
		return;
	wish_pipe(&wish, fds[0], &stat);
	if (flags & O_DIRECT) {
		wish.unit = HP_LANE_MESSAGES;
		wish.capacity /= HP_PAGE;
		wish.safe = wish.capacity / 2;
	}
	lane = hp_lane_new(&wish);
	put(fds[0], word_of(NULL, lane));
	put(fds[1], word_of(lane, NULL));
}

void hp_channel_pair(const int fds[2], const struct hp_channel_wish *wish)
{
	struct hp_channel_wish way = *wish;
	struct hp_lane *there, *back;
	struct stat first, second;

	if (!is_told(fds[0]) || !is_told(fds[1]) || !is_ours() ||
	    !hp_channel_stat(fds[0], &first) || !hp_channel_stat(fds[1], &second))
		return;
	way.device = first.st_dev;
	way.out_inode = first.st_ino;
	way.in_inode = second.st_ino;
	there = hp_lane_new(&way);
	way.way = 1;
	way.out_inode = second.st_ino;
	way.in_inode = first.st_ino;
	back = hp_lane_new(&way);
	put(fds[0], word_of(there, back));
	put(fds[1], word_of(back, there));
}

void hp_channel_put(int fd, const struct hp_lane *out, const struct hp_lane *in)
{
	if (is_told(fd) && is_ours())
		put(fd, word_of(out, in));
}

void hp_channel_single(int fd, const struct hp_channel_wish *wish)
{
	struct hp_lane *lane;

	if (!is_told(fd) || !is_ours())
		return;
	lane = hp_lane_new(wish);
	put(fd, word_of(lane, lane));
}

void hp_channel_again(int fd, struct hp_lane *lane)
{
	if (is_told(fd) && is_ours())
		put(fd, word_of(lane, lane));
}

void hp_channel_came(int fd)
{
	int saved = errno;

	hp_channel_forget(fd);
	errno = saved;
}

/* --- copies --- */

/* Every command takes at most one argument, of one word. */
int hp_channel_control(int (*real)(int, int, ...), int fd, int command, void *argument)
{
	int result = real(fd, command, argument);
	struct hp_lane *lane;

	if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC))
		hp_channel_copied(fd, result);
	if (result > 0 && command == F_SETPIPE_SZ) {
		lane = hp_channel_out(fd);
		lane = lane ? lane : hp_channel_in(fd);
		if (lane && lane->unit == HP_LANE_BYTES) {
			lane->capacity = (uint64_t)result;
			lane->safe = result > 4 * HP_PAGE ? (uint64_t)result / 2 - HP_PAGE : 0;
		}
	}
	return result;
}

/* --- the program's own system calls --- */

bool hp_channel_raw_before(long number, long a, long b, long c)
{
	if (number == SYS_close)
		hp_channel_forget((int)a);
	else if (number == SYS_close_range && (unsigned)c & CLOSE_RANGE_UNSHARE)
		hp_file_keep_none();
	if (number == SYS_close_range && !((unsigned)c & CLOSE_RANGE_CLOEXEC))
		hp_channel_forget_range((unsigned)a, (unsigned)b);
	return number != SYS_close && number != SYS_close_range;
}

void hp_channel_raw_after(long a, long result)
{
	if (result >= 0)
		hp_channel_copied((int)a, (int)result);
}

/* --- fork, exec, exit --- */

static void each_word(void (*what)(uint64_t word))
{
	unsigned end = atomic_load_explicit(&above, memory_order_relaxed);

	for (unsigned fd = 0; fd < end; fd++)
		what(word_at((int)fd));
}

/* For a child: none of them ends when this process has closed it. */
static void word_share(uint64_t word)
{
	struct hp_lane *out = hp_channel_lane(word >> 32);
	struct hp_lane *in = hp_channel_lane(word & UINT32_MAX);

	if (!is_channel(word))
		return;
	word_hold(word);
	if (out)
		atomic_store_explicit(&out->shared, 1, memory_order_relaxed);
	if (in)
		atomic_store_explicit(&in->shared, 1, memory_order_relaxed);
}

/*
 * The kernel does not identify eventfds. For an eventfd passed to another
 * process, only bounds are known: the other process's additions and reads
 * are not recorded.
 */
void hp_channel_forget_range(unsigned first, unsigned last)
{
	unsigned end = atomic_load_explicit(&above, memory_order_relaxed);
	int saved;

	if (end < hp_watch_end())
		end = hp_watch_end();
	if (end < (unsigned)hp_file_kept_end)
		end = (unsigned)hp_file_kept_end;
	if (!end)
		return;
	saved = errno;
	for (unsigned fd = first; fd <= last && fd < end; fd++)
		hp_channel_forget((int)fd);
	errno = saved;
}

static void veil_tokens(uint64_t word)
{
	const uint32_t all = HP_VEILED_SENDS | HP_VEILED_RECEIVES | HP_LANE_MIXED;
	struct hp_lane *lane = is_channel(word) ? hp_channel_lane(word >> 32) : NULL;

	if (lane && lane->unit == HP_LANE_TOKENS)
		atomic_fetch_or_explicit(&lane->veiled, all, memory_order_relaxed);
}

void hp_channel_share(int fd)
{
	if (!is_told(fd))
		return;
	veil_tokens(word_at(fd));
	word_share(word_at(fd));
}

void hp_channel_fork(void)
{
	each_word(word_share);
}

void hp_channel_fork_failed(void)
{
	each_word(word_drop);
}

static void word_leave(uint64_t word, bool is_exec)
{
	struct hp_lane *out = hp_channel_lane(word >> 32);
	struct hp_lane *in = hp_channel_lane(word & UINT32_MAX);

	if (!is_channel(word))
		return;
	if (out)
		hp_lane_leave(out, true, is_exec);
	if (in)
		hp_lane_leave(in, false, is_exec);
}

void hp_channel_leave(bool is_exec)
{
	unsigned end = atomic_load_explicit(&above, memory_order_relaxed);

	if (!end || !is_ours() || atomic_exchange_explicit(&has_left, 1, memory_order_relaxed))
		return;
	for (unsigned fd = 0; fd < end; fd++)
		word_leave(word_at((int)fd), is_exec);
}

void hp_channel_come_back(void)
{
	if (is_ours() && atomic_exchange_explicit(&has_left, 0, memory_order_relaxed))
		each_word(word_hold);
}

/* Each is looked up in the kernel again, and then gets a lane in the next segment. */
void hp_channel_forget_all(void)
{
	unsigned end = atomic_load_explicit(&above, memory_order_relaxed);

	for (unsigned fd = 0; fd < end; fd++)
		atomic_store_explicit(&hp_channel_fds[fd], HP_FD_UNKNOWN, memory_order_relaxed);
	atomic_store_explicit(&has_left, 0, memory_order_relaxed);
}
