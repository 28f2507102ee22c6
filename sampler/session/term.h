/* SPDX-License-Identifier: MIT */
/*
 * term.h - SIGTERM ends the sampler, whatever it waits for.
 *
 * It ignores every other signal, since it must outlive the programs. At
 * shutdown, all processes of a service or machine get SIGTERM, so the programs
 * are about to end, and their report is wanted. So after the first signal the
 * sampler continues for a while:
 *
 *   the root runs      until its report is done, at most HP_TERM_ROOT_S
 *   it has ended       until the report is done, at most HP_TERM_REPORT_S; the other reason
 *                      of the session still runs is not waited for
 *
 * After a second signal or a timeout it ends at once, and with it the report
 * that it waits for. A root that is left behind makes its report itself. The
 * timeout uses alarm(2), which cannot fail, and whose signal ends us even if no
 * handler could be set.
 */
#ifndef HP_SAMPLER_SESSION_TERM_H
#define HP_SAMPLER_SESSION_TERM_H

#include <stdbool.h>
#include <sys/types.h>

#define HP_TERM_ROOT_S 30
#define HP_TERM_REPORT_S 10

/*
 * `report` is the pid of the child that ends with us, 0 = none; `event` an
 * eventfd that wakes the loop.
 */
void hp_term_init(const volatile pid_t *report, int event);

/* From here on only the report is awaited. */
void hp_term_root_ended(void);

/* True once SIGTERM has arrived. */
bool hp_term_is_asked(void);

#endif
