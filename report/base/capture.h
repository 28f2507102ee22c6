/* SPDX-License-Identifier: MIT */
/*
 * capture.h - run a command and read its output.
 *
 * For querying other programs (a compiler, one of our helpers): they get no
 * input and print nothing on our terminal.
 */
#ifndef HP_REPORT_BASE_CAPTURE_H
#define HP_REPORT_BASE_CAPTURE_H

struct hp_capture {
	char *out;	/* stdout; never NULL */
	char *err;	/* stderr */
	int status;	/* exit status; -1 = it could not be run, or a signal ended it */
	int error;	/* errno, if it could not be run; else 0 */
};

/*
 * Runs argv[0], as found in PATH, and waits for its end.  NULL `environment`
 * means our own.
 */
void hp_capture_init(struct hp_capture *capture, char *const *argv, char *const *environment);
void hp_capture_release(struct hp_capture *capture);

#endif
