/* SPDX-License-Identifier: MIT */
/*
 * option.h - getopt_long(3) with our form of error messages.
 */
#ifndef HP_REPORT_BASE_OPTION_H
#define HP_REPORT_BASE_OPTION_H

#include <getopt.h>

/*
 * The next option's letter or value, -1 at their end. '?' = invalid; one line
 * on stderr gave the reason and the remedy. argv[0] is the command's name.
 * `letters` as for getopt_long, without a leading ':'.
 */
int hp_option_next(int argc, char **argv, const char *letters, const struct option *options,
		   int *index);

#endif
