/* SPDX-License-Identifier: MIT */
/*
 * pprof.h - builds a profile.proto of pprof (github.com/google/pprof), packed by gzip.
 *
 * Messages are built in memory, innermost first, since each is preceded by its
 * length. Field numbers are those of profile.proto.
 */
#ifndef HP_REPORT_EXPORT_PPROF_H
#define HP_REPORT_EXPORT_PPROF_H

#include <stddef.h>
#include <stdint.h>

struct hp_pprof_bytes {
	unsigned char *at;
	size_t count;
	size_t room;
};

struct hp_pprof {
	struct hp_pprof_bytes all;
	struct hp_pprof_bytes strings;	/* their messages */
	uint64_t string_count;
};

/* An empty profile: its first string is "". */
void hp_pprof_init(struct hp_pprof *profile);
void hp_pprof_release(struct hp_pprof *profile);

/* The number of a new string. */
uint64_t hp_pprof_string(struct hp_pprof *profile, const char *text);

/* A ValueType in field `field`. */
void hp_pprof_type(struct hp_pprof *profile, unsigned field, const char *type, const char *unit);

/* A Function of this name, `id` from 1. */
void hp_pprof_function(struct hp_pprof *profile, uint64_t id, const char *name, const char *file);

void hp_pprof_varint(struct hp_pprof_bytes *bytes, uint64_t value);
void hp_pprof_number(struct hp_pprof_bytes *bytes, unsigned field, uint64_t value);

/* Appends a message to another one, and empties it. */
void hp_pprof_message(struct hp_pprof_bytes *bytes, unsigned field, struct hp_pprof_bytes *message);

/* Writes it; 0 or -errno. */
int hp_pprof_write(const struct hp_pprof *profile, int fd);

#endif
