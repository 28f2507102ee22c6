/* SPDX-License-Identifier: MIT */
/*
 * uv.c - requests of libuv: work that starts again from its own callback, work that waits and is
 * cancelled, work without a second callback, files, names, and what libuv refuses or does at once.
 * Prints what it started and which callbacks ran; the callback that it finds in its request.
 *
 * uv.c bench COUNT - ns of work that does nothing, from uv_queue_work to its callback, 100 at a time.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#define THREADS 4	/* of libuv's pool */

static int started, worked, after, cancelled, files, names;
static uv_sem_t gate, gated;

static void die(const char *what)
{
	fprintf(stderr, "%s failed\n", what);
	exit(1);
}

static void work(uv_work_t *request)
{
	__atomic_fetch_add(&worked, 1, __ATOMIC_RELAXED);
	free(malloc(100));
	(void)request;
}

static void wait_at_gate(uv_work_t *request)
{
	work(request);
	uv_sem_post(&gated);
	uv_sem_wait(&gate);
}

static void done(uv_work_t *request, int status);

static void queue(uv_work_t *request, uv_work_cb function)
{
	if (uv_queue_work(uv_default_loop(), request, function, done) != 0)
		die("uv_queue_work");
	started++;
}

/* Three times each; then it is freed. */
static void done(uv_work_t *request, int status)
{
	intptr_t left = (intptr_t)request->data;

	if (status == UV_ECANCELED)
		cancelled++;
	else
		after++;
	request->data = (void *)(left - 1);
	if (left > 1)
		queue(request, work);
	else
		free(request);
}

static uv_work_t *request_new(int times)
{
	uv_work_t *request = calloc(1, sizeof(*request));

	request->data = (void *)(intptr_t)times;
	return request;
}

static void works(void)
{
	for (int i = 0; i < 100; i++)
		queue(request_new(3), work);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

/* The pool's threads are busy, so those behind them can be cancelled. */
static void cancellations(void)
{
	uv_work_t *waiting[10];

	for (int i = 0; i < THREADS; i++)
		queue(request_new(1), wait_at_gate);
	for (int i = 0; i < THREADS; i++)
		uv_sem_wait(&gated);
	for (int i = 0; i < 10; i++)
		queue(waiting[i] = request_new(1), work);
	for (int i = 0; i < 10; i += 2)
		if (uv_cancel((uv_req_t *)waiting[i]) != 0)
			die("uv_cancel");
	for (int i = 0; i < THREADS; i++)
		uv_sem_post(&gate);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

static void read_done(uv_fs_t *request)
{
	files++;
	uv_fs_req_cleanup(request);
	free(request);
}

static void file_requests(void)
{
	static char bytes[20][100];
	uv_fs_t at_once;
	int fd = uv_fs_open(uv_default_loop(), &at_once, "/proc/self/exe", O_RDONLY, 0, NULL);

	uv_fs_req_cleanup(&at_once);
	for (int i = 0; i < 20; i++) {
		uv_buf_t buffer = uv_buf_init(bytes[i], sizeof(bytes[i]));
		uv_fs_t *request = calloc(1, sizeof(*request));

		if (uv_fs_read(uv_default_loop(), request, fd, &buffer, 1, i * 100, read_done) != 0)
			die("uv_fs_read");
		started++;
	}
	for (int i = 0; i < 20; i++) {
		uv_fs_t *request = calloc(1, sizeof(*request));

		uv_fs_utime(uv_default_loop(), request, "/nowhere", 1.5, 2.5, read_done);
		started++;
	}
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	printf("%d\n", memcmp(bytes[0], "\177ELF", 4));
	uv_fs_close(uv_default_loop(), &at_once, fd, NULL);
	uv_fs_req_cleanup(&at_once);
}

static void address_done(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
	names += status == 0 && found;
	uv_freeaddrinfo(found);
	(void)request;
}

static void name_done(uv_getnameinfo_t *request, int status, const char *host, const char *service)
{
	names += status == 0 && strcmp(host, "127.0.0.1") == 0 && strcmp(service, "80") == 0;
	(void)request;
}

static void random_done(uv_random_t *request, int status, void *bytes, size_t size)
{
	names += status == 0 && bytes && size == 16;
	(void)request;
}

static void name_requests(void)
{
	static uv_getaddrinfo_t address;
	static uv_getnameinfo_t name;
	static uv_random_t random;
	static char bytes[16];
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST };
	struct sockaddr_in home;

	uv_ip4_addr("127.0.0.1", 80, &home);
	uv_getaddrinfo(uv_default_loop(), &address, address_done, "127.0.0.1", "80", &hints);
	uv_getnameinfo(uv_default_loop(), &name, name_done, (struct sockaddr *)&home,
		       NI_NUMERICHOST | NI_NUMERICSERV);
	uv_random(uv_default_loop(), &random, bytes, sizeof(bytes), 0, random_done);
	started += 3;
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

static void refusals(void)
{
	uv_work_t request;
	uv_getaddrinfo_t address;

	printf("%d %d\n", uv_queue_work(uv_default_loop(), &request, NULL, done) == UV_EINVAL,
	       uv_getaddrinfo(uv_default_loop(), &address, address_done, NULL, NULL, NULL) ==
		       UV_EINVAL);
}

/* Its work is done, its callback runs in a child. */
static void child(void)
{
	uv_work_t *request = request_new(1);
	int status = 0;

	queue(request, wait_at_gate);
	uv_sem_wait(&gated);
	uv_sem_post(&gate);
	/* The pool wakes the loop when the work is done. */
	poll(&(struct pollfd){ .fd = uv_backend_fd(uv_default_loop()), .events = POLLIN }, 1, -1);
	fflush(stdout);
	if (fork() == 0) {
		int before = after;

		if (uv_loop_fork(uv_default_loop()) != 0)
			_exit(1);
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
		_exit(after == before + 1 ? 0 : 2);
	}
	wait(&status);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	printf("child %d\n", status);
}

/* Without a second callback nothing tells the program; the loop ends when it is done. */
static void silent(void)
{
	static uv_work_t request;

	uv_queue_work(uv_default_loop(), &request, work, NULL);
	started++;
	printf("own %d\n", request.work_cb == work && !request.after_work_cb);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

static void nothing(uv_work_t *request)
{
	(void)request;
}

static void nothing_done(uv_work_t *request, int status)
{
	(void)request, (void)status;
}

static void bench(int count)
{
	static uv_work_t requests[100];
	uint64_t begin = uv_hrtime();

	for (int i = 0; i < count; i += 100) {
		for (int j = 0; j < 100; j++)
			uv_queue_work(uv_default_loop(), &requests[j], nothing, nothing_done);
		uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	}
	printf("%.1f\n", (double)(uv_hrtime() - begin) / count);
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "bench") == 0) {
		bench(atoi(argv[2]));
		return 0;
	}
	uv_sem_init(&gate, 0);
	uv_sem_init(&gated, 0);
	works();
	cancellations();
	file_requests();
	name_requests();
	refusals();
	silent();
	child();
	printf("started %d\nworked %d\nafter %d\ncancelled %d\nfiles %d\nnames %d\n", started,
	       worked, after, cancelled, files, names);
	return 0;
}
