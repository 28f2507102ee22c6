/* SPDX-License-Identifier: MIT */
/*
 * json.h - additions to cJSON: exact integers, untrusted text.
 */
#ifndef HP_REPORT_BASE_JSON_H
#define HP_REPORT_BASE_JSON_H

#include <stdint.h>

struct cJSON;

/*
 * All digits: cJSON holds doubles, and may write 1e+15, which a strict reader rejects
 * as an integer.
 */
struct cJSON *hp_json_number(uint64_t number);
void hp_json_whole(struct cJSON *object, const char *key, uint64_t number);

/* The same for a fractional number, rounded; 0 if negative. */
void hp_json_rounded(struct cJSON *object, const char *key, double number);

/* The ends of an interval around a time: NAME_low_ns and NAME_high_ns. */
void hp_json_between(struct cJSON *object, const char *name, double ns, double error_ns);

/* Without control characters (hp_text_clean); nothing for NULL. */
void hp_json_text(struct cJSON *object, const char *key, const char *text);

/* A place in the source: `location`. */
void hp_json_location(struct cJSON *object, const char *file, int line, int column);

#endif
