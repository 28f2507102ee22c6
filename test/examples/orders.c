/* SPDX-License-Identifier: MIT */
/*
 * orders.c - the program of doc/guide: four workers take orders from a queue, price
 * them, keep them and write them to a log.  It is slow in ways that are easy to see.
 *
 *   orders [ORDERS]   handle ORDERS (20000) orders
 *   orders -f         fixed: the log is written outside the lock, and products are
 *                     found by binary search
 *   orders -w         start again when all orders are handled, until it is killed
 *   orders -d         end in a deadlock
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRODUCTS 4000
#define WORKERS 4

struct order {
	struct order *next;
	uint32_t product, amount;
	char note[104];
};

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t history_lock = PTHREAD_MUTEX_INITIALIZER;
static char codes[PRODUCTS][8];
static uint32_t prices[PRODUCTS];
static struct order *history;
static _Atomic uint32_t taken;
static uint64_t revenue;
static uint32_t orders = 20000;
static bool fixed, again, deadlock;
static int log_file;

static __attribute__((noinline)) uint32_t find_slowly(const char *code)
{
	for (uint32_t i = 0; i < PRODUCTS; i++)
		if (strcmp(codes[i], code) == 0)
			return i;
	return 0;
}

static __attribute__((noinline)) uint32_t find_fast(const char *code)
{
	uint32_t low = 0, high = PRODUCTS;

	while (low + 1 < high) {
		uint32_t middle = (low + high) / 2;

		if (strcmp(codes[middle], code) <= 0)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static __attribute__((noinline)) uint32_t price_of(const struct order *order)
{
	const char *code = codes[order->product];

	return prices[fixed ? find_fast(code) : find_slowly(code)] * order->amount;
}

/* Short and called often. */
static __attribute__((noinline)) uint32_t digit(char c)
{
	return c >= '0' && c <= '9' ? (uint32_t)(c - '0') : 0;
}

static __attribute__((noinline)) uint32_t number_in(const char *text)
{
	uint32_t number = 0;

	while (*text)
		number = (number * 10 + digit(*text++)) % 1000003;
	return number;
}

static __attribute__((noinline)) struct order *read_order(uint32_t number)
{
	struct order *order = malloc(sizeof(*order));
	char *text = malloc(200);

	snprintf(text, 200, "order %u of %u pieces", number, number % 7 + 1);
	order->product = (number * 7919 + number_in(text)) % PRODUCTS;
	order->amount = number % 7 + 1;
	strncpy(order->note, text, sizeof(order->note) - 1);
	order->note[sizeof(order->note) - 1] = 0;
	free(text);
	return order;
}

/* One order in a hundred is written out, which takes a while. */
static __attribute__((noinline)) void write_out(const struct order *order)
{
	if (order->product % 100 == 0) {
		usleep(500);
		if (write(log_file, order->note, strlen(order->note)) < 0)
			perror("orders: write");
	}
}

static __attribute__((noinline)) void log_order(const struct order *order)
{
	if (fixed) {
		write_out(order);
		return;
	}
	pthread_mutex_lock(&log_lock);
	write_out(order);
	pthread_mutex_unlock(&log_lock);
}

/* Nobody ever frees it. */
static __attribute__((noinline)) void keep_order(struct order *order, uint32_t price)
{
	pthread_mutex_lock(&history_lock);
	order->next = history;
	history = order;
	revenue += price;
	pthread_mutex_unlock(&history_lock);
}

static __attribute__((noinline)) void handle_order(uint32_t number)
{
	struct order *order = read_order(number);
	uint32_t price = price_of(order);

	log_order(order);
	keep_order(order, price);
}

static void *worker(void *unused)
{
	uint32_t number;

	while ((number = taken++) < orders)
		handle_order(number);
	return unused;
}

/* Takes the two locks in the opposite order to stop_log(). */
static __attribute__((noinline)) void *stop_history(void *unused)
{
	pthread_mutex_lock(&history_lock);
	usleep(20000);
	pthread_mutex_lock(&log_lock);
	revenue++;
	return unused;
}

static __attribute__((noinline)) void stop_log(void)
{
	pthread_mutex_lock(&log_lock);
	usleep(20000);
	pthread_mutex_lock(&history_lock);
	revenue++;
}

static void options(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "fwd")) != -1) {
		fixed |= option == 'f';
		again |= option == 'w';
		deadlock |= option == 'd';
	}
	if (optind < argc)
		orders = (uint32_t)strtoul(argv[optind], NULL, 10);
}

int main(int argc, char **argv)
{
	pthread_t threads[WORKERS];

	options(argc, argv);
	log_file = open("/dev/null", O_WRONLY);
	for (uint32_t i = 0; i < PRODUCTS; i++) {
		snprintf(codes[i], sizeof(codes[i]), "P%05u", i);
		prices[i] = 100 + i % 900;
	}
	do {
		taken = 0;
		for (int i = 0; i < WORKERS; i++) {
			pthread_create(&threads[i], NULL, worker, NULL);
			pthread_setname_np(threads[i], "worker");
		}
		for (int i = 0; i < WORKERS; i++)
			pthread_join(threads[i], NULL);
		if (again)
			usleep(100000);
	} while (again);
	printf("%u orders, revenue %llu\n", orders, (unsigned long long)revenue);
	if (deadlock) {
		fflush(stdout);
		pthread_create(&threads[0], NULL, stop_history, NULL);
		stop_log();
	}
	return 0;
}
