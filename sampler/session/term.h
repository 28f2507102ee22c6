/* SPDX-License-Identifier: MIT */
/*
 * term.h - SIGTERM ends the sampler, whatever it waits for.
 *
 * It is deaf to every other signal, for it must be there when the programs are
 * not.  SIGTERM comes to all processes of a service or machine that is shut
 * down, so the programs are about to end, and their report is wanted.  So a
 * process that gets the signal first continues for a while:
 *
 *   the root runs      until its report is done, at most HP_TERM_ROOT_S
 *   it has ended       until the report is done, at most HP_TERM_REPORT_S; the other reason
 *                      of the session still runs is not waited for
 *
 * Hearing it again, or when the time is over, it ends at once, and with it the
 * report that it waits for.  A root that is left behind makes its report itself.
 * The time is kept by alarm(2), which cannot fail, and whose signal ends us even
 * where no handler could be set: the sampler's actions don't matter here.
 */
#ifndef HP_SAMPLER_SESSION_TERM_H
#define HP_SAMPLER_SESSION_TERM_H

#include <stdbool.h>
#include <sys/types.h>

#define HP_TERM_ROOT_S 30
#define HP_TERM_REPORT_S 10

/*
 * `report` is the pid of the child that goes with us, 0 = none exists; `event` an
 * eventfd that wakes the loop.
 */
void hp_term_init(const volatile pid_t *report, int event);

/* From here on no one but the report is waited for. */
void hp_term_root_ended(void);

/* True once SIGTERM has come. */
bool hp_term_is_asked(void);

#endif
