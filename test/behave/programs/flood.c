/* SPDX-License-Identifier: MIT */
/*
 * flood.c ADDRESS USER - that user's processes connect to an abstract address until it is gone.
 *
 * Each has some ancestors, which cost whoever looks for them. Prints "on" after a while.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ANCESTORS 20
#define SOME 2000

int main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(argv[1]));
	uid_t user = argc > 2 ? (uid_t)atoi(argv[2]) : getuid();

	memcpy(address.sun_path + 1, argv[1], strlen(argv[1]));
	if (setresuid(user, user, user) != 0)
		return 1;
	for (int i = 0; i < ANCESTORS; i++) {
		if (fork() != 0) {
			pause();
			return 0;
		}
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	for (int i = 0;; i++) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

		if (connect(fd, (struct sockaddr *)&address, size) != 0 && errno == ECONNREFUSED)
			return 0;
		close(fd);
		if (i == SOME) {
			puts("on");
			fflush(stdout);
		}
	}
}
