/* SPDX-License-Identifier: MIT */
/*
 * logged.c - see logged.h.
 */
#include "report/read/logged.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "segment/seq.h"

#define BYTES_MAX 65536

bool hp_logged_call(const struct hp_call *there, struct hp_call *call)
{
	for (int tries = 0; tries < HP_SEQ_TRIES; tries++) {
		call->start = hp_seq_look(&there->start);
		if (!call->start)
			return false;
		call->ticks = hp_seq_get_word(&there->ticks);
		hp_seq_get_pair(&there->tid, &call->tid, &call->result);
		if (hp_seq_is_same(&there->start, call->start))
			return call->ticks != 0;
	}
	return false;
}

bool hp_logged_spent(const struct hp_spent *there, struct hp_spent *spent)
{
	for (int tries = 0; tries < HP_SEQ_TRIES; tries++) {
		spent->at = hp_seq_look(&there->at);
		if (!spent->at)
			return false;
		spent->bytes = hp_seq_get_word(&there->bytes);
		spent->whole_bytes = hp_seq_get_word(&there->whole_bytes);
		hp_seq_get_pair(&there->count, &spent->count, &spent->whole_count);
		spent->tid = hp_seq_get_word(&there->tid);
		if (hp_seq_is_same(&there->at, spent->at))
			return true;
	}
	return false;
}

bool hp_logged_span(const struct hp_loop_span *there, struct hp_loop_span *span)
{
	uint32_t fd;

	for (int tries = 0; tries < HP_SEQ_TRIES; tries++) {
		*span = (struct hp_loop_span){ .number = hp_seq_look(&there->number) };
		if (!span->number || span->number == HP_SEQ_BUSY)
			return false;
		span->begin = hp_seq_get_word(&there->begin);
		span->ticks = hp_seq_get_word(&there->ticks);
		span->source = hp_seq_get_word(&there->source);
		hp_seq_get_pair(&there->events, &span->events, &fd);
		hp_seq_get_pair(&there->tid, &span->tid, &span->reserved);
		span->fd = (int32_t)fd;
		if (hp_seq_is_same(&there->number, span->number))
			return span->ticks != 0;
	}
	return false;
}

char *hp_logged_result(struct hp_reader *reader, uint64_t results, uint32_t number)
{
	const struct hp_result *there;
	struct hp_results head;
	uint32_t length;
	char *text;

	if (!number || !hp_reader_copy(reader, results, &head, sizeof(head)) ||
	    head.capacity == 0 || head.capacity > HP_LOGS_MAX)
		return NULL;
	there = hp_reader_see(reader,
			      results + sizeof(head) + number % head.capacity * sizeof(*there),
			      sizeof(*there));
	/* A later call's result may have replaced it; then the number differs. */
	if (!there || hp_seq_look_32(&there->number) != number)
		return NULL;
	length = hp_seq_get_word(&there->length);
	if (length > sizeof(there->bytes))
		return NULL;
	text = hp_xmalloc(length + 1);
	hp_seq_get(text, there->bytes, length);
	text[length] = 0;
	if (hp_seq_is_same_32(&there->number, number))
		return text;
	free(text);
	return NULL;
}

bool hp_logged_message(const struct hp_message *there, struct hp_message *message)
{
	for (int tries = 0; tries < HP_SEQ_TRIES; tries++) {
		message->number = hp_seq_look(&there->number);
		if (!message->number)
			return false;
		message->ticks = hp_seq_get_word(&there->ticks);
		message->delay = hp_seq_get_word(&there->delay);
		hp_seq_get_pair(&there->size, &message->size, &message->tid);
		if (message->number != HP_SEQ_BUSY &&
		    hp_seq_is_same(&there->number, message->number))
			return message->ticks != 0;
	}
	return false;
}

char *hp_logged_text(struct hp_reader *reader, const struct hp_lane *lane, uint64_t i,
		     uint64_t number, uint32_t size)
{
	uint64_t at = (uint64_t)lane->texts * HP_LINE, slot;
	const struct hp_lane_text *there;
	struct hp_lane_texts texts;
	const char *ring;
	uint32_t length;
	char *text;

	if (!at || !hp_reader_copy(reader, at, &texts, sizeof(texts)) || texts.room > BYTES_MAX)
		return NULL;
	slot = (sizeof(*there) + texts.room + 7) & ~UINT64_C(7);
	ring = hp_reader_see(reader, at, sizeof(texts) + HP_MESSAGES * slot);
	if (!ring)
		return NULL;
	there = (const void *)(ring + sizeof(texts) + i * slot);
	if (hp_seq_look(&there->number) != number)
		return NULL;
	length = hp_seq_get_word(&there->length);
	if (length > texts.room)
		return NULL;
	text = hp_xmalloc(length + sizeof("..."));
	hp_seq_get(text, there + 1, length);
	text[length] = 0;
	strcat(text, length < size ? "..." : "");
	if (hp_seq_is_same(&there->number, number))
		return text;
	free(text);
	return NULL;
}

void hp_logged_wait(const struct hp_waiter *there, struct hp_waiter *waiter)
{
	for (int tries = 0; tries < HP_SEQ_TRIES; tries++) {
		waiter->since = hp_seq_look(&there->since);
		if (!waiter->since)
			return;
		waiter->lock = hp_seq_get_word(&there->lock);
		waiter->at = hp_seq_get_word(&there->at);
		waiter->address = hp_seq_get_word(&there->address);
		waiter->holder = hp_seq_get_word(&there->holder);
		waiter->side = hp_seq_get_word(&there->side);
		waiter->path = hp_seq_get_word(&there->path);
		if (hp_seq_is_same(&there->since, waiter->since))
			return;
	}
	waiter->since = 0;	/* many short waits in a row */
}
