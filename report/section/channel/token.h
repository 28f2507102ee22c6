/* SPDX-License-Identifier: MIT */
/*
 * token.h - semaphores that pass tokens, as rows of channels.
 */
#ifndef HP_REPORT_SECTION_CHANNEL_TOKEN_H
#define HP_REPORT_SECTION_CHANNEL_TOKEN_H

#include "report/section/channel/row/channel.h"
#include "report/section/wait/lock.h"

/*
 * Adds a row for each semaphore that no thread both posted and took: posts
 * are sends, taking is receiving. Its initial value is not known, so the
 * queue is not either. `locks` must live as long as the rows.
 */
void hp_channels_add_tokens(struct hp_channels *channels, const struct hp_locks *locks);

#endif
