/* SPDX-License-Identifier: MIT */
/*
 * blocks.c - what a program can tell the profiler about itself, by
 * include/hotpath.h: a small interpreter of messages.
 *
 *	cc -O2 -DHOTPATH -I include $(hotpath flags cc) blocks.c -o blocks
 *	hotpath-run ./blocks
 *
 * The interesting parts are not functions: the stages of one long function, and
 * the turns of a loop with jumps across it.  Each is its own row below the
 * function that it is in; the helper that the compiler need not instrument is
 * left out, and a function with a technical name has a better one.
 */
#include <hotpath.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

HOTPATH_DEFAULTS("percentiles=50,99 report=functions-timing,calltree");

struct message {
	unsigned kind;
	unsigned size;
	unsigned char bytes[56];
};

HOTPATH_SKIP static unsigned random_next(void)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33);
}

static void message_make(struct message *message)
{
	message->kind = random_next() % 3;
	message->size = 8 + random_next() % 48;
	for (unsigned i = 0; i < message->size; i++)
		message->bytes[i] = (unsigned char)random_next();
}

/* Three stages in one function: a block ends where its scope does, however it is left. */
static long do_handle_msg_v2(const struct message *message)
{
	unsigned char text[128];
	long sum = 0;

	HOTPATH_NAME("handle a message");
	{
		HOTPATH_BLOCK("check");
		unsigned check = 0;

		for (unsigned i = 0; i < message->size; i++)
			check = check * 31 + message->bytes[i];
		if (check % 16 == 0)
			return -1;	/* this ends the block, too */
	}
	{
		HOTPATH_BLOCK("decode");

		for (unsigned i = 0; i < message->size; i++) {
			text[2 * i] = message->bytes[i] & 15;
			text[2 * i + 1] = message->bytes[i] >> 4;
		}
	}
	{
		HOTPATH_BLOCK("sort and sum");

		for (unsigned i = 1; i < 2 * message->size; i++)
			for (unsigned j = i; j > 0 && text[j - 1] > text[j]; j--) {
				unsigned char other = text[j];

				text[j] = text[j - 1];
				text[j - 1] = other;
			}
		for (unsigned i = 0; i < 2 * message->size; i += 2)
			sum += text[i];
	}
	return sum;
}

/* A state machine: no scope follows its jumps, so begin and end are where they happen. */
static long transfer(unsigned rounds)
{
	long retries = 0;

wait:
	HOTPATH_BEGIN("wait");
	while (random_next() % 64)
		;
	HOTPATH_END("wait");
	if (rounds-- == 0)
		return retries;
	HOTPATH_BEGIN("send");
	for (int i = 0; i < 200; i++)
		if (random_next() % 1000 == 0) {
			HOTPATH_END("send");
			retries++;
			goto wait;
		}
	HOTPATH_END("send");
	goto wait;
}

static long batch(unsigned number)
{
	char result[64];
	long sum = 0, refused = 0;

	for (int i = 0; i < 2000; i++) {
		struct message message;
		long got;

		message_make(&message);
		got = do_handle_msg_v2(&message);
		refused += got < 0;
		sum += got;
	}
	/* In JSON, beside the duration of this call. */
	snprintf(result, sizeof(result), "batch %u: %ld refused", number, refused);
	HOTPATH_RESULT(result);
	return sum;
}

int main(void)
{
	long sum = 0;

	for (unsigned i = 0; i < 20; i++)
		sum += batch(i) + transfer(100);
	printf("%ld\n", sum);
	return 0;
}
