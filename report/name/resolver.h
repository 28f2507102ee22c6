/* SPDX-License-Identifier: MIT */
/*
 * resolver.h - finds names and source locations in a background thread and
 * keeps them between refreshes.
 *
 * For a server that refreshes a running program's figures: reading the debug
 * information of a large program takes seconds, and no response may wait for
 * it. Unknown names are requested and delivered later; `missing` counts them,
 * so that the response can say that names are still missing.
 *
 * One thread asks (the one that builds responses), one finds.
 */
#ifndef HP_REPORT_NAME_RESOLVER_H
#define HP_REPORT_NAME_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/name/source.h"
#include "report/read/model.h"

struct hp_resolver;

/* NULL = no thread could be created. */
struct hp_resolver *hp_resolver_new(void);
void hp_resolver_free(struct hp_resolver *resolver);

/* Its names, for one refresh; the caller keeps both. */
struct hp_name_source *hp_resolver_source(struct hp_resolver *resolver,
					  const struct hp_model *model);

/* Total of lookups without an answer yet; it only grows. 0 for NULL. */
uint64_t hp_resolver_missing(const struct hp_resolver *resolver);

/* True if no lookup is pending. NULL is idle. */
bool hp_resolver_is_idle(struct hp_resolver *resolver);

#endif
