/* SPDX-License-Identifier: MIT */
/*
 * expected.c - reports of ThreadSanitizer that are not races, or are intended, each with
 * the reason why the value read is correct. Any other report fails a test.
 */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
	return
		/* A moment and its number: by fences, which ThreadSanitizer does not know.  The
		 * test itself checks the value read. */
		"race:hp_clock_note\n"
		"race:moment_read\n"
		/* The owner's counters: one writer, an aligned word, plain so that it is one
		 * instruction; readers want a recent value, and the sum is exact when all are
		 * done, which the test checks. */
		"race:hp_side_add\n"
		"race:hp_side_units\n"
		"race:hp_side_others\n"
		/* Rows of the log of last messages: a sender that is stopped while 64 others
		 * are timed writes into another one's row. The report drops rows whose number
		 * does not match their place. */
		"race:log_sent\n"
		"race:log_size\n"
		"race:log_delay\n";
}
