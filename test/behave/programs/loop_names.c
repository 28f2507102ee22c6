/* SPDX-License-Identifier: MIT */
/*
 * loop_names.c - eight threads of one name, four in each of two functions whose long names differ
 * in the middle. The first one then waits at two places of a third function.
 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <unistd.h>

struct pipes {
	int fds[2][2];
	struct pollfd polled[2];
};

static int fill(const struct pipes *pipes, int i)
{
	return write(pipes->fds[i % 2][1], "", 1) == 1;
}

static int drain(const struct pipes *pipes, int i)
{
	char byte;

	return read(pipes->fds[i % 2][0], &byte, 1) == 1;
}

static void company_network_server_dispatcher_for_incoming_connections_of_all_clients(
	struct pipes *pipes)
{
	for (int i = 0; i < 40 && fill(pipes, i); i++)
		if (poll(pipes->polled, 2, -1) != 1 || !drain(pipes, i))
			return;
}

static void company_network_server_dispatcher_for_outgoing_connections_of_all_clients(
	struct pipes *pipes)
{
	for (int i = 0; i < 40 && fill(pipes, i); i++)
		if (poll(pipes->polled, 2, -1) != 1 || !drain(pipes, i))
			return;
}

static void twice(struct pipes *pipes)
{
	for (int i = 0; i < 40; i++) {
		if (!fill(pipes, i) || poll(pipes->polled, 2, -1) != 1 || !drain(pipes, i))
			return;
		if (!fill(pipes, i) || poll(pipes->polled, 2, -1) != 1 || !drain(pipes, i))
			return;
	}
}

static pthread_barrier_t together;

static void *thread(void *data)
{
	uintptr_t number = (uintptr_t)data;
	struct pipes pipes = { 0 };

	for (int i = 0; i < 2; i++) {
		if (pipe(pipes.fds[i]) != 0)
			return NULL;
		pipes.polled[i] = (struct pollfd){ .fd = pipes.fds[i][0], .events = POLLIN };
	}
	prctl(PR_SET_NAME, "worker");
	if (number % 2)
		company_network_server_dispatcher_for_incoming_connections_of_all_clients(&pipes);
	else
		company_network_server_dispatcher_for_outgoing_connections_of_all_clients(&pipes);
	if (number == 0)
		twice(&pipes);
	/* A thread that starts after another's end would continue its record. */
	pthread_barrier_wait(&together);
	return NULL;
}

int main(void)
{
	pthread_t threads[8];

	pthread_barrier_init(&together, NULL, 8);
	for (uintptr_t i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
