/* SPDX-License-Identifier: MIT */
/*
 * fuzz.h - shared by the targets.
 */
#ifndef HP_TEST_FUZZ_FUZZ_H
#define HP_TEST_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* libFuzzer calls it, or replay.c. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A descriptor that discards all output. */
int fuzz_sink(void);

/* A descriptor of a file in memory with these bytes, at its start. */
int fuzz_file(const uint8_t *data, size_t size);

/* A fresh copy with a 0 after it. */
char *fuzz_text(const uint8_t *data, size_t size);

#endif
