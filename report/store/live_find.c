/* SPDX-License-Identifier: MIT */
/*
 * live_find.c - see live_find.h.
 *
 * The kernel lists the sockets of our network namespace with their owners by sock_diag(7), from
 * Linux 5.3 on.  Elsewhere /proc/net/unix has the names alone.
 */
#include "report/store/live_find.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "report/base/memory.h"

#define LISTS "/proc/net/unix"
#define FLAG_LISTENS "00010000"
#define STATE_LISTENS 10	/* TCP_LISTEN, of all families */
#define SHOW_OWNER 0x40	/* UDIAG_SHOW_UID and UNIX_DIAG_UID are in newer headers only */
#define OWNER 7
#define ANSWER_MAX 32768
#define ANSWER_WAIT_S 1	/* it comes at once */

static const char prefix[] = HP_SOCKET_NAME;

struct doors {
	struct hp_live_door *at;
	size_t count;
	size_t room;
};

/* `name` without the leading 0; any bytes. */
static bool token_take(const char *name, size_t length, char token[HP_TOKEN_SIZE + 1])
{
	size_t before = sizeof(prefix) - 1;

	if (length != before + HP_TOKEN_SIZE || memcmp(name, prefix, before) != 0)
		return false;
	memcpy(token, name + before, HP_TOKEN_SIZE);
	token[HP_TOKEN_SIZE] = 0;
	return strspn(token, "0123456789abcdef") == HP_TOKEN_SIZE;
}

static void doors_add(struct doors *doors, const struct hp_live_door *door)
{
	doors->at = hp_xgrow(doors->at, doors->count, &doors->room, sizeof(*doors->at));
	doors->at[doors->count++] = *door;
}

/* --- asking the kernel --- */

static bool request(int fd)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req request;
	} message = {
		.header = { .nlmsg_len = sizeof(message),
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.request = { .sdiag_family = AF_UNIX,
			     .udiag_states = 1u << STATE_LISTENS,
			     .udiag_show = UDIAG_SHOW_NAME | SHOW_OWNER },
	};

	return send(fd, &message, sizeof(message), 0) == sizeof(message);
}

/* False if it has no owner: an older kernel. */
static bool entry_add(struct doors *doors, const struct nlmsghdr *header)
{
	const struct unix_diag_msg *message = NLMSG_DATA(header);
	unsigned left = header->nlmsg_len - NLMSG_LENGTH(sizeof(*message));
	struct hp_live_door door = { .has_owner = false };
	bool is_session = false;

	if (header->nlmsg_len < NLMSG_LENGTH(sizeof(*message)))
		return true;
	for (const struct rtattr *at = (const struct rtattr *)(message + 1); RTA_OK(at, left);
	     at = RTA_NEXT(at, left)) {
		const char *data = RTA_DATA(at);
		size_t size = RTA_PAYLOAD(at);

		if (at->rta_type == UNIX_DIAG_NAME && size && data[0] == 0)
			is_session = token_take(data + 1, size - 1, door.token);
		if (at->rta_type == OWNER && size == sizeof(uint32_t)) {
			memcpy(&door.owner, data, sizeof(uint32_t));
			door.has_owner = true;
		}
	}
	if (is_session && door.has_owner)
		doors_add(doors, &door);
	return door.has_owner;
}

/* True = continue; *is_whole at the end of the list. */
static bool answer_read(struct doors *doors, char *answer, unsigned size, bool *is_whole)
{
	for (const struct nlmsghdr *at = (const struct nlmsghdr *)answer; NLMSG_OK(at, size);
	     at = NLMSG_NEXT(at, size)) {
		*is_whole = at->nlmsg_type == NLMSG_DONE;
		if (at->nlmsg_type != SOCK_DIAG_BY_FAMILY || !entry_add(doors, at))
			return false;
	}
	return true;
}

static bool ask_kernel(struct doors *doors)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	const struct timeval wait = { ANSWER_WAIT_S, 0 };
	char *answer = hp_xmalloc(ANSWER_MAX);
	bool is_whole = false, goes_on = fd >= 0;

	if (goes_on)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	goes_on = goes_on && request(fd);
	while (goes_on) {
		ssize_t size = recv(fd, answer, ANSWER_MAX, 0);

		goes_on = size > 0 && answer_read(doors, answer, (unsigned)size, &is_whole);
	}
	if (fd >= 0)
		close(fd);
	free(answer);
	return is_whole;
}

/* --- reading the list --- */

static void read_list(struct doors *doors)
{
	FILE *lists = fopen(LISTS, "re");
	char *line = NULL;
	size_t size = 0;

	while (lists && getline(&line, &size, lists) > 0) {
		const char *name = strstr(line, " @");
		struct hp_live_door door = { .has_owner = false };

		if (name && strstr(line, " " FLAG_LISTENS " ") &&
		    token_take(name + 2, strcspn(name + 2, "\n"), door.token))
			doors_add(doors, &door);
	}
	if (lists)
		fclose(lists);
	free(line);
}

struct hp_live_door *hp_live_find(size_t *count)
{
	struct doors doors = { .at = NULL };

	if (!ask_kernel(&doors)) {
		doors.count = 0;
		read_list(&doors);
	}
	*count = doors.count;
	return doors.at;
}

bool hp_live_is_own(const struct hp_live_door *door)
{
	return !door->has_owner || door->owner == geteuid() || door->owner == getuid();
}
