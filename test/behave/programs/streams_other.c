/*
 * streams_other.c DIRECTORY - directories, listening sockets, and event descriptors; prints
 * the expected report: NAME ITEMS INSTANCES ENDED.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

static char folder[4096];

static void fill(const char *name, int files)
{
	char path[4300];

	snprintf(folder, sizeof(folder), "%s", name);
	mkdir(folder, 0700);
	for (int i = 0; i < files; i++) {
		snprintf(path, sizeof(path), "%s/%d", folder, i);
		close(open(path, O_CREAT | O_WRONLY, 0600));
	}
}

static void read_all(void)
{
	DIR *dir = opendir(folder);
	long items = 0;

	errno = 17;
	while (readdir(dir))
		items++;
	if (errno != 17)
		abort();
	closedir(dir);
	printf("all %ld 1 ended\n", items);
}

static void read_some(void)
{
	long items = 0;

	for (int i = 0; i < 5; i++) {
		DIR *dir = opendir(folder);

		for (int n = 0; n < 10 && readdir64(dir); n++)
			items++;
		closedir(dir);
	}
	printf("some %ld 5 closed\n", items);
}

static int is_round(const struct dirent *entry)
{
	return strchr(entry->d_name, '0') != NULL;
}

static void scan(void)
{
	struct dirent **list;
	int count = scandir(folder, &list, is_round, alphasort);

	for (int i = 0; i < count; i++)
		free(list[i]);
	free(list);
	printf("scan %d 1 ended\n", count);
}

static struct sockaddr_in address = { .sin_family = AF_INET };

static void *connects(void *count)
{
	for (long i = 0; i < (long)count; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
			abort();
		close(fd);
	}
	return NULL;
}

static int listens(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(address);

	address.sin_port = 0;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 100) != 0)
		abort();
	getsockname(fd, (struct sockaddr *)&address, &size);
	return fd;
}

/* Twice, with the same descriptor; with a call that finds no client. */
static void accepts(void)
{
	for (int round = 0; round < 2; round++) {
		pthread_t thread;
		int fd = listens();

		pthread_create(&thread, NULL, connects, (void *)50L);
		for (int i = 0; i < 50; i++)
			close(accept4(fd, NULL, NULL, SOCK_CLOEXEC));
		pthread_join(thread, NULL);
		fcntl(fd, F_SETFL, O_NONBLOCK);
		if (accept4(fd, NULL, NULL, 0) >= 0 || errno != EAGAIN)
			abort();
		close(fd);
	}
	printf("accept 100 2 ended\n");
}

static void events(void)
{
	const struct itimerspec soon = { { 0, 1000000 }, { 0, 1000000 } };
	int timer = timerfd_create(CLOCK_MONOTONIC, 0), queue = inotify_init1(0), signals;
	struct signalfd_siginfo infos[4];
	uint64_t expired;
	char room[4096], path[4300];
	sigset_t set;
	long items = 0;

	timerfd_settime(timer, 0, &soon, NULL);
	while (items < 5 && read(timer, &expired, sizeof(expired)) == sizeof(expired))
		items++;
	close(timer);
	printf("timerfd %ld 1 ended\n", items);

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, 0);
	raise(SIGUSR1);
	raise(SIGUSR2);
	items = read(signals, infos, sizeof(infos)) / (long)sizeof(infos[0]);
	close(signals);
	printf("signalfd %ld 1 ended\n", items);

	inotify_add_watch(queue, folder, IN_CREATE);
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/new%d", folder, i);
		close(open(path, O_CREAT | O_WRONLY, 0600));
	}
	if (read(queue, room, sizeof(room)) <= 0)
		abort();
	close(queue);
	printf("inotify 4 1 ended\n");
}

int main(int argc, char **argv)
{
	fill(argc > 1 ? argv[1] : "entries", 300);
	read_all();
	read_some();
	scan();
	accepts();
	events();
	return 0;
}
