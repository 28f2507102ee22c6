/* SPDX-License-Identifier: MIT */
/*
 * aio.c - POSIX AIO: starts COUNT writes and reads of a file, polls each until it is done, and
 * cancels those that wait for others.  Prints its own counts.
 */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 256

static struct aiocb requests[MOST];
static char blocks[MOST][512];
static int started, asked, done, cancelled;

static void request_init(struct aiocb *request, int fd, int i)
{
	memset(request, 0, sizeof(*request));
	request->aio_fildes = fd;
	request->aio_buf = blocks[i];
	request->aio_nbytes = sizeof(blocks[i]);
	request->aio_offset = (off_t)i * (off_t)sizeof(blocks[i]);
}

static void finish(struct aiocb *request)
{
	const struct aiocb *list[1] = { request };
	int error;

	while ((error = aio_error(request)) == EINPROGRESS) {
		asked++;
		aio_suspend(list, 1, NULL);
	}
	if (error == ECANCELED)
		cancelled++;
	else
		done++;
	aio_return(request);
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : MOST, fds[2];
	FILE *file = fopen(argc > 1 ? argv[1] : "/dev/null", "w+");
	struct aiocb *list[3] = { &requests[0], NULL, &requests[1] };
	char byte = 1;

	for (int i = 0; i < count; i++) {
		request_init(&requests[i], fileno(file), i);
		started += aio_write(&requests[i]) == 0;
	}
	for (int i = 0; i < count; i++)
		finish(&requests[i]);
	for (int i = 0; i < 2; i++) {
		request_init(list[2 * i], fileno(file), i);
		list[2 * i]->aio_lio_opcode = LIO_READ;
	}
	started += lio_listio(LIO_WAIT, list, 3, NULL) == 0 ? 2 : 0;
	finish(&requests[0]);
	/* Without aio_error: only the result. */
	done += aio_return(&requests[1]) > 0;
	/* An empty pipe keeps the first read busy; the others wait for it. */
	if (pipe(fds))
		return 1;
	for (int i = 0; i < 10; i++) {
		request_init(&requests[i], fds[0], i);
		requests[i].aio_nbytes = 1;
		started += aio_read(&requests[i]) == 0;
	}
	for (int i = 9; i > 0; i--)
		aio_cancel(fds[0], &requests[i]);
	for (int i = 0; i < 10; i++) {
		if (aio_error(&requests[i]) == EINPROGRESS) {
			asked++;
			if (write(fds[1], &byte, 1) != 1)
				return 1;
		}
		finish(&requests[i]);
	}
	/* Refused. */
	requests[0].aio_reqprio = -1;
	started += aio_read(&requests[0]) == 0;
	printf("%d started, %d asked, %d done, %d cancelled\n", started, asked, done, cancelled);
	return 0;
}
