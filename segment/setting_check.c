/* SPDX-License-Identifier: MIT */
/*
 * setting_check.c - see setting_check.h.
 */
#include "segment/setting_check.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

#include "segment/setting.h"
#include "util/near.h"

const char *hp_setting_address(const char *text)
{
	unsigned char room[sizeof(struct in6_addr)];

	if (strcmp(text, "localhost") == 0)
		return "127.0.0.1";
	/* The default: each process checks it, and for inet_pton() the kernel would map more code. */
	if (strcmp(text, "127.0.0.1") == 0)
		return text;
	return inet_pton(AF_INET, text, room) == 1 || inet_pton(AF_INET6, text, room) == 1 ? text
											   : NULL;
}

bool hp_setting_is_token(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

/* Digits with at most one dot, whatever the locale; false without a digit. */
static bool read_bucket(const char **at, double *bound)
{
	double number = 0, scale = 1;
	bool has_digit = false;
	const char *c = *at;

	for (; *c >= '0' && *c <= '9'; c++, has_digit = true)
		number = number * 10 + (*c - '0');
	for (c += *c == '.'; *c >= '0' && *c <= '9'; c++, has_digit = true)
		number += (*c - '0') * (scale /= 10);
	*at = c;
	*bound = number;
	return has_digit;
}

bool hp_setting_are_buckets(const char *text)
{
	double before = 0, bound;

	while (*text) {
		if (!read_bucket(&text, &bound) || bound <= before || (*text && *text != ','))
			return false;
		before = bound;
		text += *text == ',';
	}
	return true;
}

bool hp_setting_is_library(const char *name, size_t length)
{
	const char *list = HP_LIBRARIES;

	for (; *list; list += strspn(list, "|")) {
		size_t size = strcspn(list, "|");

		if (size == length && memcmp(list, name, length) == 0)
			return true;
		list += size;
	}
	return false;
}

const char *hp_setting_nearest(const char *list, const char *word, size_t length, size_t *size)
{
	unsigned least = UINT32_MAX;
	const char *nearest = list;

	for (const char *at = list; *at; at += strspn(at, "|")) {
		size_t here = strcspn(at, "|");
		unsigned distance = hp_near(word, length, at, here);

		if (distance < least) {
			least = distance;
			nearest = at;
		}
		at += here;
	}
	*size = strcspn(nearest, "|");
	return nearest;
}
