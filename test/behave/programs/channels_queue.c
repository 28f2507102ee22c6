/* SPDX-License-Identifier: MIT */
/*
 * channels_queue.c MODE - uses queues that aren't descriptors, or have labels, and prints
 * its actions: lines "what number".
 */
#include <errno.h>
#include <fcntl.h>
#include <hotpath.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdint.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void *g_async_queue_new(void);
void *g_async_queue_ref(void *queue);
void g_async_queue_unref(void *queue);
void g_async_queue_push(void *queue, void *data);
void g_async_queue_push_front(void *queue, void *data);
void *g_async_queue_pop(void *queue);
void *g_async_queue_try_pop(void *queue);
void *g_async_queue_timeout_pop(void *queue, uint64_t time);

static long sent, sent_bytes, received, received_bytes, most;

static void need(int is_good, const char *what)
{
	if (is_good)
		return;
	perror(what);
	exit(1);
}

static void in(int is_good, long bytes)
{
	need(is_good, "send");
	sent++;
	sent_bytes += bytes;
	most = sent - received > most ? sent - received : most;
}

static void out(int is_good, long bytes)
{
	need(is_good, "receive");
	received++;
	received_bytes += bytes;
}

static mqd_t open_queue(char name[64])
{
	struct mq_attr attributes = { .mq_maxmsg = 5, .mq_msgsize = 64 };
	mqd_t queue;

	snprintf(name, 64, "/hotpath-test-%d", (int)getpid());
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, &attributes);
	if (queue < 0) {
		printf("no message queues here\n");
		exit(77);
	}
	return queue;
}

/* A child opens it by name. */
static void posix(void)
{
	char name[64], text[64] = "";
	mqd_t queue = open_queue(name);
	int status;

	for (int i = 0; i < 100; i++) {
		for (int j = 0; j <= i % 5; j++)
			in(mq_send(queue, text, (size_t)(i % 20), 3) == 0, i % 20);
		while (sent > received)
			out(mq_receive(queue, text, 64, NULL) == i % 20, i % 20);
	}
	if (fork() == 0) {
		mqd_t mine = mq_open(name, O_RDONLY);

		_exit(mq_receive(mine, text, 64, NULL) != 7);
	}
	in(mq_send(queue, text, 7, 9) == 0, 7);
	wait(&status);
	out(status == 0, 7);
	need(mq_receive(queue, text, 64, NULL) == -1 && errno == EAGAIN, "empty");
	need(mq_close(queue) == 0 && mq_unlink(name) == 0, "close");
}

struct message {
	long type;
	char text[40];
};

static void sysv(void)
{
	int queue = msgget(IPC_PRIVATE, 0600);
	struct message message = { .type = 1 };

	if (queue < 0) {
		printf("no message queues here\n");
		exit(77);
	}
	for (int i = 0; i < 100; i++) {
		for (int j = 0; j <= i % 7; j++)
			in(msgsnd(queue, &message, (size_t)(i % 40), 0) == 0, i % 40);
		while (sent > received)
			out(msgrcv(queue, &message, 40, 0, 0) == i % 40, i % 40);
	}
	need(msgrcv(queue, &message, 40, 0, IPC_NOWAIT) == -1 && errno == ENOMSG, "empty");
	need(msgsnd(queue, (void *)8, 10, 0) == -1 && errno == EFAULT, "nowhere");
	need(msgctl(queue, IPC_RMID, NULL) == 0, "msgctl");
}

static void *pop_all(void *queue)
{
	long taken = 0;

	while (taken < 30000 && g_async_queue_timeout_pop(queue, 20000000))
		taken++;
	return (void *)taken;
}

static void *push_all(void *queue)
{
	for (int i = 0; i < 15000; i++)
		g_async_queue_push(queue, queue);
	return NULL;
}

/* Two threads push, one pops; then many short-lived queues. */
static void glib(void)
{
	void *queue = g_async_queue_new(), *taken;
	pthread_t threads[3];

	pthread_create(&threads[0], NULL, pop_all, g_async_queue_ref(queue));
	pthread_create(&threads[1], NULL, push_all, queue);
	pthread_create(&threads[2], NULL, push_all, queue);
	for (int i = 2; i >= 0; i--)
		pthread_join(threads[i], &taken);
	need(taken == (void *)30000, "pop");
	g_async_queue_unref(queue);
	g_async_queue_unref(queue);
	for (int i = 0; i < 2000; i++) {
		queue = g_async_queue_new();
		for (int j = 0; j < 4; j++)
			g_async_queue_push(queue, queue);
		for (int j = 0; j < 4; j++)
			need(g_async_queue_pop(queue) == queue, "pop");
		need(g_async_queue_try_pop(queue) == NULL, "empty");
		g_async_queue_unref(queue);
	}
	sent = received = 30000 + 8000;
}

/* A message pushed at the front is popped before older ones. */
static void front(void)
{
	void *queue = g_async_queue_new();

	in(1, 0), g_async_queue_push(queue, "1");
	in(1, 0), g_async_queue_push_front(queue, "2");
	out(strcmp(g_async_queue_pop(queue), "2") == 0, 0);
	out(strcmp(g_async_queue_pop(queue), "1") == 0, 0);
	g_async_queue_unref(queue);
}

/* Private queues, and names for others. */
static void header(void)
{
	static int ring, list, large;
	int fds[2];

	HOTPATH_CHANNEL(&ring, "ring", 8);
	for (int i = 0; i < 100; i++) {
		for (int j = 0; j <= i % 8; j++) {
			HOTPATH_CHANNEL_SEND(&ring);
			in(1, 0);
		}
		while (sent > received) {
			HOTPATH_CHANNEL_RECEIVE(&ring);
			out(1, 0);
		}
	}
	HOTPATH_CHANNEL_CLOSE(&ring);
	HOTPATH_CHANNEL(&large, "large", (1UL << 24) + 8);	/* does not fit */
	HOTPATH_CHANNEL_SEND(&large);
	in(1, 0);
	HOTPATH_CHANNEL_RECEIVE(&large);
	out(1, 0);
	HOTPATH_CHANNEL_SEND(&list);
	in(1, 0);
	need(pipe(fds) == 0, "pipe");
	HOTPATH_LABEL_FD(fds[0], "jobs");
	in(write(fds[1], "12345", 5) == 5, 5);
}

static void *nap_and_end(void *data)
{
	nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
	return data;
}

/* A result is sent by the ending thread, and received by the joining one. */
static void results(void)
{
	pthread_t threads[5];

	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 5; i++)
			pthread_create(&threads[i], NULL, nap_and_end, NULL);
		for (int i = 0; i < 5; i++)
			pthread_join(threads[i], NULL);
	}
	sent = received = 50;
	most = 1;
}

static sem_t tokens, guard, places;

/* Tokens go from one thread to another; the guard is a lock, and so are slots that are acquired
 * and released. */
static void *take_tokens(void *data)
{
	for (int i = 0; i < 500; i++) {
		sem_wait(&tokens);
		sem_wait(&guard);
		sem_post(&guard);
	}
	return data;
}

static void semaphores(void)
{
	pthread_t thread;

	sem_init(&tokens, 0, 0);
	sem_init(&guard, 0, 1);
	sem_init(&places, 0, 2);
	pthread_create(&thread, NULL, take_tokens, NULL);
	for (int i = 0; i < 500; i++) {
		sem_post(&tokens);
		sem_wait(&guard);
		sem_post(&guard);
		sem_wait(&places);
		sem_post(&places);
	}
	pthread_join(thread, NULL);
	sent = received = 500;
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = { { "posix", posix },	   { "sysv", sysv },	 { "glib", glib },
		      { "front", front },	   { "header", header }, { "results", results },
		      { "semaphores", semaphores } };

	for (size_t i = 0; count > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(arguments[1], modes[i].name) == 0)
			modes[i].run();
	printf("sent_count %ld\nsent_bytes %ld\nreceived_count %ld\nreceived_bytes %ld\n", sent,
	       sent_bytes, received, received_bytes);
	printf("max_queue_size %ld\n", most);
	return 0;
}
