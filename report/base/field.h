/* SPDX-License-Identifier: MIT */
/*
 * field.h - lines of tab-separated fields: the texts in a kept file.
 *
 * A field may hold anything: control characters and backslashes are written as
 * \xHH, so a line stays a line.  Readers trust nothing.
 */
#ifndef HP_REPORT_BASE_FIELD_H
#define HP_REPORT_BASE_FIELD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes `text` as a field; tabs and newlines between fields are the caller's. */
void hp_field_write(const char *text, FILE *out);

/*
 * Writes a number, or an address in hexadecimal digits, and `end` after it unless that is 0.
 * There are several of them for each place of the code, so printf would be a part of the time
 * that a run's end takes.
 */
void hp_field_write_number(uint64_t number, char end, FILE *out);
void hp_field_write_address(uint64_t address, char end, FILE *out);

/*
 * Takes the next line off `*text` and splits it in place, resolving escapes.
 * Fields beyond `most` are dropped, missing ones are "". Returns the number of
 * fields; 0 = end of text.
 */
size_t hp_field_split(char **text, char *fields[], size_t most);

/* A decimal number, or hexadecimal digits; 0 if it isn't one. */
uint64_t hp_field_number(const char *field);
uint64_t hp_field_address(const char *field);

#endif
