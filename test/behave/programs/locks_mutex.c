/* SPDX-License-Identifier: MIT */
/*
 * locks_mutex.c - mutexes whose waits and holds the program measures itself, around the calls.
 *
 * Prints "NAME count wait_ns hold_ns" of each of its mutexes; the longest wait after it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

struct said {
	_Atomic unsigned long count;
	_Atomic unsigned long wait;
	_Atomic unsigned long hold;
	_Atomic unsigned long longest;
};

static unsigned long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return (unsigned long)time.tv_sec * 1000000000 + (unsigned long)time.tv_nsec;
}

static void spend(unsigned long ns)
{
	unsigned long end = now() + ns;

	while (now() < end)
		;
}

static void tell(const char *name, const struct said *said)
{
	printf("%s %lu %lu %lu %lu\n", name, said->count, said->wait, said->hold, said->longest);
}

/* One acquisition, measured from outside. */
static void once(pthread_mutex_t *mutex, struct said *said, unsigned long hold_ns)
{
	unsigned long start = now(), got, end;

	pthread_mutex_lock(mutex);
	got = now();
	if (hold_ns >= 1000000)
		usleep((useconds_t)(hold_ns / 1000));
	else if (hold_ns)
		spend(hold_ns);
	end = now();
	pthread_mutex_unlock(mutex);
	said->count++;
	said->wait += got - start;
	said->hold += end - got;
	if (got - start > said->longest)
		said->longest = got - start;
}

/* --- two threads hand one mutex over: nearly every acquisition waits --- */

static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;
static struct said contended_said;

static void *hand_over(void *arg)
{
	for (int i = 0; i < 40; i++)
		once(&contended, &contended_said, 2000000);
	return arg;
}

static void run_contended(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, hand_over, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	tell("contended", &contended_said);
}

/* --- one thread, holds of a known length --- */

static pthread_mutex_t steady = PTHREAD_MUTEX_INITIALIZER;

static void run_holds(void)
{
	static struct said said;

	for (int i = 0; i < 2000; i++)
		once(&steady, &said, 20000);
	tell("steady", &said);
}

/* --- every kind and variant, counted --- */

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive, errorcheck, robust, inherit, shared;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static mtx_t c11;

static void kind(pthread_mutex_t *mutex, int type, int robustness, int protocol, int sharing)
{
	pthread_mutexattr_t how;

	pthread_mutexattr_init(&how);
	pthread_mutexattr_settype(&how, type);
	pthread_mutexattr_setrobust(&how, robustness);
	pthread_mutexattr_setprotocol(&how, protocol);
	pthread_mutexattr_setpshared(&how, sharing);
	if (pthread_mutex_init(mutex, &how) != 0)
		abort();
	pthread_mutexattr_destroy(&how);
}

static void *die_with(void *mutex)
{
	pthread_mutex_lock(mutex);
	return NULL;
}

static void *try_it(void *mutex)
{
	struct timespec past = { 1, 0 };
	long wrong = 0;

	wrong += pthread_mutex_trylock(mutex) != EBUSY;
	wrong += pthread_mutex_timedlock(mutex, &past) != ETIMEDOUT;
	wrong += pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &past) != ETIMEDOUT;
	wrong += pthread_mutex_unlock(&errorcheck) != EPERM;
	return (void *)wrong;
}

static void check(const char *what, int got, int wanted)
{
	if (got != wanted)
		printf("%s: %d, not %d\n", what, got, wanted);
}

static void in_thread(void *(*run)(void *), void *arg, const char *what)
{
	pthread_t thread;
	void *wrong;

	pthread_create(&thread, NULL, run, arg);
	pthread_join(thread, &wrong);
	if (wrong)
		printf("%s: %ld wrong\n", what, (long)wrong);
}

static void run_kinds(void)
{
	struct timespec soon;

	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec += 100;
	kind(&recursive, PTHREAD_MUTEX_RECURSIVE, 0, 0, 0);
	kind(&errorcheck, PTHREAD_MUTEX_ERRORCHECK, 0, 0, 0);
	kind(&robust, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, 0, PTHREAD_PROCESS_SHARED);
	kind(&inherit, PTHREAD_MUTEX_NORMAL, 0, PTHREAD_PRIO_INHERIT, 0);
	kind(&shared, PTHREAD_MUTEX_NORMAL, 0, 0, PTHREAD_PROCESS_SHARED);
	mtx_init(&c11, mtx_timed);
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&recursive);
		pthread_mutex_lock(&recursive);
		pthread_mutex_trylock(&recursive);
		pthread_mutex_unlock(&recursive);
		pthread_mutex_unlock(&recursive);
		pthread_mutex_unlock(&recursive);
		check("recursive", pthread_mutex_lock(&errorcheck), 0);
		check("relock", pthread_mutex_lock(&errorcheck), EDEADLK);
		check("unlock", pthread_mutex_unlock(&errorcheck), 0);
		check("again", pthread_mutex_unlock(&errorcheck), EPERM);
		pthread_mutex_timedlock(&inherit, &soon);
		pthread_mutex_unlock(&inherit);
		pthread_mutex_clocklock(&shared, CLOCK_REALTIME, &soon);
		pthread_mutex_unlock(&shared);
		pthread_mutex_trylock(&adaptive);
		pthread_mutex_unlock(&adaptive);
		mtx_lock(&c11);
		mtx_unlock(&c11);
		mtx_timedlock(&c11, &soon);
		check("mtx", mtx_trylock(&c11), thrd_busy);
		mtx_unlock(&c11);
	}
	pthread_mutex_lock(&normal);
	pthread_mutex_lock(&errorcheck);
	in_thread(try_it, &normal, "tries");
	pthread_mutex_unlock(&normal);
	pthread_mutex_unlock(&errorcheck);
	in_thread(die_with, &robust, "robust");
	check("owner died", pthread_mutex_lock(&robust), EOWNERDEAD);
	check("consistent", pthread_mutex_consistent(&robust), 0);
	pthread_mutex_unlock(&robust);
	check("destroy", pthread_mutex_destroy(&recursive), 0);
	puts("done");
}

/* --- short-lived ones, on the heap, one after the other --- */

static void run_many(long count)
{
	for (long i = 0; i < count; i++) {
		pthread_mutex_t *mutex = malloc(sizeof(*mutex));

		pthread_mutex_init(mutex, NULL);
		pthread_mutex_lock(mutex);
		pthread_mutex_unlock(mutex);
		pthread_mutex_destroy(mutex);
		free(mutex);
	}
	puts("done");
}

/* --- a fast one: its count is exact, however few are timed --- */

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
static unsigned long counter;

static void *hammer(void *arg)
{
	for (int i = 0; i < 200000; i++) {
		pthread_mutex_lock(&busy);
		counter++;
		pthread_mutex_unlock(&busy);
	}
	return arg;
}

static void run_hammer(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, hammer, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("busy %lu\n", counter);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "contended") == 0)
		run_contended();
	else if (strcmp(what, "holds") == 0)
		run_holds();
	else if (strcmp(what, "kinds") == 0)
		run_kinds();
	else if (strcmp(what, "many") == 0)
		run_many(argc > 2 ? atol(argv[2]) : 1000);
	else if (strcmp(what, "hammer") == 0)
		run_hammer();
	return 0;
}
