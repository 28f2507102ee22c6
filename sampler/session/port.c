/* SPDX-License-Identifier: MIT */
/*
 * port.c - see port.h.
 */
#include "sampler/session/port.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/session/end.h"
#include "segment/clock.h"
#include "segment/port.h"
#include "segment/session.h"
#include "util/tell.h"

#define DELAY_NS UINT64_C(50000000)	/* programs that have ended by then do not pay for a socket */
#define SOON_NS UINT64_C(1000000000)	/* a server that ends before this has failed */
#define FAILURES_MAX 3
#define PAUSE_NS UINT64_C(1000000000)	/* after a failure: resources may become available */
#define PATIENCE_NS UINT64_C(1000000000)	/* the helper of an earlier run may still have the port */
#define BUSY_NS UINT64_C(20000000)	/* between tries then */
#define NUMBER_MAX 16
#define FILES_MIN 32	/* descriptors of a server, with room for some clients */

extern char **environ;

/* The state of each port, if a server for it exists. */
struct kind {
	const char *variable;	/* that sets its number */
	const char *name;
	const char *option;	/* of `hotpath-live serve`; NULL = it does not serve that */
};

static const struct kind kinds[HP_PORT_KINDS] = {
	[HP_PORT_METRICS] = { "HOTPATH_METRICS_PORT", "live figures", "--listen" },
	[HP_PORT_MCP] = { "HOTPATH_MCP_PORT", "MCP", "--mcp" },
	[HP_PORT_PROMETHEUS] = { "HOTPATH_PROMETHEUS_PORT", "Prometheus", "--prometheus" },
};

static uint16_t number_of(const struct hp_settings *settings, int kind)
{
	return (uint16_t)(kind == HP_PORT_METRICS ? settings->metrics_port
			  : kind == HP_PORT_MCP	  ? settings->mcp_port
						  : settings->prometheus_port);
}

static const char *address_of(const struct hp_settings *settings, int kind)
{
	return kind == HP_PORT_METRICS	    ? settings->metrics_bind
	       : kind == HP_PORT_PROMETHEUS ? settings->prometheus_bind
					    : "127.0.0.1";
}

static const char *token_of(const struct hp_settings *settings, int kind)
{
	return kind == HP_PORT_METRICS ? settings->metrics_token
	       : kind == HP_PORT_MCP   ? settings->mcp_token
				       : settings->prometheus_token;
}

/* True if the user named the port. */
static bool is_given(const struct hp_settings *settings, int kind)
{
	for (size_t i = 0; i < hp_setting_count; i++)
		if (strcmp(hp_setting_table[i].name, kinds[kind].variable) == 0)
			return settings->is_given[i];
	return false;
}

static bool is_any_given(const struct hp_settings *settings)
{
	for (int kind = 0; kind < HP_PORT_KINDS; kind++)
		if (is_given(settings, kind))
			return true;
	return false;
}

/* Ports named by the user are opened at once, others after a while. */
static void begin(struct hp_server *server, uint64_t delay_ns)
{
	uint64_t now = hp_clock_raw_ns();

	if (server->settings->metrics_off)
		return;
	server->due_ns = now + (is_any_given(server->settings) ? 0 : delay_ns);
	server->patience_ns = now + PATIENCE_NS;
	memset(server->is_settled, 0, sizeof(server->is_settled));
}

void hp_server_init(struct hp_server *server, const struct hp_segment *segment,
		    const struct hp_settings *settings, int epoll, uint64_t knock, uint64_t ended)
{
	*server = (struct hp_server){ .segment = segment,
				      .settings = settings,
				      .ports = hp_segment_ports(segment),
				      .sockets = { -1, -1, -1 },
				      .epoll = epoll,
				      .knock = knock,
				      .ended = ended,
				      .pidfd = -1 };
	begin(server, DELAY_NS);
}

/* --- sockets --- */

/* 127.0.0.0/8 and ::1, as users write them. */
static bool is_loopback(const char *address)
{
	return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static void watch(const struct hp_server *server, int operation, int fd, uint64_t data)
{
	struct epoll_event event = { .events = EPOLLIN, .data = { .u64 = data } };

	epoll_ctl(server->epoll, operation, fd, &event);
}

static void say_address(int kind, const char *address, uint16_t port)
{
	bool is_v6 = strchr(address, ':') != NULL;

	hp_tell("[hotpath] %s: http://%s%s%s:%u/\n", kinds[kind].name, is_v6 ? "[" : "", address,
		is_v6 ? "]" : "", (unsigned)port);
}

/* Worth another try: the user named it, and it may be held by a run that has just ended. */
static bool is_to_wait(const struct hp_server *server, int kind, uint16_t wanted, int error)
{
	return error == -EADDRINUSE && wanted && is_given(server->settings, kind) &&
	       hp_clock_raw_ns() < server->patience_ns;
}

/*
 * Listens at the port, or at a free one if that is in use.  That is reported
 * only to users who named the port: it is in `hotpath list` anyway.
 */
static void listen_at(struct hp_server *server, int kind, uint16_t wanted)
{
	const char *address = address_of(server->settings, kind);
	const char *token = token_of(server->settings, kind);
	bool is_named = is_given(server->settings, kind);
	uint16_t port = wanted;
	int fd;

	server->is_settled[kind] = true;
	if (token && !hp_setting_is_token(token))
		return;	/* the program has printed it */
	if (!is_loopback(address) && !token) {
		hp_tell("[hotpath] %s: %s is reachable from other machines, and no token is set: "
			"not served\n",
			kinds[kind].name, address);
		return;
	}
	fd = hp_port_listen(address, &port);
	if (is_to_wait(server, kind, wanted, fd)) {
		server->is_settled[kind] = false;
		server->due_ns = hp_clock_raw_ns() + BUSY_NS;
		return;
	}
	if (fd == -EADDRINUSE && wanted) {
		if (is_named)
			hp_tell("[hotpath] %s=%u is busy; using another port:\n",
				kinds[kind].variable, (unsigned)wanted);
		port = 0;
		fd = hp_port_listen(address, &port);
	}
	if (fd < 0) {
		if (is_named)
			hp_tell("[hotpath] %s: cannot listen at %s: %s%s\n", kinds[kind].name,
				address, strerror(-fd), hp_port_remedy(-fd));
		return;
	}
	server->sockets[kind] = fd;
	atomic_store_explicit(&server->ports->at[kind], port, memory_order_relaxed);
	if (is_named && port != wanted)
		say_address(kind, address, port);
	if (!server->pid)
		watch(server, EPOLL_CTL_ADD, fd, server->knock);
}

static void socket_close(struct hp_server *server, int kind)
{
	if (server->sockets[kind] >= 0)
		close(server->sockets[kind]);
	server->sockets[kind] = -1;
}

static void let_go(struct hp_server *server, int kind)
{
	socket_close(server, kind);
	atomic_store_explicit(&server->ports->at[kind], 0, memory_order_relaxed);
}

static void listen_again(struct hp_server *server, int operation)
{
	for (int kind = 0; kind < HP_PORT_KINDS; kind++)
		if (server->sockets[kind] >= 0)
			watch(server, operation, server->sockets[kind], server->knock);
}

void hp_server_do(struct hp_server *server, uint64_t now)
{
	if (!server->due_ns || now < server->due_ns)
		return;
	server->due_ns = 0;
	if (server->failures)
		listen_again(server, EPOLL_CTL_ADD);
	for (int kind = 0; kind < HP_PORT_KINDS; kind++)
		if (kinds[kind].option && !server->is_settled[kind])
			listen_at(server, kind, number_of(server->settings, kind));
}

/* --- the server --- */

/* To itself: then it stays open in the child (POSIX.1-2024, glibc 2.29). */
static void pass(posix_spawn_file_actions_t *actions, int fd, char number[NUMBER_MAX])
{
	posix_spawn_file_actions_adddup2(actions, fd, fd);
	snprintf(number, NUMBER_MAX, "%d", fd);
}

/* The server cannot write to the segment, and its mapping does not keep the session alive. */
static int readable(const struct hp_server *server)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", server->segment->fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int spawn(struct hp_server *server, const char *path, int segment)
{
	static char name[] = "hotpath-live", serve[] = "serve", fd[] = "--fd",
		    parent[] = "--parent";
	char numbers[2 + HP_PORT_KINDS][NUMBER_MAX];
	char *arguments[8 + 2 * HP_PORT_KINDS] = { name, serve, fd, numbers[0], parent, numbers[1] };
	int count = 6;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_addclose(&actions, HP_SAMPLER_SEGMENT_FD);
	pass(&actions, segment, numbers[0]);
	snprintf(numbers[1], NUMBER_MAX, "%d", (int)getpid());
	/* Its messages do not concern the user, and it must not keep the root's stderr open. */
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	for (int kind = 0; kind < HP_PORT_KINDS; kind++) {
		if (server->sockets[kind] < 0)
			continue;
		pass(&actions, server->sockets[kind], numbers[2 + kind]);
		arguments[count++] = (char *)(uintptr_t)kinds[kind].option;
		arguments[count++] = numbers[2 + kind];
	}
	int error = posix_spawn(&server->pid, path, &actions, &attributes, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (error)
		server->pid = 0;
	return -error;
}

static int start(struct hp_server *server)
{
	char folder[HP_HELPER_PATH], path[HP_HELPER_PATH];
	int segment = readable(server), error;

	if (segment < 0)
		return -errno;
	hp_end_folder(folder);
	hp_session_helper_path(path, getenv("HOTPATH_BIN"), folder, "hotpath-live");
	error = spawn(server, path, segment);
	close(segment);
	if (error)
		return error;
	server->started_ns = hp_clock_raw_ns();
	server->pidfd = (int)syscall(SYS_pidfd_open, server->pid, 0);
	if (server->pidfd >= 0)
		watch(server, EPOLL_CTL_ADD, server->pidfd, server->ended);
	return 0;
}

/*
 * No server was available. A client waits for the next try; after the last
 * one, the client gets a refusal, and the program's user a message: it starts
 * only on request.
 */
static void failed(struct hp_server *server, const char *why)
{
	struct rlimit limit;

	if (++server->failures < FAILURES_MAX) {
		server->due_ns = hp_clock_raw_ns() + PAUSE_NS;
		return;
	}
	for (int kind = 0; kind < HP_PORT_KINDS; kind++)
		let_go(server, kind);
	hp_tell("[hotpath] live figures: cannot start the server, %d attempts: %s", FAILURES_MAX,
		why);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < FILES_MIN)
		hp_tell("; it may open %llu files (ulimit -n), and needs %d",
			(unsigned long long)limit.rlim_max, FILES_MIN);
	hp_tell("\n");
}

void hp_server_knock(struct hp_server *server)
{
	int error;

	if (server->pid)
		return;

	listen_again(server, EPOLL_CTL_DEL);
	error = start(server);
	if (error < 0)
		failed(server, strerror(-error));
}

/* Waits for its end, which has happened or is near; returns the status. */
static int reap(struct hp_server *server)
{
	int status = 0;

	while (waitpid(server->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (server->pidfd >= 0)
		close(server->pidfd);
	server->pidfd = -1;
	server->pid = 0;
	return status;
}

void hp_server_ended(struct hp_server *server)
{
	int status;

	if (!server->pid)
		return;
	status = reap(server);
	/* Being killed is not its own failure. */
	if ((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
	    hp_clock_raw_ns() - server->started_ns >= SOON_NS) {
		server->failures = 0;
		listen_again(server, EPOLL_CTL_ADD);
		return;
	}
	failed(server, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it ended at once");
}

static void server_kill(struct hp_server *server)
{
	if (!server->pid)
		return;
	/* A process that may not be killed is not awaited: it ends when it finds us gone. */
	if (kill(server->pid, SIGKILL) == 0)
		reap(server);
}

/* --- releasing ports --- */

bool hp_server_is_asked(const struct hp_segment *segment)
{
	const struct hp_ports *ports = hp_segment_ports(segment);

	return ports && atomic_load_explicit(&ports->asked, memory_order_relaxed);
}

/* The server's other sockets are closed with it, and opened again. */
void hp_server_give_way(struct hp_server *server)
{
	struct hp_ports *ports = server->ports;
	uint32_t asked = atomic_exchange_explicit(&ports->asked, 0, memory_order_acq_rel);
	bool had_server = server->pid != 0;

	if (!asked)
		return;
	server_kill(server);
	for (int kind = 0; kind < HP_PORT_KINDS; kind++)
		if (asked >> kind & 1)
			let_go(server, kind);
	atomic_fetch_add_explicit(&ports->given, 1, memory_order_release);
	syscall(SYS_futex, &ports->given, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	if (had_server)
		listen_again(server, EPOLL_CTL_ADD);
	for (int kind = 0; kind < HP_PORT_KINDS; kind++)
		if (asked >> kind & 1 && kinds[kind].option)
			listen_at(server, kind, 0);
}

void hp_server_pause(struct hp_server *server)
{
	server->is_paused = true;
	server->due_ns = 0;
	server_kill(server);
	for (int kind = 0; kind < HP_PORT_KINDS; kind++)
		let_go(server, kind);
}

void hp_server_resume(struct hp_server *server)
{
	if (!server->is_paused)
		return;
	server->is_paused = false;
	server->failures = 0;
	begin(server, 0);
}

/* Not let_go: that writes to the segment. */
void hp_server_close(struct hp_server *server)
{
	server->due_ns = 0;
	server_kill(server);
	for (int kind = 0; kind < HP_PORT_KINDS; kind++)
		socket_close(server, kind);
}
