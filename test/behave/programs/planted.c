/* SPDX-License-Identifier: MIT */
/* planted.c NAME [fixed] - one fault each, and with `fixed` the same work without it: see planted.py. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define APART __attribute__((noinline))

static bool is_fixed;
static volatile double sink[THREADS * 16];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static double compute(long steps)
{
	double x = 0;

	for (long i = 0; i < steps; i++)
		x += (double)i * 0.5;
	return x;
}

static void run_threads(void *(*run)(void *), int count)
{
	pthread_t threads[THREADS];

	for (long i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

/* --- locks --- */

static void *account_run(void *me)
{
	for (int i = 0; i < 3000; i++) {
		if (!is_fixed)
			pthread_mutex_lock(&table_lock);
		sink[(long)me * 16] = compute(60000);
		if (!is_fixed)
			pthread_mutex_unlock(&table_lock);
	}
	return NULL;
}

static void contended(void)
{
	run_threads(account_run, 2);
}

static void *fetch_run(void *none)
{
	for (int i = 0; i < 150; i++) {
		if (is_fixed)
			usleep(1000);
		pthread_mutex_lock(&table_lock);
		if (!is_fixed)
			usleep(1000);
		sink[0] += 1;
		pthread_mutex_unlock(&table_lock);
	}
	return none;
}

static void lock_across_sleep(void)
{
	run_threads(fetch_run, THREADS);
}

static int log_fd;

APART static void log_write(const char *text)
{
	static int written;

	pthread_mutex_lock(&table_lock);
	if (write(log_fd, text, strlen(text)) < 0)
		abort();
	if (!is_fixed)
		fsync(log_fd);
	pthread_mutex_unlock(&table_lock);
	if (is_fixed && __sync_add_and_fetch(&written, 1) % 50 == 0)
		fsync(log_fd);
}

static void *log_run(void *me)
{
	for (int i = 0; i < 150; i++) {
		sink[(long)me * 16] = compute(40000);
		log_write("hello\n");
	}
	return NULL;
}

static void lock_across_disk(void)
{
	log_fd = open("planted.log", O_CREAT | O_WRONLY | O_TRUNC, 0600);
	run_threads(log_run, THREADS);
}

/* --- waits --- */

APART static void record(int fd, int i)
{
	static const char text[64];

	if (write(fd, text, sizeof(text)) < 0)
		abort();
	if (!is_fixed || i % 100 == 0)
		fsync(fd);
}

static void disk(void)
{
	int fd = open("planted.out", O_CREAT | O_WRONLY | O_TRUNC, 0600);

	for (int i = 0; i < 800; i++)
		record(fd, i);
}

/* Readers have the lock most of the time, so they make each other's writer wait, too. */
static pthread_rwlock_t config_lock = PTHREAD_RWLOCK_INITIALIZER;

APART static void config_reload(void)
{
	if (is_fixed)
		usleep(4000);
	pthread_rwlock_wrlock(&config_lock);
	if (!is_fixed)
		usleep(4000);
	sink[48]++;
	pthread_rwlock_unlock(&config_lock);
}

APART static void request_serve(long me)
{
	sink[me * 16] = compute(100000);
	pthread_rwlock_rdlock(&config_lock);
	sink[me * 16] += compute(100000);
	pthread_rwlock_unlock(&config_lock);
}

static void *config_run(void *me)
{
	for (int i = 0; i < ((long)me ? 2500 : 150); i++) {
		if (me) {
			request_serve((long)me);
		} else {
			config_reload();
			usleep(500);
		}
	}
	return NULL;
}

static void write_lock(void)
{
	run_threads(config_run, 3);
}

/* --- opening files --- */

static FILE *log_stream;

APART static void log_line(int i)
{
	if (!is_fixed || !log_stream)
		log_stream = fopen("planted.log", "a");
	if (!log_stream)
		abort();
	fprintf(log_stream, "line %d of a log\n", i);
	if (!is_fixed)
		fclose(log_stream);
}

static void opens(void)
{
	for (int i = 0; i < 40000; i++)
		log_line(i);
}

APART static int setting(int fd)
{
	char text[64];

	if (!is_fixed)
		fd = open("planted.conf", O_RDONLY);
	if (pread(fd, text, sizeof(text), 0) < 1)
		abort();
	if (!is_fixed)
		close(fd);
	return text[0];
}

static void opens_setting(void)
{
	int fd = open("planted.conf", O_CREAT | O_RDWR, 0600);

	if (write(fd, "7\n", 2) != 2)
		abort();
	for (int i = 0; i < 100000; i++)
		sink[0] += setting(fd);
}

/* Many files, once each. */
APART static void part_read(int i)
{
	char name[64], text[64];
	FILE *in;

	snprintf(name, sizeof(name), "planted.part%d", i);
	in = fopen(name, "r");
	while (in && fgets(text, sizeof(text), in))
		sink[0] += text[0];
	if (in)
		fclose(in);
}

static void parts(void)
{
	for (int i = 0; i < 20; i++) {
		char name[64];
		FILE *out;

		snprintf(name, sizeof(name), "planted.part%d", i);
		out = fopen(name, "w");
		if (!out)
			abort();
		fputs("a line\n", out);
		fclose(out);
	}
	for (int i = 0; i < 40000; i++)
		part_read(i % 20);
}

/* --- waits for something else --- */

APART static void wait_ready(void)
{
	if (!is_fixed)
		usleep(5000);
}

static void sleeps(void)
{
	for (int i = 0; i < 100; i++) {
		sink[0] = compute(2000000);
		wait_ready();
	}
}

/* A thread looks every 5 ms whether another one has answered; `fixed` it waits for that. */
static _Atomic int answered;
static sem_t asked, answer;

static void *answer_run(void *none)
{
	for (int i = 0; i < 100; i++) {
		sem_wait(&asked);
		sink[16] = compute(500000);
		answered = i + 1;
		sem_post(&answer);
	}
	return none;
}

APART static void wait_answer(int count)
{
	if (is_fixed)
		sem_wait(&answer);
	while (answered < count)
		poll(NULL, 0, 5);
}

static void polls_flag(void)
{
	pthread_t thread;

	sem_init(&asked, 0, 0);
	sem_init(&answer, 0, 0);
	pthread_create(&thread, NULL, answer_run, NULL);
	for (int i = 0; i < 100; i++) {
		sem_post(&asked);
		wait_answer(i + 1);
	}
	pthread_join(thread, NULL);
}

/* The same waits for a peer, which take as long as that takes. */
static void polls_peer(void)
{
	int ends[2];
	char byte;

	if (pipe(ends) != 0)
		abort();
	if (fork() == 0) {
		for (int i = 0; i < 100; i++) {
			usleep(5000);
			if (write(ends[1], "x", 1) != 1)
				abort();
		}
		_exit(0);
	}
	for (int i = 0; i < 100; i++) {
		poll(&(struct pollfd){ ends[0], POLLIN, 0 }, 1, 1000);
		if (read(ends[0], &byte, 1) != 1)
			abort();
	}
	wait(NULL);
}

static void children(void)
{
	int most = is_fixed ? 2 : 1, now = 0;

	for (int i = 0; i < 25; i++) {
		if (fork() == 0) {
			sink[0] = compute(12000000);
			_exit(0);
		}
		if (++now == most)
			wait(NULL), now--;
	}
	while (wait(NULL) > 0)
		;
}

static volatile long turn;

static void *ping_run(void *me)
{
	for (int i = 0; i < 3000; i++) {
		while (turn != (long)me)
			sched_yield();
		sink[(long)me * 16] = compute(20000);
		turn = 1 - (long)me;
	}
	return NULL;
}

static void yields(void)
{
	run_threads(ping_run, 2);
}

/* --- threads and queues --- */

static void *uneven_run(void *me)
{
	long steps = is_fixed ? 340000000 : me ? 100000000 : 580000000;

	sink[(long)me * 16] = compute(steps);
	return NULL;
}

static void uneven(void)
{
	run_threads(uneven_run, 2);
}

#define ITEMS 20000

static void *item_run(void *item)
{
	sink[0] += compute(500) + (long)item;
	return NULL;
}

/* Fixed: all of them in one thread. */
static void threads(void)
{
	pthread_t thread;

	for (long i = 0; i < ITEMS; i++) {
		if (is_fixed) {
			item_run((void *)i);
			continue;
		}
		pthread_create(&thread, NULL, item_run, (void *)i);
		pthread_join(thread, NULL);
	}
}

/* Many threads that each have enough to do. */
static void *large_run(void *item)
{
	sink[(long)item % 2 * 16] = compute(3000000);
	return NULL;
}

static void large_threads(void)
{
	pthread_t thread[2];

	for (long i = 0; i < 300; i += 2) {
		pthread_create(&thread[0], NULL, large_run, (void *)i);
		pthread_create(&thread[1], NULL, large_run, (void *)(i + 1));
		pthread_join(thread[0], NULL);
		pthread_join(thread[1], NULL);
	}
}

#define MESSAGE 4096
static int queue[2];
static long read_steps, write_steps;

APART static void consume(void)
{
	sink[0] = compute(read_steps);
}

APART static void produce(void)
{
	sink[16] = compute(write_steps);
}

static void *reader_run(void *none)
{
	char text[MESSAGE];

	for (;;) {
		size_t got = 0;
		ssize_t count;

		while (got < MESSAGE && (count = read(queue[0], text + got, MESSAGE - got)) > 0)
			got += (size_t)count;
		if (got < MESSAGE)
			return none;
		consume();
	}
}

static void queue_run(long reads, long writes)
{
	static const char text[MESSAGE];
	pthread_t reader;

	read_steps = reads;
	write_steps = writes;
	if (pipe(queue) < 0)
		abort();
	pthread_create(&reader, NULL, reader_run, NULL);
	for (int i = 0; i < 6000; i++) {
		produce();
		if (write(queue[1], text, MESSAGE) < 0)
			abort();
	}
	close(queue[1]);
	pthread_join(reader, NULL);
}

static void queue_full(void)
{
	queue_run(is_fixed ? 60000 : 120000, 2000);
}

static void queue_empty(void)
{
	queue_run(2000, is_fixed ? 70000 : 120000);
}

/* --- a queue of the program's own --- */

static pthread_mutex_t buffer_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_room = PTHREAD_COND_INITIALIZER, has_item = PTHREAD_COND_INITIALIZER;
static int buffered;
static bool is_over;

static bool buffer_take(void)
{
	bool got;

	pthread_mutex_lock(&buffer_lock);
	while (!buffered && !is_over)
		pthread_cond_wait(&has_item, &buffer_lock);
	got = buffered > 0;
	buffered -= got;
	pthread_cond_signal(&has_room);
	pthread_mutex_unlock(&buffer_lock);
	return got;
}

static void buffer_put(void)
{
	pthread_mutex_lock(&buffer_lock);
	while (buffered == 16)
		pthread_cond_wait(&has_room, &buffer_lock);
	buffered++;
	pthread_cond_signal(&has_item);
	pthread_mutex_unlock(&buffer_lock);
}

static void *take_run(void *me)
{
	while (buffer_take())
		sink[(long)me * 16] = compute(120000);
	return NULL;
}

static void slow_worker(void)
{
	pthread_t workers[2];
	int count = is_fixed ? 2 : 1;

	for (long i = 0; i < count; i++)
		pthread_create(&workers[i], NULL, take_run, (void *)i);
	for (int i = 0; i < 6000; i++) {
		sink[48] = compute(2000);
		buffer_put();
	}
	pthread_mutex_lock(&buffer_lock);
	is_over = true;
	pthread_cond_broadcast(&has_item);
	pthread_mutex_unlock(&buffer_lock);
	for (int i = 0; i < count; i++)
		pthread_join(workers[i], NULL);
}

static int talk[2];

static void *echo_run(void *none)
{
	char text[64];
	ssize_t count;

	while ((count = recv(talk[1], text, sizeof(text), 0)) > 0)
		send(talk[1], text, (size_t)count, 0);
	return none;
}

APART static void ask(size_t size)
{
	char text[64] = "question";

	send(talk[0], text, size, 0);
	for (size_t got = 0; got < size;) {
		ssize_t count = recv(talk[0], text, size, 0);

		if (count <= 0)
			abort();
		got += (size_t)count;
	}
}

static void socket_calls(void)
{
	pthread_t echo;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, talk) < 0)
		abort();
	pthread_create(&echo, NULL, echo_run, NULL);
	for (int i = 0; i < 60000; i += is_fixed ? 64 : 1)
		ask(is_fixed ? 64 : 1);
	shutdown(talk[0], SHUT_RDWR);
	pthread_join(echo, NULL);
}

/* --- files --- */

APART static void emit(int fd, const char *text, size_t size)
{
	static char buffer[65536];
	static size_t used;

	for (size_t i = 0; i < size; i++) {
		if (!is_fixed) {
			if (write(fd, text + i, 1) < 0)
				abort();
			continue;
		}
		buffer[used++] = text[i];
		if (used == sizeof(buffer)) {
			if (write(fd, buffer, used) < 0)
				abort();
			used = 0;
		}
	}
}

static void small_writes(void)
{
	int fd = open("/dev/null", O_WRONLY);

	for (int i = 0; i < 200000; i++)
		emit(fd, "some line\n", 10);
}

APART static long count_lines(int fd)
{
	static char buffer[65536];
	long lines = 0;
	ssize_t count;

	while ((count = read(fd, buffer, is_fixed ? sizeof(buffer) : 1)) > 0)
		for (ssize_t i = 0; i < count; i++)
			lines += buffer[i] == '\n';
	return lines;
}

static void small_reads(void)
{
	int fd = open("planted.in", O_CREAT | O_RDWR | O_TRUNC, 0600);
	static char text[1500000];

	if (write(fd, text, sizeof(text)) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		abort();
	printf("%ld\n", count_lines(fd));
}

/* --- memory and strings --- */

APART static char *request(int i)
{
	char *block = malloc(600);

	return memset(block, i, 600);
}

static void leak(void)
{
	for (int i = 0; i < 20000; i++) {
		char *block = request(i);

		sink[0] += block[i % 600] + compute(2000);
		if (is_fixed || i % 3)
			free(block);
	}
}

APART static char *load(size_t size)
{
	char *text = malloc(size);

	return memset(text, 1, size);
}

static void peak(void)
{
	size_t whole = 300 << 20, size = is_fixed ? 3 << 20 : whole;
	long sum = 0;

	for (size_t done = 0; done < whole; done += size) {
		char *text = load(size);

		for (size_t i = 0; i < size; i++)
			sum += text[i];
		free(text);
	}
	printf("%ld\n", sum);
}

#define FRAME ((size_t)32 << 20)

APART static long frame(void)
{
	static char *kept;
	char *pixels = is_fixed && kept ? kept : malloc(FRAME);
	long sum;

	for (size_t i = 0; i < FRAME; i += 4096)
		pixels[i] = 1;
	sum = pixels[12345];
	if (is_fixed)
		kept = pixels;
	else
		free(pixels);
	return sum;
}

static void fresh_pages(void)
{
	for (int i = 0; i < 100; i++)
		sink[0] += (double)frame();
}

static long line[200000], line_count, line_first;

APART static long pop(void)
{
	long value = line[line_first];

	if (is_fixed)
		line_first++;
	else
		memmove(line, line + 1, (size_t)line_count * sizeof(*line));
	line_count--;
	return value;
}

static void moves(void)
{
	long sum = 0;

	while (line_count < 100000)
		line[line_count] = line_count, line_count++;
	while (line_count)
		sum += pop();
	printf("%ld\n", sum);
}

static char text[2000000];

APART static void append(const char *word)
{
	static size_t length;

	if (is_fixed) {
		strcpy(text + length, word);
		length += strlen(word);
	} else {
		strcat(text, word);
	}
}

static void long_strings(void)
{
	for (int i = 0; i < 45000; i++)
		append("some text here ");
	printf("%zu\n", strlen(text));
}

#define KEYS 20000
static int keys[KEYS];

APART static int find_key(int key)
{
	int low = 0, high = KEYS;

	for (int i = 0; !is_fixed && i < KEYS; i++)
		if (keys[i] == key)
			return i;
	while (low < high) {
		int middle = (low + high) / 2;

		if (keys[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void scan(void)
{
	long sum = 0;

	for (int i = 0; i < KEYS; i++)
		keys[i] = 3 * i;
	for (int i = 0; i < 200000; i++)
		sum += find_key(3 * (int)(i * 7919L % KEYS));
	printf("%ld\n", sum);
}

/* --- programs that look like those with a fault --- */

#define CACHED 8000

/* Half of the blocks are in a cache that drops the oldest one, so thousands live at the end. */
static void cache(void)
{
	static char *blocks[CACHED];

	for (int i = 0; i < 80000; i++) {
		char **place = &blocks[i % CACHED];

		free(*place);
		*place = request(i);
		sink[0] += compute(6000);
	}
}

struct word {
	struct word *next;
	char text[24];
	long count;
};

APART static struct word *lookup(const char *text)
{
	static struct word *words[65536];
	unsigned hash = 5381;
	struct word *word;

	for (const char *at = text; *at; at++)
		hash = hash * 33 + (unsigned char)*at;
	for (word = words[hash & 65535]; word && strcmp(word->text, text) != 0;)
		word = word->next;
	if (!word) {
		word = calloc(1, sizeof(*word));
		strcpy(word->text, text);
		word->next = words[hash & 65535];
		words[hash & 65535] = word;
	}
	return word;
}

static void table(void)
{
	char text[24];

	for (int i = 0; i < 2000000; i++) {
		snprintf(text, sizeof(text), "key%d", (int)(i * 7919L % 40000));
		lookup(text)->count++;
	}
}

/* --- calls: compiled with hooks --- */

static long known[64];

__attribute__((noinline)) static long ways(int n)
{
	if (n < 2)
		return n;
	if (is_fixed && known[n])
		return known[n];
	return known[n] = ways(n - 1) + ways(n - 2);
}

static void recursion(void)
{
	printf("%ld\n", ways(36));
}

static const struct {
	const char *name;
	void (*run)(void);
} faults[] = {
	{ "contended", contended },
	{ "lock-across-sleep", lock_across_sleep },
	{ "lock-across-disk", lock_across_disk },
	{ "disk", disk },
	{ "sleeps", sleeps },
	{ "polls-flag", polls_flag },
	{ "write-lock", write_lock },
	{ "opens", opens },
	{ "opens-setting", opens_setting },
	{ "parts", parts },
	{ "polls-peer", polls_peer },
	{ "children", children },
	{ "yields", yields },
	{ "uneven", uneven },
	{ "threads", threads },
	{ "large-threads", large_threads },
	{ "queue-full", queue_full },
	{ "queue-empty", queue_empty },
	{ "socket", socket_calls },
	{ "small-writes", small_writes },
	{ "small-reads", small_reads },
	{ "leak", leak },
	{ "peak", peak },
	{ "fresh-pages", fresh_pages },
	{ "moves", moves },
	{ "long-strings", long_strings },
	{ "slow-worker", slow_worker },
	{ "scan", scan },
	{ "cache", cache },
	{ "table", table },
	{ "recursion", recursion },
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
