/* SPDX-License-Identifier: MIT */
/*
 * segment.c - how large a segment may be, where it lives, and how it is mapped.
 *
 * It is a sparse memfd: /dev/shm is 64 MB in a container, and a page that a
 * full tmpfs refuses is a SIGBUS in the target.  The limits are read before
 * anything is created: ftruncate beyond RLIMIT_FSIZE kills the process, and a
 * mapping that just fits RLIMIT_AS leaves the target no room.
 *
 * If the kernel may still refuse a page (a file on a disk that fills up,
 * overcommit_memory=2, a tmpfs), the segment is `careful`: hp_segment_take
 * allocates the pages first, and refuses the chunk if the kernel refuses them.
 */
#include "segment/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "segment/clock.h"
#include "segment/guard.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23	/* Linux 5.14 */
#endif

#define SHARE_OF_CGROUP 4
#define SIZE_SECOND_TRY (UINT64_C(64) << 20)
#define ROOM_TO_GROW UINT64_C(16384)	/* records: a live segment grows while it is read */
#define SIZE_WITHOUT_POPULATE (UINT64_C(16) << 20)
#define SEARCHED_CHUNK UINT64_C(4096)	/* some twenty processes or objects */
#define SEARCHED_LARGE 16	/* lines; larger ones have room of their own */

/* ---- limits ---- */

/* The start of a small file, 0-terminated.  Returns its length, or -1. */
static ssize_t read_text(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	ssize_t size = read(fd, text, room - 1);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	return size;
}

/* The number in a file; UINT64_MAX if none exists ("max", no such file). */
static uint64_t read_number(const char *path)
{
	char text[32];
	uint64_t number = 0;

	if (read_text(path, text, sizeof(text)) <= 0 || text[0] < '0' || text[0] > '9')
		return UINT64_MAX;
	for (const char *at = text; *at >= '0' && *at <= '9'; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	return number;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * The tightest limit of a cgroup and those above it.  `root` is where they are
 * mounted, `group` the part of the path after it, up to `end`.
 */
static uint64_t group_limit(const char *root, const char *group, const char *end, const char *file)
{
	char path[512];
	size_t root_size = strlen(root);
	uint64_t limit = UINT64_MAX;

	for (;;) {
		size_t group_size = (size_t)(end - group);

		if (root_size + group_size + strlen(file) + 2 <= sizeof(path)) {
			memcpy(path, root, root_size);
			memcpy(path + root_size, group, group_size);
			path[root_size + group_size] = '/';
			strcpy(path + root_size + group_size + 1, file);
			limit = least(limit, read_number(path));
		}
		if (end == group)
			return limit;
		while (--end > group && *end != '/')
			;
	}
}

uint64_t hp_segment_cgroup_limit(void)
{
	char text[2048];
	uint64_t limit = UINT64_MAX;

	if (read_text("/proc/self/cgroup", text, sizeof(text)) <= 0)
		return limit;
	for (char *line = text; *line;) {
		char *end = strchrnul(line, '\n');
		char *group = memchr(line, '/', (size_t)(end - line));

		/* "0::/GROUP" or "N:memory:/GROUP"; the root, "/", itself has no limit file. */
		if (group && !strncmp(line, "0::", 3))
			limit = least(limit,
				      group_limit("/sys/fs/cgroup", group, end, "memory.max"));
		else if (group && group - line >= 8 && !strncmp(group - 8, ":memory:", 8))
			limit = least(limit, group_limit("/sys/fs/cgroup/memory", group, end,
							 "memory.limit_in_bytes"));
		line = *end ? end + 1 : end;
	}
	return limit;
}

static uint64_t resource_limit(int resource)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

/* The size to create, a multiple of a page; less than HP_SIZE_MIN = no room. */
static uint64_t size_allowed(uint64_t wished)
{
	uint64_t size = least(wished ? wished : HP_SIZE_DEFAULT, HP_SIZE_MAX);

	size = least(size, resource_limit(RLIMIT_AS) / HP_SEGMENT_SHARE);
	size = least(size, resource_limit(RLIMIT_FSIZE));
	size = least(size, hp_segment_cgroup_limit() / SHARE_OF_CGROUP);
	return size & ~(uint64_t)(HP_PAGE - 1);
}

/* ---- the file after it ---- */

/* `path` with each %p replaced by the pid.  False if it does not fit. */
static bool expand_path(char *to, size_t room, const char *path)
{
	size_t size = 0;

	for (; *path; path++) {
		char digits[12];
		size_t count = 0;

		if (path[0] == '%' && path[1] == 'p') {
			for (uint32_t pid = (uint32_t)getpid(); pid; pid /= 10)
				digits[count++] = (char)('0' + pid % 10);
			path++;
		} else {
			digits[count++] = *path;
		}
		if (size + count >= room)
			return false;
		while (count)
			to[size++] = digits[--count];
	}
	to[size] = '\0';
	return true;
}

/* True if the file is empty or starts like a segment: only these are replaced. */
static bool is_replaceable(const char *path)
{
	uint64_t magic = 0;
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return false;
	bool is_ours =
		fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
		(status.st_size == 0 ||
		 (pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic == HP_MAGIC));
	close(fd);
	return is_ours;
}

/*
 * Always creates a new file: a process may still have the old one mapped.
 * Returns a descriptor or -errno; -EEXIST = the name is taken by something
 * else.
 */
static int open_path(const char *wished)
{
	char path[1024];

	if (!expand_path(path, sizeof(path), wished))
		return -ENAMETOOLONG;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST) {
		if (!is_replaceable(path) || unlink(path) < 0)
			return -EEXIST;
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	return fd < 0 ? -errno : fd;
}

/* Removes the unusable file that open_path created. */
static void remove_path(const char *wished, int fd)
{
	char path[1024];
	struct stat ours, there;

	if (expand_path(path, sizeof(path), wished) && fstat(fd, &ours) == 0 &&
	    lstat(path, &there) == 0 && ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
		unlink(path);
}

/*
 * Returns a descriptor or -errno.  `careful` is set where pages may be refused.
 * Seals keep other processes from changing its size, and let the sampler find
 * out whether any process still maps it.
 */
static int open_memory(uint32_t *careful)
{
	static const char *const folders[] = { "/dev/shm", "/tmp", "/var/tmp" };
	int fd = (int)syscall(SYS_memfd_create, "hotpath", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0) {
		char text[8];

		*careful = read_text("/proc/sys/vm/overcommit_memory", text, sizeof(text)) > 0 &&
			   text[0] == '2';
		return fd;
	}
	int first = errno;
	*careful = 1;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		fd = open(folders[i], O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
	}
	return -first;
}

/* ---- mapping ---- */

static int fail(struct hp_segment *segment, const char *what, int error)
{
	hp_segment_release(segment);
	segment->failed = what;
	return -error;
}

static bool map_shared(struct hp_segment *segment, uint64_t size, int protection)
{
	void *base = mmap(NULL, size, protection, MAP_SHARED, segment->fd, 0);

	if (base == MAP_FAILED)
		return false;
	madvise(base, size, MADV_DONTDUMP);
	segment->header = base;
	segment->size = size;
	segment->is_shared = true;
	return true;
}

/* ftruncate and mmap, retried once with a smaller size. */
static int make_size(struct hp_segment *segment, uint64_t size)
{
	for (;;) {
		if (ftruncate(segment->fd, (off_t)size) == 0 &&
		    map_shared(segment, size, PROT_READ | PROT_WRITE))
			return 0;
		if (size <= SIZE_SECOND_TRY)
			return -errno;
		size = SIZE_SECOND_TRY;
	}
}

/*
 * Pages must be allocated without SIGBUS. Before Linux 5.14 that is only
 * possible for a whole file, so the file is small.
 */
static int make_careful(struct hp_segment *segment)
{
	if (madvise(segment->header, HP_PAGE, MADV_POPULATE_WRITE) == 0)
		return 0;
	/* EFAULT: touching the page would raise SIGBUS, for lack of room. */
	if (errno != EINVAL)
		return errno == EFAULT ? -ENOSPC : -errno;
	if (segment->size > SIZE_WITHOUT_POPULATE) {
		munmap(segment->header, segment->size);
		segment->header = NULL;
		int error = make_size(segment, SIZE_WITHOUT_POPULATE);
		if (error)
			return error;
	}
	return fallocate(segment->fd, 0, 0, (off_t)segment->size) < 0 ? -errno : 0;
}

/*
 * Every joining process gets a descriptor; shrinking the file would raise
 * SIGBUS in all of them. A file on disk has no seals. F_SEAL_SEAL is not set
 * yet: see hp_end_is_alone.
 */
static void fix_size(const struct hp_segment *segment)
{
	fcntl(segment->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
}

/* Further levels belong to those that the session's own segment names. */
static void fill_owner(const struct hp_segment *segment)
{
	struct hp_levels *levels = hp_segment_levels(segment);

	levels->user = geteuid();
	levels->group = getegid();
	levels->flags = HP_LEVEL_OWNED;
}

static void fill_header(struct hp_segment *segment, const struct hp_segment_wish *wish,
			uint32_t careful)
{
	struct hp_header *header = segment->header;
	struct timespec now;

	header->format = HP_FORMAT;
	header->header_size = sizeof(*header);
	header->size = segment->size;
	header->clock_kind = hp_clock_choose();
	header->timing = wish->timing;
	header->clock_grain = hp_clock_grain(header->clock_kind);
	header->logs_limit = wish->logs_limit;
	header->creator_pid = (uint32_t)getpid();
	header->careful = careful != 0;
	header->root_pid = wish->root_pid;
	header->runner_pid = wish->runner_pid;
	if (wish->token)
		memcpy(header->token, wish->token, sizeof(header->token));
	header->start = header->last = hp_clock_moment(header->clock_kind);
	clock_gettime(CLOCK_REALTIME, &now);
	header->created_unix_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	atomic_store_explicit(&header->used, HP_PAGE, memory_order_relaxed);
	fill_owner(segment);
	hp_segment_recorded(segment, HP_RECORDED_KNOWN);
	/* Readers that find the magic find all of the above. */
	atomic_store_explicit(&header->magic, HP_MAGIC, memory_order_release);
}

static int create(struct hp_segment *segment, const struct hp_segment_wish *wish)
{
	uint32_t careful = 1;
	uint64_t size = size_allowed(wish->size);
	bool has_path = wish->path && wish->path[0];

	*segment = (struct hp_segment)HP_SEGMENT_NONE;
	if (size < HP_SIZE_MIN)
		return fail(segment, "RLIMIT_AS, RLIMIT_FSIZE or the cgroup leaves no room",
			    ENOMEM);
	int fd = has_path ? open_path(wish->path) : open_memory(&careful);
	if (fd < 0)
		return fail(segment, has_path ? "HOTPATH_SEGMENT_PATH" : "memfd_create", -fd);
	segment->fd = fd;
	int error = make_size(segment, size);
	if (!error && careful)
		error = make_careful(segment);
	if (error && has_path)
		remove_path(wish->path, fd);
	if (error)
		return fail(segment, "map the segment", -error);
	fix_size(segment);
	fill_header(segment, wish, careful);
	return 0;
}

int hp_segment_create(struct hp_segment *segment, const struct hp_segment_wish *wish)
{
	int saved = errno;
	int error = create(segment, wish);

	errno = saved;
	return error;
}

/* ---- further levels ---- */

static void fill_level(struct hp_segment *segment, const struct hp_segment *session, uint64_t begin)
{
	struct hp_header *header = segment->header;

	memcpy(header, session->header, sizeof(*header));
	atomic_store_explicit(&header->magic, 0, memory_order_relaxed);
	header->size = segment->size;
	header->creator_pid = (uint32_t)getpid();
	header->defaults = 0;
	header->refused = header->lost_calls = header->lost_threads = 0;
	header->joined = header->threads_seen = 0;
	header->processes = header->objects = 0;
	header->end_word = HP_END_RUNNING;
	/* A thread that waits for the report must not assume that the sampler is up. */
	atomic_store_explicit(&header->sampler_area, begin, memory_order_relaxed);
	atomic_store_explicit(&header->sampler_pid, header->creator_pid, memory_order_relaxed);
	atomic_store_explicit(&header->used, begin + HP_PAGE, memory_order_relaxed);
	hp_segment_levels(segment)->begin = begin;
	hp_segment_recorded(segment, HP_RECORDED_KNOWN);
	/* A reader that finds the magic finds all of the above. */
	atomic_store_explicit(&header->magic, HP_MAGIC, memory_order_release);
}

int hp_segment_create_level(struct hp_segment *segment, const struct hp_segment *session,
			    uint64_t begin, uint64_t end)
{
	uint32_t careful = 1;

	*segment = (struct hp_segment)HP_SEGMENT_NONE;
	segment->fd = open_memory(&careful);
	if (segment->fd < 0)
		return fail(segment, "memfd_create", -segment->fd);
	if (ftruncate(segment->fd, (off_t)end) < 0 ||
	    !map_shared(segment, end, PROT_READ | PROT_WRITE))
		return fail(segment, "map the segment", errno);
	if (careful && madvise(segment->header, HP_PAGE, MADV_POPULATE_WRITE) < 0)
		return fail(segment, "have its first page", errno);
	fix_size(segment);
	fill_level(segment, session, begin);
	segment->header->careful = careful != 0;
	return 0;
}

/* ---- joining and reading ---- */

static bool has_sane_lists(const struct hp_header *header)
{
	uint64_t heads[] = {
		atomic_load_explicit(&header->processes, memory_order_relaxed),
		atomic_load_explicit(&header->objects, memory_order_relaxed),
		atomic_load_explicit(&header->sampler_area, memory_order_relaxed),
	};

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (heads[i] % HP_LINE || (heads[i] && heads[i] < HP_PAGE) ||
		    heads[i] >= header->size)
			return false;
	return true;
}

static bool is_sane(const struct hp_header *header)
{
	return header->header_size >= sizeof(*header) && header->header_size <= HP_PAGE &&
	       header->size >= HP_SIZE_MIN && header->size <= HP_SIZE_MAX &&
	       header->size % HP_PAGE == 0 && header->clock_kind >= HP_CLOCK_TSC &&
	       header->clock_kind <= HP_CLOCK_MONOTONIC_RAW && header->clock_grain > 0 &&
	       header->logs_limit <= HP_LOGS_MAX && has_sane_lists(header) &&
	       atomic_load_explicit(&header->used, memory_order_relaxed) >= HP_PAGE;
}

enum hp_segment_fault hp_segment_check(const struct hp_header *header, uint64_t file_size)
{
	if (atomic_load_explicit(&header->magic, memory_order_acquire) != HP_MAGIC)
		return HP_SEGMENT_FOREIGN;
	if (header->format > HP_FORMAT)
		return HP_SEGMENT_NEWER;
	if (header->format != HP_FORMAT || !is_sane(header))
		return HP_SEGMENT_CORRUPTED;
	uint64_t used = atomic_load_explicit(&header->used, memory_order_relaxed);
	return file_size < least(used, header->size) ? HP_SEGMENT_TRUNCATED : HP_SEGMENT_FINE;
}

/* The same before mapping, on a copy: the file may be a few bytes long. */
static enum hp_segment_fault check_fd(int fd, uint64_t *size)
{
	struct hp_header copy;
	struct stat status;

	memset(&copy, 0, sizeof(copy));
	if (fstat(fd, &status) < 0)
		return HP_SEGMENT_MISSING;
	if (!S_ISREG(status.st_mode))
		return HP_SEGMENT_FOREIGN;
	ssize_t got = pread(fd, &copy, sizeof(copy), 0);
	if (got < 0)
		return HP_SEGMENT_UNMAPPED;
	if (got >= (ssize_t)sizeof(copy.magic) && (size_t)got < sizeof(copy))
		return copy.magic == HP_MAGIC ? HP_SEGMENT_TRUNCATED : HP_SEGMENT_FOREIGN;
	enum hp_segment_fault fault = hp_segment_check(&copy, (uint64_t)status.st_size);
	*size = least((uint64_t)status.st_size, copy.size);
	return fault;
}

bool hp_segment_level_of(int fd, const struct hp_header *session, uint64_t *begin, uint64_t *size)
{
	struct hp_levels levels;
	struct hp_header header;

	if (check_fd(fd, size) != HP_SEGMENT_FINE ||
	    pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    pread(fd, &levels, sizeof(levels), HP_LEVELS_AT) != (ssize_t)sizeof(levels))
		return false;
	*begin = levels.begin;
	return *begin % HP_PAGE == 0 && *begin + HP_PAGE < *size && header.size == *size &&
	       header.clock_kind == session->clock_kind &&
	       memcmp(header.token, session->token, sizeof(header.token)) == 0;
}

static int attach(struct hp_segment *segment, int fd, bool reserves)
{
	uint64_t size;

	*segment = (struct hp_segment)HP_SEGMENT_NONE;
	if (check_fd(fd, &size) != HP_SEGMENT_FINE)
		return fail(segment, "not a segment of this version", EPROTO);
	segment->fd = fd;
	bool is_mapped = (reserves && hp_segment_map_reserved(segment, size)) ||
			 map_shared(segment, size, PROT_READ | PROT_WRITE);
	if (!is_mapped || segment->header->size != size) {
		int error = segment->header ? EPROTO : errno;

		segment->fd = -1;	/* still owned by the caller */
		return fail(segment, "map the segment", error);
	}
	hp_guard_add(segment, fd);
	return 0;
}

int hp_segment_attach(struct hp_segment *segment, int fd)
{
	int saved = errno;
	int error = attach(segment, fd, false);

	errno = saved;
	return error;
}

int hp_segment_attach_reserved(struct hp_segment *segment, int fd)
{
	int saved = errno;
	int error = attach(segment, fd, true);

	errno = saved;
	return error;
}

/*
 * Bytes of `fd` that are not holes, in the first `size`; `size` if the file
 * system does not support holes.
 */
static uint64_t bytes_of_data(int fd, uint64_t size)
{
	uint64_t sum = 0;
	off_t at = 0, end;

	while ((uint64_t)at < size && (at = lseek(fd, at, SEEK_DATA)) >= 0) {
		end = lseek(fd, at, SEEK_HOLE);
		if (end <= at)
			return size;
		sum += (uint64_t)(end - at);
		at = end;
	}
	return at >= 0 || errno == ENXIO ? least(sum, size) : size;
}

/* Blocks are counted by one call, but a file system that compresses has fewer of them than data. */
uint64_t hp_segment_records_most(int fd, uint64_t size)
{
	struct statfs system;
	struct stat status;
	uint64_t there;

	if (fstat(fd, &status) < 0 || fstatfs(fd, &system) < 0)
		return 0;
	there = (uint64_t)status.st_blocks * 512;
	if (system.f_type == TMPFS_MAGIC)
		return least(there, size) / HP_LINE + ROOM_TO_GROW;
	if (there < size) {
		off_t place = lseek(fd, 0, SEEK_CUR);

		there = bytes_of_data(fd, size);
		lseek(fd, place, SEEK_SET);
	}
	return least(there, size) / HP_LINE + 1;
}

/*
 * A file in a setgid folder has the folder's group, not one of its owner's. Data from a pipe
 * may be anybody's.
 */
struct hp_user hp_segment_owner(int fd)
{
	struct stat status;

	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return hp_user_of(status.st_uid, HP_USER_UNKNOWN);
	return geteuid() == 0 ? hp_user_unknown() : (struct hp_user){ false, 0, 0 };
}

enum hp_segment_fault hp_segment_map_fd(struct hp_segment *segment, int fd)
{
	uint64_t size = 0;

	*segment = (struct hp_segment)HP_SEGMENT_NONE;
	enum hp_segment_fault fault = check_fd(fd, &size);
	if (fault != HP_SEGMENT_FINE)
		return fault;
	segment->fd = fd;
	bool is_mapped = map_shared(segment, size & ~(uint64_t)(HP_LINE - 1), PROT_READ);
	segment->fd = -1;
	if (!is_mapped)
		return HP_SEGMENT_UNMAPPED;
	segment->records_most = hp_segment_records_most(fd, size);
	segment->owner = hp_segment_owner(fd);
	hp_guard_add(segment, fd);
	return HP_SEGMENT_FINE;
}

const char *hp_segment_fault_text(enum hp_segment_fault fault)
{
	switch (fault) {
	case HP_SEGMENT_FINE:
		return "is a segment";
	case HP_SEGMENT_MISSING:
		return "cannot be opened";
	case HP_SEGMENT_FOREIGN:
		return "is not a hotpath segment";
	case HP_SEGMENT_TRUNCATED:
		return "is truncated";
	case HP_SEGMENT_NEWER:
		return "was written by a newer version of hotpath";
	case HP_SEGMENT_CORRUPTED:
		return "is corrupted: its header contradicts itself";
	case HP_SEGMENT_UNMAPPED:
		return "cannot be mapped";
	}
	return "is of an unknown kind";
}

void hp_segment_close_fd(struct hp_segment *segment)
{
	int saved = errno;

	if (segment->fd >= 0)
		syscall(SYS_close, segment->fd);
	segment->fd = -1;
	errno = saved;
}

void hp_segment_release(struct hp_segment *segment)
{
	int saved = errno;

	hp_segment_close_fd(segment);
	if (segment->header && !segment->is_lent) {
		hp_guard_remove(segment);
		munmap(segment->header, hp_segment_addresses(segment));
	}
	*segment = (struct hp_segment)HP_SEGMENT_NONE;
	errno = saved;
}

/* ---- giving out ---- */

/* Allocates pages that may be refused; otherwise a store would raise SIGBUS. */
static bool has_pages(const struct hp_segment *segment, uint64_t offset, uint64_t bytes)
{
	int saved = errno;
	uint64_t begin = offset & ~(uint64_t)(HP_PAGE - 1);

	if (!segment->header->careful || madvise((char *)segment->header + begin,
						 offset + bytes - begin, MADV_POPULATE_WRITE) == 0)
		return true;
	/* EINVAL: an old kernel, where make_careful has reserved everything. */
	bool is_reserved = errno == EINVAL;
	errno = saved;
	return is_reserved;
}

/* End of the allocated part. */
static uint64_t end_of_room(const struct hp_segment *segment)
{
	uint64_t end = atomic_load(&hp_segment_room(segment)->room) & ~(uint64_t)(HP_PAGE - 1);
	uint64_t size = __atomic_load_n(&segment->size, __ATOMIC_RELAXED);

	return end && end < size ? end : size;
}

uint64_t hp_segment_take(const struct hp_segment *segment, uint64_t bytes, uint64_t align)
{
	struct hp_header *header = segment->header;
	uint64_t room = (bytes + HP_LINE - 1) & ~(uint64_t)(HP_LINE - 1), end;

	/* `used` is a multiple of HP_LINE; more than that is paid for with padding. */
	if (align > HP_LINE)
		room += align - HP_LINE;
	/* Check first: a chunk that is too large must not use up the rest for small ones. */
	uint64_t used = atomic_load_explicit(&header->used, memory_order_relaxed);
	end = end_of_room(segment);
	if (bytes <= end && used <= end && room <= end - used) {
		/*
		 * room_bound in room.c explains the order; the caller publishes
		 * the chunk when it links it.
		 */
		used = atomic_fetch_add(&header->used, room);
		uint64_t offset = (used + align - 1) & ~(align - 1);

		end = end_of_room(segment);
		if (offset <= end && bytes <= end - offset && has_pages(segment, offset, bytes))
			return offset;
	}
	atomic_fetch_add_explicit(&header->refused, 1, memory_order_relaxed);
	return 0;
}

/*
 * The rest of a chunk is lost if another process gets one at the same time. No harm is done if
 * the word is wrong, since any program with our rights may write all records anyway: the caller
 * checks that the offset is in the segment.
 */
static uint64_t take_with_chunk(const struct hp_segment *segment, uint64_t lines, uint64_t left)
{
	uint64_t offset = hp_segment_take(segment, SEARCHED_CHUNK, HP_LINE);
	uint64_t rest = (offset / HP_LINE + lines) << 8 | (SEARCHED_CHUNK / HP_LINE - lines);

	if (offset)
		atomic_compare_exchange_strong_explicit(&hp_segment_vacant(segment)->searched,
							&left, rest, memory_order_relaxed,
							memory_order_relaxed);
	return offset;
}

uint64_t hp_segment_take_searched(const struct hp_segment *segment, uint64_t bytes)
{
	_Atomic uint64_t *room = &hp_segment_vacant(segment)->searched;
	uint64_t lines = (bytes + HP_LINE - 1) / HP_LINE, offset;
	uint64_t left = atomic_load_explicit(room, memory_order_relaxed);

	while ((left & 0xff) >= lines)
		/* Relaxed: the room is zeroed, and the caller publishes what it writes there. */
		if (atomic_compare_exchange_weak_explicit(
			    room, &left, ((left >> 8) + lines) << 8 | ((left & 0xff) - lines),
			    memory_order_relaxed, memory_order_relaxed))
			return (left >> 8) * HP_LINE;
	offset = lines <= SEARCHED_LARGE ? take_with_chunk(segment, lines, left) : 0;
	return offset ? offset : hp_segment_take(segment, bytes, HP_LINE);
}
