/* SPDX-License-Identifier: MIT */
/* cpus.h - the processors that this process may use. */
#ifndef HP_REPORT_BASE_CPUS_H
#define HP_REPORT_BASE_CPUS_H

#include <stdbool.h>

/* A second thread can run beside the first. False if it is not known. */
bool hp_has_two_processors(void);

#endif
