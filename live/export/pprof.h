/* SPDX-License-Identifier: MIT */
/*
 * pprof.h - /debug/pprof/...: profiles for go tool pprof, Parca, Pyroscope.
 */
#ifndef HP_LIVE_EXPORT_PPROF_H
#define HP_LIVE_EXPORT_PPROF_H

#include "live/answer/route.h"

/* CPU for the next ?seconds=N; without it, from the program's start until now. */
uint64_t hp_pprof_span_ns(const struct hp_request *request);
void *hp_pprof_cpu_begin(struct hp_snapshot *snapshot, const struct hp_request *request);
struct hp_answer *hp_pprof_cpu_end(struct hp_snapshot *snapshot, const struct hp_request *request,
				   void *begun);

struct hp_answer *hp_pprof_heap(struct hp_snapshot *snapshot, const struct hp_request *request);
struct hp_answer *hp_pprof_allocs(struct hp_snapshot *snapshot, const struct hp_request *request);
struct hp_answer *hp_pprof_mutex(struct hp_snapshot *snapshot, const struct hp_request *request);

#endif
