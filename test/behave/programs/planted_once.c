/* SPDX-License-Identifier: MIT */
/* planted_once.c NAME [fixed] - like planted.c: work for each item that can be done once. */
#include <arpa/inet.h>
#include <pthread.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define APART __attribute__((noinline))

static bool is_fixed;
static volatile long sink;

/* --- patterns --- */

#define PATTERN "^([a-z]+)=([0-9]+)(;|$)"

static regex_t kept;

APART static int line_matches(const char *line)
{
	regex_t pattern, *use = &kept;
	int got;

	if (!is_fixed) {
		use = &pattern;
		if (regcomp(use, PATTERN, REG_EXTENDED))
			abort();
	}
	got = regexec(use, line, 0, NULL, 0);
	if (!is_fixed)
		regfree(use);
	return got;
}

APART static long sum_of(const char *line)
{
	long sum = 0;

	for (int i = 0; i < 3000; i++)
		sum = sum * 31 + line[i % 6];
	return sum;
}

static void patterns(void)
{
	char line[64];

	regcomp(&kept, PATTERN, REG_EXTENDED);
	for (int i = 0; i < 30000; i++) {
		snprintf(line, sizeof(line), "value=%d;", i);
		sink += line_matches(line) + sum_of(line);
	}
}

/* One large pattern takes a while, once. */
static void large_pattern(void)
{
	char line[64];

	if (regcomp(&kept, "^(([a-z]{1,200}){1,200}=([0-9]{1,90}){1,60})$", REG_EXTENDED))
		abort();
	for (int i = 0; i < 30000; i++) {
		snprintf(line, sizeof(line), "value=%d;", i);
		sink += sum_of(line);
	}
}

/* --- buffers --- */

#define BUFFER (2 << 20)

static char buffer[BUFFER];

APART static long packet(int i)
{
	memset(buffer, 0, is_fixed ? 64 : BUFFER);
	snprintf(buffer, sizeof(buffer), "packet %d", i);
	return buffer[7];
}

static void clears(void)
{
	char line[64] = "packet";

	for (int i = 0; i < 12000; i++)
		sink += packet(i) + sum_of(line);
}

/* All memory is cleared once, and then used. */
static void first_clear(void)
{
	size_t size = (size_t)400 << 20;
	char *all = malloc(size);

	memset(all, 0, size);
	for (size_t i = 0; i < size; i += 64)
		all[i] = (char)(all[i] + all[i / 2] + 1);
	sink += all[size / 3];
	free(all);
}

/* --- connections --- */

static struct sockaddr_in address = { .sin_family = AF_INET };

static void *serve(void *me)
{
	int listener = *(int *)me, fd;
	char byte;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		while (read(fd, &byte, 1) == 1 && byte != 'q')
			if (write(fd, &byte, 1) != 1)
				abort();
		close(fd);
		if (byte == 'q')
			break;
	}
	return NULL;
}

static int dial(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		abort();
	return fd;
}

static int kept_fd = -1;

APART static char ask(char byte)
{
	int fd = is_fixed ? kept_fd : dial();

	if (write(fd, &byte, 1) != 1)
		abort();
	if (byte != 'q' && read(fd, &byte, 1) != 1)
		abort();
	if (!is_fixed)
		close(fd);
	return byte;
}

static void connections(void)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t length = sizeof(address);
	pthread_t server;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 100) ||
	    getsockname(listener, (struct sockaddr *)&address, &length))
		abort();
	pthread_create(&server, NULL, serve, &listener);
	kept_fd = is_fixed ? dial() : -1;
	for (int i = 0; i < 12000; i++)
		sink += ask((char)('a' + i % 10));
	ask('q');
	pthread_join(server, NULL);
}

static const struct {
	const char *name;
	void (*run)(void);
} faults[] = {
	{ "patterns", patterns },	{ "large-pattern", large_pattern }, { "clears", clears },
	{ "first-clear", first_clear }, { "connections", connections },
};

int main(int argc, char **argv)
{
	is_fixed = argc > 2;
	for (size_t i = 0; argc > 1 && i < sizeof(faults) / sizeof(faults[0]); i++)
		if (strcmp(faults[i].name, argv[1]) == 0) {
			faults[i].run();
			return 0;
		}
	return 2;
}
