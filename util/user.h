/* SPDX-License-Identifier: MIT */
/*
 * user.h - whose files a recorded process may name to us (util/open_as.h).
 */
#ifndef HP_UTIL_USER_H
#define HP_UTIL_USER_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HP_USER_UNKNOWN 65534 /* reads world-readable files */

/* All zero: ourselves. */
struct hp_user {
	bool is_other;
	uint32_t user;
	uint32_t group;
};

/* Root and we ourselves may name any file to us. */
static inline struct hp_user hp_user_of(uint32_t user, uint32_t group)
{
	return (struct hp_user){ user != 0 && user != geteuid(), user, group };
}

/* Effective ids and permitted capabilities. */
struct hp_credentials {
	uint32_t user;
	uint32_t group;
	uint64_t capabilities;
};

/* From the text of /proc/PID/status. A name comes first there, but has no newline. */
static inline bool hp_credentials_of(struct hp_credentials *ids, const char *text)
{
	const char *user = strstr(text, "\nUid:"), *group = strstr(text, "\nGid:");
	const char *capabilities = strstr(text, "\nCapPrm:");

	return user && group && capabilities && sscanf(user + 5, "%*u %" SCNu32, &ids->user) == 1 &&
	       sscanf(group + 5, "%*u %" SCNu32, &ids->group) == 1 &&
	       sscanf(capabilities + 8, "%" SCNx64, &ids->capabilities) == 1;
}

/* Ourselves if we are not root, or the process may do all that we may do. */
static inline struct hp_user hp_user_beside(const struct hp_credentials *own,
					    const struct hp_credentials *its)
{
	return (struct hp_user){
		.is_other = own->user == 0 &&
			    (its->user != 0 || (own->capabilities & ~its->capabilities)),
		.user = its->user,
		.group = its->group,
	};
}

static inline bool hp_user_is_same(const struct hp_user *a, const struct hp_user *b)
{
	return a->is_other == b->is_other && a->user == b->user && a->group == b->group;
}

static inline struct hp_user hp_user_unknown(void)
{
	return (struct hp_user){ true, HP_USER_UNKNOWN, HP_USER_UNKNOWN };
}

#endif
