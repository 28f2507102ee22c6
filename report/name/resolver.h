/* SPDX-License-Identifier: MIT */
/*
 * resolver.h - names and places of addresses, found by a thread of its own and
 * kept from look to look.
 *
 * For a server that looks at a running program again and again: reading the
 * debug information of a large program takes seconds, and no answer may wait
 * for it.  What is not known yet is asked for and told later; `missing` counts
 * such questions, so that the answer can say that names are still to come.
 *
 * One thread asks (the one that makes answers), one finds.
 */
#ifndef HP_REPORT_NAME_RESOLVER_H
#define HP_REPORT_NAME_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/name/source.h"
#include "report/read/model.h"

struct hp_resolver;

/* NULL = there is no thread for it. */
struct hp_resolver *hp_resolver_new(void);
void hp_resolver_free(struct hp_resolver *resolver);

/* Its names, for one look at the program; both stay the caller's. */
struct hp_name_source *hp_resolver_source(struct hp_resolver *resolver,
					  const struct hp_model *model);

/* Questions that had no answer yet, so far: it only grows.  0 for NULL. */
uint64_t hp_resolver_missing(const struct hp_resolver *resolver);

/* True if nothing is being looked for.  NULL is idle. */
bool hp_resolver_is_idle(struct hp_resolver *resolver);

#endif
