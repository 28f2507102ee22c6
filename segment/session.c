/* SPDX-License-Identifier: MIT */
/*
 * session.c - the socket that leads to the segment, and the birth of helpers.
 *
 * There are two ways to join.  A process with the sampler's own rights opens the sampler's
 * descriptor by /proc/PID/fd: that needs no answer, so it works at once, in another network
 * namespace, and while the sampler is stopped.  All others ask over the socket, which works across
 * users, PID namespaces and chroots; both sides check each other's credentials, since abstract
 * socket names are public.
 *
 * A helper is born by two clones that share our memory (no page table is
 * copied, however large the target is) while we are suspended until its exec:
 *
 *   target ── clone, exit signal 0 ──▶ intermediate ── clone ──▶ helper ── exec
 *          ◀── wait4(pid, __WCLONE) ── exits at once; init adopts the helper
 *
 * One clone is not enough: exec resets the exit signal to SIGCHLD, so every
 * wait() of the target would see the helper. clone() instead of fork() runs no
 * atfork handler of the target. The children only make system calls on their
 * own stacks; they share errno, which is saved, and have copies of everything
 * else. _exit, execve and wait4 are direct system calls, since the library
 * interposes those functions.
 */
#include "segment/session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "segment/clock.h"
#include "segment/fd_pass.h"
#include "segment/newer.h"
#include "segment/rights.h"
#include "util/hash.h"

#define JOIN_WAIT_MS 1000	/* a stopped sampler delays a program by as much */
#define BIRTH_WAIT_MS 5000	/* for one that has just been started, on a busy machine */
#define LOOK_WAIT_MS 2000	/* for readers: a busy helper has to get a core first */
#define END_SLICE_NS 100000000
#define COME_UP_PART 5	/* for the whole wait: a sampler needs 1 ms of CPU */
#define ALONE_SLICE_NS 2000000
#define BACKLOG 1024	/* the kernel cuts it to net.core.somaxconn */
#define FEW_CPUS 4
#define STACK_SIZE 32768
#define SIGNALS_SIZE 8	/* the kernel's sigset_t; glibc's hides two signals */

/* ---- token and text ---- */

void hp_session_init(struct hp_session *session)
{
	int saved = errno;
	uint64_t value;

	*session = (struct hp_session){ .socket = -1 };
	if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != sizeof(value)) {
		/* Early boot or an old sandbox: the token must be unique, not secret. */
		value = hp_clock_raw_ns() ^ ((uint64_t)getpid() << 40);
		value *= HP_HASH_GOLDEN;
	}
	for (int i = 0; i < HP_TOKEN_SIZE; i++, value >>= 4)
		session->token[i] = "0123456789abcdef"[value & 15];
	errno = saved;
}

static char *add_number(char *to, uint64_t number)
{
	char digits[24];
	size_t count = 0;

	do {
		digits[count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	while (count)
		*to++ = digits[--count];
	return to;
}

void hp_session_text(const struct hp_session *session, char text[HP_SESSION_TEXT])
{
	memcpy(text, session->token, HP_TOKEN_SIZE);
	text[HP_TOKEN_SIZE] = ':';
	*add_number(text + HP_TOKEN_SIZE + 1, session->sampler_pid) = '\0';
}

void hp_begin_text(const struct hp_begin *begin, char text[HP_BEGIN_TEXT])
{
	const uint64_t numbers[] = { begin->root_pid, begin->runner_pid, begin->start_ns,
				     (uint64_t)begin->created_unix_ns };

	for (int i = 0; i < 4; i++) {
		text = add_number(text, numbers[i]);
		*text++ = i < 3 ? ':' : '\0';
	}
}

bool hp_begin_read(struct hp_begin *begin, const char *text)
{
	uint64_t numbers[4] = { 0 };

	*begin = (struct hp_begin){ .root_pid = 0 };
	for (int i = 0; text && i < 4; i++) {
		if (*text < '0' || *text > '9')
			return false;
		for (; *text >= '0' && *text <= '9'; text++)
			numbers[i] = numbers[i] * 10 + (uint64_t)(*text - '0');
		if (*text != (i < 3 ? ':' : '\0'))
			return false;
		text++;
	}
	*begin = (struct hp_begin){ (uint32_t)numbers[0], (uint32_t)numbers[1], numbers[2],
				    (int64_t)numbers[3] };
	return text != NULL;
}

/* The reverse. False if the text is invalid. */
static bool parse_text(struct hp_session *session, const char *text)
{
	uint64_t pid = 0;

	*session = (struct hp_session){ .socket = -1 };
	for (int i = 0; i < HP_TOKEN_SIZE; i++) {
		bool is_hex =
			(text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');

		if (!is_hex)
			return false;
		session->token[i] = text[i];
	}
	if (text[HP_TOKEN_SIZE] != ':')
		return false;
	for (text += HP_TOKEN_SIZE + 1; *text >= '0' && *text <= '9' && pid < INT_MAX; text++)
		pid = pid * 10 + (uint64_t)(*text - '0');
	session->sampler_pid = (uint32_t)pid;
	return *text == '\0' && pid < INT_MAX;
}

/* ---- the socket ---- */

static socklen_t fill_address(struct sockaddr_un *address, const char *prefix, const char *token)
{
	size_t size = strlen(prefix);

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;	/* sun_path[0] stays 0: the abstract name space */
	memcpy(address->sun_path + 1, prefix, size);
	memcpy(address->sun_path + 1 + size, token, HP_TOKEN_SIZE);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size + HP_TOKEN_SIZE);
}

static int listen_at(struct hp_session *session)
{
	struct sockaddr_un address;
	socklen_t size = fill_address(&address, HP_SOCKET_NAME, session->token);

	/* A server must never wait for a client that has gone. */
	session->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (session->socket < 0)
		return -errno;
	if (bind(session->socket, (struct sockaddr *)&address, size) < 0 ||
	    listen(session->socket, BACKLOG) < 0)
		return -errno;
	return 0;
}

int hp_session_listen(struct hp_session *session)
{
	int saved = errno;
	int error = listen_at(session);

	if (error)
		hp_session_release(session);
	session->failed = error ? "open the session's socket" : NULL;
	errno = saved;
	return error;
}

void hp_session_release(struct hp_session *session)
{
	int saved = errno;

	if (session->socket >= 0)
		close(session->socket);
	session->socket = -1;
	errno = saved;
}

/*
 * Only root, or the one user that we are or can become, may give us memory to
 * write to. So root never joins a user's session.
 */
static bool is_trusted(uid_t user)
{
	uid_t real, effective, saved;

	if (user == 0)
		return true;
	return getresuid(&real, &effective, &saved) == 0 && user == effective && user == real &&
	       user == saved;
}

static bool is_trusted_peer(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && is_trusted(peer.uid);
}

/* Root may read everybody's figures. */
static bool is_readable_peer(int fd)
{
	return geteuid() == 0 || is_trusted_peer(fd);
}

/* Checks the memory's owner: the process behind /proc/PID/fd may be anybody's. */
static bool is_trusted_file(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && is_trusted(status.st_uid);
}

/* Asks the sampler; `own` is an address to ask from, or NULL.  Returns a socket or -errno. */
static int ask_socket(const char *token, const struct hp_session *own, uint64_t wait_ms)
{
	struct sockaddr_un address;
	struct timeval wait = { (time_t)(wait_ms / 1000), (suseconds_t)(wait_ms % 1000 * 1000) };
	int error = -EPERM;

	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	socklen_t size = own ? fill_address(&address, HP_READER_NAME, own->token) : 0;
	if (own && bind(fd, (struct sockaddr *)&address, size) < 0) {
		error = -errno;
		close(fd);
		return error;
	}
	size = fill_address(&address, HP_SOCKET_NAME, token);
	/* A connect to a full backlog blocks like a send. */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (connect(fd, (struct sockaddr *)&address, size) < 0)
		error = -errno;
	else if (own ? is_readable_peer(fd) : is_trusted_peer(fd))
		return fd;
	close(fd);
	return error;
}

/* The first descriptor that it sends, or -errno. */
static int ask_first(const char *token, const struct hp_session *own, uint64_t wait_ms)
{
	int server = ask_socket(token, own, wait_ms);

	if (server < 0)
		return server;
	int fd = own ? hp_fd_receive_to_read(server, 0) : hp_fd_receive(server, 0);
	close(server);
	return fd;
}

static bool is_of_level(int fd)
{
	struct stat status;

	return fstat(fd, &status) < 0 || (status.st_mode & S_ISVTX);
}

/* A pid that has been reused must not make us open its devices and pipes. */
static int open_regular(int folder, const char *path)
{
	struct stat status;

	if (fstatat(folder, path, &status, 0) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EPROTO;
	int fd = (int)syscall(SYS_openat, folder, path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/*
 * Opens the sampler's own descriptor, if that is the one that the sampler would send: to a process
 * of its own trust level.  If the sampler has gone, its number may be that of a program that a user
 * started with root's rights, and with a segment of the user's level.  Returns a descriptor or -errno.
 */
static int open_shared(struct hp_session *session)
{
	char path[32] = "/proc/";
	int folder, fd;

	*add_number(path + strlen(path), session->sampler_pid) = '\0';
	folder = (int)syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	fd = open_regular(folder, "fd/3");
	if (fd >= 0)
		session->user_namespace = hp_rights_shared(folder, session->sampler_pid);
	if (fd >= 0 && (!session->user_namespace || is_of_level(fd))) {
		syscall(SYS_close, fd);
		fd = -EPERM;
	}
	syscall(SYS_close, folder);
	return fd;
}

/* True, and the segment is mapped, if `fd` is this session's; closes it if not. */
static int attach(struct hp_session *session, struct hp_segment *segment, int fd)
{
	struct hp_rights own;
	int error = -EPERM;

	session->can_drop = hp_rights_own(&own) && !hp_rights_are_least(&own);
	/* As hp_level_begin would reserve it, but without mapping it twice. */
	if (is_trusted_file(fd))
		error = session->can_drop ? hp_segment_attach_reserved(segment, fd)
					  : hp_segment_attach(segment, fd);
	if (error) {
		close(fd);
		return error;
	}
	if (memcmp(segment->header->token, session->token, HP_TOKEN_SIZE) == 0)
		return 0;
	hp_segment_release(segment);
	return -EPROTO;
}

/* One that has not scanned any thread yet has just been started. */
static uint64_t wait_ms_of(const struct hp_segment *segment)
{
	bool is_up = atomic_load_explicit(&segment->header->sampler_area, memory_order_relaxed);

	return is_up ? JOIN_WAIT_MS : BIRTH_WAIT_MS;
}

int hp_session_ask(const struct hp_session *session, const struct hp_segment *segment)
{
	int saved = errno, fd = ask_first(session->token, NULL, wait_ms_of(segment));

	if (fd >= 0 && !is_trusted_file(fd)) {
		close(fd);
		fd = -EPERM;
	}
	errno = saved;
	return fd;
}

/*
 * Without a pid that means the same to both, the sampler has to translate it. Returns 0 or -errno;
 * EAGAIN = it has just been started, and does not answer yet.
 */
static int check_pids(const struct hp_segment *segment)
{
	uint32_t its = hp_segment_room(segment)->pid_namespace;

	if (!its)
		return -EAGAIN;
	return hp_rights_namespace(AT_FDCWD, "/proc/self/ns/pid") == its ? 0 : -EPROTO;
}

static bool connect_to(int fd, const struct sockaddr_un *address, socklen_t size)
{
	return syscall(SYS_connect, fd, address, size) == 0;
}

/* The sampler's second socket, which does not wake it. */
static bool enter_lobby(int fd, uint32_t lobby)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	for (int i = 0; i < 5; i++)
		address.sun_path[5 - i] = "0123456789abcdef"[lobby >> 4 * i & 15];
	return lobby && connect_to(fd, &address, offsetof(struct sockaddr_un, sun_path) + 6);
}

/*
 * Lets the sampler know of this process, without waiting for it: it accepts the connection when it
 * has time.
 */
static void tell(const struct hp_session *session, const struct hp_segment *segment)
{
	struct sockaddr_un address;
	uint32_t lobby =
		atomic_load_explicit(&hp_segment_ports(segment)->lobby, memory_order_relaxed);
	int type = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
	int fd = (int)syscall(SYS_socket, AF_UNIX, type, 0);

	if (fd < 0)
		return;
	if (!enter_lobby(fd, lobby))
		connect_to(fd, &address, fill_address(&address, HP_SOCKET_NAME, session->token));
	syscall(SYS_close, fd);
}

/*
 * The sampler knows the root, and finds the records of new processes when it scans them. But a
 * process that drops privileges may hide its record by then.
 */
static bool has_to_tell(const struct hp_session *session, const struct hp_segment *segment)
{
	return session->can_drop && segment->header->root_pid != (uint32_t)syscall(SYS_getpid);
}

/* By /proc; returns 0 or -errno. */
static int join_shared(struct hp_session *session, struct hp_segment *segment)
{
	int fd = session->sampler_pid ? open_shared(session) : -ESRCH;
	int error = fd < 0 ? fd : attach(session, segment, fd);

	if (error)
		return error;
	error = check_pids(segment);
	if (error)
		hp_segment_release(segment);
	else if (has_to_tell(session, segment))
		tell(session, segment);
	return error;
}

static int join(struct hp_session *session, struct hp_segment *segment)
{
	int error = join_shared(session, segment);
	int fd;

	if (error == 0)
		return 0;
	/* A program that gave up would begin a session of its own, with a report of its own. */
	fd = ask_first(session->token, NULL, error == -EAGAIN ? BIRTH_WAIT_MS : JOIN_WAIT_MS);
	return fd < 0 ? fd : attach(session, segment, fd);
}

int hp_session_join(struct hp_session *session, struct hp_segment *segment, const char *text)
{
	int saved = errno;

	*segment = (struct hp_segment)HP_SEGMENT_NONE;
	int error = parse_text(session, text) ? join(session, segment) : -EINVAL;
	session->failed = error ? "join the session in HOTPATH_SESSION" : NULL;
	errno = saved;
	return error;
}

int hp_session_look(const char *token)
{
	struct hp_session own;

	hp_session_init(&own);	/* for its own token: an unused address */
	return ask_first(token, &own, LOOK_WAIT_MS);
}

int hp_session_look_all(const char *token, int fds[1 + HP_LEVELS_MAX])
{
	struct hp_session own;
	int count = 0, fd = -EPROTO;

	hp_session_init(&own);
	int server = ask_socket(token, &own, LOOK_WAIT_MS);
	if (server < 0)
		return server;
	while (count <= HP_LEVELS_MAX && (fd = hp_fd_receive_to_read(server, 0)) >= 0)
		fds[count++] = fd;
	close(server);
	return count ? count : fd;
}

/* ---- the birth of a helper ---- */

enum birth_kind {
	BIRTH_OF_INIT,	/* the helper belongs to init */
	BIRTH_OF_CHILD,	/* it is our child */
	BIRTH_AWAITED,	/* the intermediate stays until it has ended */
};

/* The children's input, and the place for their answer.  Shared memory. */
struct birth {
	int cpu;	/* of the process that starts the helper; -1 = unknown */
	enum birth_kind kind;
	const char *path;
	char *const *arguments;
	char **environment;
	const struct hp_session *session;	/* its defaults and start are passed on */
	int segment;
	int socket;	/* -1 = none */
	uint64_t wait_ms;	/* BIRTH_AWAITED only */
	char *stack;	/* of the helper, its end */
	volatile int error;
	volatile int pid;
	struct rusage spent;	/* of the intermediate */
};

/* A seccomp filter may refuse the first call, or both; then die by a signal. */
static void leave(int status)
{
	syscall(SYS_exit_group, status);
	syscall(SYS_exit, status);
	for (;;)
		__builtin_trap();
}

/* An exec keeps only ignored signals and the mask. */
static void reset_signals(void)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = { SIG_DFL, 0, NULL, 0 };

	for (int number = 1; number <= 64; number++)
		syscall(SYS_rt_sigaction, number, &action, NULL, SIGNALS_SIZE);
}

/* The target's limits must not apply to the helper, which also dumps no core. */
static void reset_limits(void)
{
	static const int raised[] = { RLIMIT_AS, RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_NOFILE,
				      RLIMIT_DATA };
	static const struct sched_param normal = { 0 };
	static const struct rlimit none = { 0, 0 };

	for (size_t i = 0; i < sizeof(raised) / sizeof(raised[0]); i++) {
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)raised[i], &limit) < 0)
			continue;
		limit.rlim_cur = limit.rlim_max;
		setrlimit((__rlimit_resource_t)raised[i], &limit);
	}
	setrlimit(RLIMIT_CORE, &none);
	sched_setscheduler(0, SCHED_OTHER, &normal);
}

/* Moves a descriptor away from the fixed numbers. */
static int move_up(int fd)
{
	return fd < 0 ? fd : fcntl(fd, F_DUPFD, HP_SAMPLER_SOCKET_FD + 1);
}

/* True if both have their fixed numbers; nothing between them must be kept. */
static bool place_fds(const struct birth *birth)
{
	int segment = birth->segment;
	int wanted = birth->socket;

	if (segment != HP_SAMPLER_SEGMENT_FD && (segment = move_up(segment)) < 0)
		return false;
	if (wanted >= 0 && wanted != HP_SAMPLER_SOCKET_FD && (wanted = move_up(wanted)) < 0)
		return false;
	if (segment != HP_SAMPLER_SEGMENT_FD && dup2(segment, HP_SAMPLER_SEGMENT_FD) < 0)
		return false;
	if (wanted >= 0 && wanted != HP_SAMPLER_SOCKET_FD && dup2(wanted, HP_SAMPLER_SOCKET_FD) < 0)
		return false;
	fcntl(HP_SAMPLER_SEGMENT_FD, F_SETFD, 0);
	if (wanted >= 0)
		fcntl(HP_SAMPLER_SOCKET_FD, F_SETFD, 0);
	return true;
}

/* 0 and 1, and 2 if the target had none, are /dev/null. */
static void place_nothing(const struct birth *birth)
{
	/* If the target has no stderr, one of our descriptors may have got number 2. */
	if (birth->segment == 2 || birth->socket == 2)
		close(2);
	int fd = open("/dev/null", O_RDWR);

	if (fd < 0)	/* a chroot without /dev */
		fd = (int)syscall(SYS_memfd_create, "null", 0);
	for (int number = 0; number <= 1; number++)
		if (fd != number)
			dup2(fd, number);
	if (fd != 2 && fcntl(2, F_GETFD) < 0)
		dup2(fd, 2);
	if (fd > HP_SAMPLER_SOCKET_FD)
		close(fd);
}

void hp_close_from(int first)
{
	struct rlimit limit = { 1024, 1024 };

	if (syscall(SYS_close_range, first, ~0U, 0) == 0)
		return;
	getrlimit(RLIMIT_NOFILE, &limit);
	for (int fd = first; fd < 65536 && (rlim_t)fd < limit.rlim_cur; fd++)
		close(fd);
}

/* The loader opens one file at a time. If it cannot, it prints an error on the user's stderr. */
static bool may_load(void)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC);

	if (fd >= 0)
		syscall(SYS_close, fd);
	return fd >= 0;
}

static int be_helper(void *argument)
{
	struct birth *birth = argument;

	setsid();
	reset_signals();
	reset_limits();
	if (place_fds(birth)) {
		place_nothing(birth);
		hp_close_from(birth->socket < 0 ? HP_SAMPLER_SEGMENT_FD + 1
						: HP_SAMPLER_SOCKET_FD + 1);
		if (may_load())
			syscall(SYS_execve, birth->path, birth->arguments, birth->environment);
	}
	birth->error = errno ? errno : ENOEXEC;
	leave(127);
	return 0;
}

/*
 * The kernel starts a new process on an idle processor: this one away from the target, which waits,
 * and the helper then where the target was. With few processors the target would go on only when the
 * helper sleeps, 0.8 ms later. From here the helper starts elsewhere.
 */
static void go_to(int cpu)
{
	cpu_set_t all, one;

	if (cpu < 0 || sched_getaffinity(0, sizeof(all), &all) != 0 || CPU_COUNT(&all) < 2 ||
	    CPU_COUNT(&all) > FEW_CPUS || !CPU_ISSET(cpu, &all))
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	sched_setaffinity(0, sizeof(all), &all);
}

static int be_intermediate(void *argument)
{
	struct birth *birth = argument;
	int flags = CLONE_VM | CLONE_VFORK | CLONE_UNTRACED;

	if (birth->kind == BIRTH_OF_INIT)
		go_to(birth->cpu);
	if (birth->kind == BIRTH_AWAITED)
		flags |= SIGCHLD;
	int pid = clone(be_helper, birth->stack, flags, birth);
	if (pid < 0)
		birth->error = errno;
	birth->pid = pid;
	if (birth->kind == BIRTH_AWAITED && pid > 0)
		syscall(SYS_wait4, pid, NULL, __WALL, NULL);
	leave(0);
	return 0;
}

/* The intermediate ends at once, or when the report that it waits for ends. */
static int reap(int pid, struct birth *birth)
{
	struct timespec slice = { 0, ALONE_SLICE_NS };
	uint64_t deadline = hp_clock_raw_ns() + birth->wait_ms * 1000000;

	if (birth->kind == BIRTH_OF_INIT) {
		syscall(SYS_wait4, pid, NULL, __WCLONE, &birth->spent);
		return 0;
	}
	while (syscall(SYS_wait4, pid, NULL, __WCLONE | WNOHANG, NULL) == 0) {
		if (hp_clock_raw_ns() > deadline)
			return -ETIMEDOUT;
		nanosleep(&slice, NULL);
	}
	return 0;
}

static int clone_helper(struct birth *birth, char *first_stack)
{
	int flags = CLONE_VM | CLONE_VFORK | CLONE_UNTRACED;
	int pid;

	switch (birth->kind) {
	case BIRTH_OF_CHILD:
		pid = clone(be_helper, birth->stack, flags | SIGCHLD, birth);
		birth->pid = pid;
		return pid < 0 ? -errno : 0;
	case BIRTH_AWAITED:
		flags &= ~CLONE_VFORK;
		break;
	case BIRTH_OF_INIT:
		break;
	}
	pid = clone(be_intermediate, first_stack, flags, birth);
	return pid < 0 ? -errno : reap(pid, birth);
}

/* True for variables that must not reach our own processes: ld.so's settings and LD_PRELOAD. */
static bool is_withheld(const char *variable)
{
	if (!strncmp(variable, "LD_", 3))
		return strncmp(variable, "LD_LIBRARY_PATH=", 16) != 0;
	return !strncmp(variable, "HOTPATH_SESSION=", 16) ||
	       !strncmp(variable, HP_DEFAULTS_VARIABLE "=", sizeof(HP_DEFAULTS_VARIABLE)) ||
	       !strncmp(variable, HP_BEGIN_VARIABLE "=", sizeof(HP_BEGIN_VARIABLE));
}

/* Returns the place for the next one. */
static char **copy_environment(char **to, char *const *from)
{
	for (; from && *from; from++)
		if (!is_withheld(*from))
			*to++ = *from;
	return to;
}

/* Bytes needed for the session's variables. */
static size_t words_size(const struct hp_session *session)
{
	return sizeof(HP_DEFAULTS_VARIABLE "=" HP_BEGIN_VARIABLE "=") + 1 + HP_BEGIN_TEXT +
	       (session->defaults ? strlen(session->defaults) : 0);
}

static char **add_word(char **to, char **room, const char *name, const char *value)
{
	*to = *room;
	strcat(strcpy(*room, name), value);
	*room += strlen(*room) + 1;
	return to + 1;
}

/* Two of them at most. */
static char **add_words(char **to, char *room, const struct hp_session *session)
{
	char text[HP_BEGIN_TEXT];

	if (session->defaults && *session->defaults)
		to = add_word(to, &room, HP_DEFAULTS_VARIABLE "=", session->defaults);
	if (!session->begin.created_unix_ns)
		return to;
	hp_begin_text(&session->begin, text);
	return add_word(to, &room, HP_BEGIN_VARIABLE "=", text);
}

/*
 * An orphan becomes a child of the nearest subreaper above it. That must not be
 * the target, whose wait() would find it. Returns true if subreaper status must
 * be restored.
 */
static bool stop_reaping(enum birth_kind kind)
{
	int is_reaper = 0;

	return kind == BIRTH_OF_INIT &&
	       syscall(SYS_prctl, PR_GET_CHILD_SUBREAPER, &is_reaper, 0, 0, 0) == 0 && is_reaper &&
	       syscall(SYS_prctl, PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) == 0;
}

/*
 * One mapping holds both stacks and the environment's copy. All signals are
 * blocked meanwhile, with a raw system call: a handler of the target must not
 * run in the children, and glibc's function leaves its own two signals (cancel,
 * setuid) unblocked.
 */
static int give_birth(struct birth *birth, char *const *environment)
{
	uint64_t all = UINT64_MAX, before;
	size_t count = 3;

	/* NULL after clearenv(), or if a resolver ran before the C library was initialised. */
	for (char *const *at = environment; at && *at; at++)
		count++;
	size_t array = count * sizeof(*environment);
	size_t size = 2 * STACK_SIZE + array + words_size(birth->session);
	char *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return -errno;
	birth->environment = (char **)(room + 2 * STACK_SIZE);
	birth->stack = room + 2 * STACK_SIZE;
	char **last = copy_environment(birth->environment, environment);
	last = add_words(last, (char *)birth->environment + array, birth->session);
	*last = NULL;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, SIGNALS_SIZE);
	birth->cpu = sched_getcpu();
	bool is_reaper = stop_reaping(birth->kind);
	int error = clone_helper(birth, room + STACK_SIZE);
	if (is_reaper)
		syscall(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, SIGNALS_SIZE);
	if (error != -ETIMEDOUT)	/* else a child still runs on it */
		munmap(room, size);
	return error ? error : -birth->error;
}

static int spawn(struct hp_session *session, struct hp_segment *segment, struct birth *birth,
		 char *const environment[])
{
	static char name[] = "hotpath-sampler";
	char *const arguments[] = { name, NULL };
	int saved = errno;
	uint32_t nobody = 0;

	birth->arguments = arguments;
	birth->segment = segment->fd;
	birth->socket = session->socket;
	birth->session = session;
	int error = give_birth(birth, environment);
	errno = saved;
	session->failed = error ? "start hotpath-sampler" : NULL;
	if (error)
		return error;

	session->spent = birth->spent;
	session->sampler_pid = (uint32_t)birth->pid;
	/* Do not overwrite its own entry: it may be up already, or even dead. */
	atomic_compare_exchange_strong(&segment->header->sampler_pid, &nobody,
				       session->sampler_pid);
	return 0;
}

int hp_session_spawn(struct hp_session *session, struct hp_segment *segment, const char *path,
		     char *const environment[])
{
	struct birth birth = { .kind = BIRTH_OF_INIT, .path = path };

	return spawn(session, segment, &birth, environment);
}

int hp_session_spawn_child(struct hp_session *session, struct hp_segment *segment, const char *path,
			   char *const environment[])
{
	struct birth birth = { .kind = BIRTH_OF_CHILD, .path = path };

	return spawn(session, segment, &birth, environment);
}

/* ---- the end ---- */

static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	struct timespec wait = { 0, (long)ns };

	syscall(SYS_futex, word, FUTEX_WAIT, value, &wait, NULL, 0);
}

/*
 * The kernel marks a dead sampler, but not one that was killed before it set
 * that up and has no watch.
 */
static bool is_sampler_dead(const struct hp_header *header, bool had_time)
{
	uint32_t pid = atomic_load_explicit(&header->sampler_pid, memory_order_relaxed);

	if (pid == 0 || pid & HP_SAMPLER_DIED)
		return true;
	return had_time &&
	       atomic_load_explicit(&header->report_word, memory_order_relaxed) == HP_REPORT_NONE &&
	       atomic_load_explicit(&header->sampler_area, memory_order_relaxed) == 0;
}

enum hp_session_outcome hp_session_end(struct hp_header *header, uint64_t wait_ms)
{
	int saved = errno;
	uint64_t wait_ns = wait_ms * 1000000;
	uint64_t began = hp_clock_raw_ns(), waited = 0;
	uint32_t enough = header->runner_pid ? HP_REPORT_STARTED : HP_REPORT_DONE;
	enum hp_session_outcome outcome = HP_SESSION_LATE;

	/* Release: a process that sees the request also sees this thread's counters. */
	atomic_store_explicit(&header->end_word, HP_END_ASKED, memory_order_release);
	syscall(SYS_futex, &header->end_word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	for (; waited < wait_ns; waited = hp_clock_raw_ns() - began) {
		uint32_t word = atomic_load_explicit(&header->report_word, memory_order_acquire);

		if (word >= enough) {
			outcome =
				word == HP_REPORT_FAILED ? HP_SESSION_FAILED : HP_SESSION_REPORTED;
			break;
		}
		if (is_sampler_dead(header, waited > wait_ns / COME_UP_PART)) {
			outcome = HP_SESSION_SAMPLER_DEAD;
			break;
		}
		futex_wait(&header->report_word, word, END_SLICE_NS);
	}
	errno = saved;
	return outcome;
}

/* A memfd with the used part of the segment.  Returns a descriptor or -errno. */
static int copy_used(const struct hp_segment *segment)
{
	uint64_t size = atomic_load(&segment->header->used);
	int fd = (int)syscall(SYS_memfd_create, "hotpath", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (size > segment->size)
		size = segment->size;
	for (uint64_t done = 0; done < size;) {
		ssize_t count = write(fd, (const char *)segment->header + done, size - done);

		if (count <= 0) {
			int error = count < 0 ? -errno : -EIO;

			close(fd);
			return error;
		}
		done += (uint64_t)count;
	}
	return fd;
}

int hp_session_report_alone(const struct hp_session *session, const struct hp_segment *segment,
			    const char *path, char *const environment[], uint64_t wait_ms)
{
	static char name[] = "hotpath", report[] = "report", option[] = "--fd", number[] = "3";
	char *const arguments[] = { name, report, option, number, NULL };
	int saved = errno;
	struct birth birth = {
		.kind = BIRTH_AWAITED,
		.path = path,
		.arguments = arguments,
		.session = session,
		.socket = -1,
		.wait_ms = wait_ms,
	};

	birth.segment = copy_used(segment);
	int error = birth.segment < 0 ? birth.segment : give_birth(&birth, environment);
	if (birth.segment >= 0)
		close(birth.segment);
	errno = saved;
	return error;
}

/* ---- where helpers lie ---- */

static bool join_path(char path[HP_HELPER_PATH], const char *folder, const char *below,
		      const char *name)
{
	size_t a = strlen(folder), b = strlen(below), c = strlen(name);

	if (a + b + c + 2 > HP_HELPER_PATH)
		return false;
	memcpy(path, folder, a);
	memcpy(path + a, below, b);
	path[a + b] = '/';
	memcpy(path + a + b + 1, name, c + 1);
	return true;
}

bool hp_session_helper_path(char path[HP_HELPER_PATH], const char *bin, const char *directory,
			    const char *name)
{
	static const char *const places[] = { "", "/../bin", "/../libexec/hotpath", "/../../bin",
					      "/../../libexec/hotpath" };
	int saved = errno;
	bool is_there = false;

	path[0] = '\0';
	if (bin && bin[0]) {
		is_there = join_path(path, bin, "", name) && access(path, X_OK) == 0;
		errno = saved;
		return is_there;
	}
	for (size_t i = 0; !is_there && i < sizeof(places) / sizeof(places[0]); i++)
		is_there = join_path(path, directory, places[i], name) && access(path, X_OK) == 0;
	if (!is_there)
		join_path(path, directory, "", name);
	errno = saved;
	return is_there;
}
