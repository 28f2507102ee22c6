/* SPDX-License-Identifier: MIT */
/*
 * locks_others.c - rwlocks, spin locks, semaphores, barriers, the end of threads: counted, with
 * their return values; and those of a child of fork, of constructors, of a vfork child.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t sem, empty;
static pthread_mutex_t early = PTHREAD_MUTEX_INITIALIZER;
static const struct timespec past = { 1, 0 }, bad = { 1, 2000000000 };
static pid_t waiter;	/* the thread that is about to wait, once it is */
static sem_t is_there;

static void check(const char *what, int got, int wanted)
{
	if (got != wanted)
		printf("%s: %d, not %d\n", what, got, wanted);
}

/*
 * A thread about to wait announces itself, and its creator continues once it waits,
 * some 30 ms later.
 */
static void say_who(void)
{
	waiter = gettid();
	sem_post(&is_there);
}

static void until_it_waits(void)
{
	sem_wait(&is_there);
	until_asleep(getpid(), waiter);
}

/* --- rwlocks --- */

static void *read_it(void *arg)
{
	check("read", pthread_rwlock_tryrdlock(&rwlock), EBUSY);
	check("timed read", pthread_rwlock_timedrdlock(&rwlock, &past), ETIMEDOUT);
	check("clock write", pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &past),
	      ETIMEDOUT);
	check("write", pthread_rwlock_trywrlock(&rwlock), EBUSY);
	say_who();
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	return arg;
}

static void run_rwlock(void)
{
	pthread_t thread;

	for (int i = 0; i < 1000; i++) {
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
		pthread_rwlock_wrlock(&rwlock);
		check("deadlock", pthread_rwlock_wrlock(&rwlock), EDEADLK);
		pthread_rwlock_unlock(&rwlock);
	}
	pthread_rwlock_wrlock(&rwlock);
	pthread_create(&thread, NULL, read_it, NULL);
	until_it_waits();
	pthread_rwlock_unlock(&rwlock);
	pthread_join(thread, NULL);
}

/* --- spin locks: two threads, one counter --- */

static unsigned long counter;

static void *hammer(void *arg)
{
	for (int i = 0; i < 50000; i++) {
		pthread_spin_lock(&spin);
		counter++;
		pthread_spin_unlock(&spin);
	}
	return arg;
}

static void run_spin(void)
{
	pthread_t threads[2];

	pthread_spin_init(&spin, 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, hammer, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("spin %lu\n", counter);
	pthread_spin_lock(&spin);
	check("spin", pthread_spin_trylock(&spin), EBUSY);
	pthread_spin_unlock(&spin);
}

/* --- semaphores --- */

/* Every wait is interrupted, though there is something to take only once. */
static void nothing(int number)
{
	static int has_posted;

	(void)number;
	if (!has_posted++)
		sem_post(&empty);
}

static void *wait_it(void *arg)
{
	say_who();
	sem_wait(&sem);
	return arg;
}

static void *wait_cancelled(void *arg)
{
	sem_wait(&sem);	/* there is one, but the cancellation is first */
	return arg;
}

static void run_cancelled_sem(void)
{
	pthread_t thread;
	void *result;

	sem_post(&sem);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_create(&thread, NULL, wait_cancelled, NULL);
	pthread_join(thread, &result);
	check("not cancelled", result == NULL, 1);
}

static void run_sem(void)
{
	struct sigaction action = { .sa_handler = nothing };
	pthread_t thread;

	sem_init(&sem, 0, 0);
	sem_init(&empty, 0, 0);
	errno = 77;
	for (int i = 0; i < 1000; i++) {
		sem_post(&sem);
		sem_wait(&sem);
	}
	check("errno", errno, 77);
	pthread_create(&thread, NULL, wait_it, NULL);
	until_it_waits();
	sem_post(&sem);
	pthread_join(thread, NULL);
	check("try", sem_trywait(&sem), -1);
	check("try's errno", errno, EAGAIN);
	check("timed", sem_timedwait(&sem, &past), -1);
	check("timed's errno", errno, ETIMEDOUT);
	sem_post(&sem);
	check("bad", sem_timedwait(&sem, &bad), -1);
	check("bad's errno", errno, EINVAL);
	check("clock", sem_clockwait(&sem, CLOCK_MONOTONIC, &past), 0);
	sigaction(SIGALRM, &action, NULL);
	ualarm(20000, 20000);	/* the first may arrive before anybody waits */
	check("interrupted", sem_wait(&sem), -1);
	check("its errno", errno, EINTR);
	ualarm(0, 0);
	check("posted by the handler", sem_wait(&empty), 0);
	run_cancelled_sem();
}

/* --- barriers --- */

/* A thread that joins them waits. */
static void *meet(void *arg)
{
	for (int i = 0; i < 100; i++)
		pthread_barrier_wait(&barrier);
	until_asleep(getpid(), getpid());
	return arg;
}

static void run_barrier(void)
{
	pthread_t threads[3];

	pthread_barrier_init(&barrier, NULL, 3);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, meet, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

/* --- before main, in children, after fork with a lock held --- */

static void __attribute__((constructor)) before(void)
{
	pthread_mutex_lock(&early);
	pthread_mutex_unlock(&early);
}

static void __attribute__((destructor)) after(void)
{
	pthread_mutex_lock(&early);
	pthread_mutex_unlock(&early);
}

static void run_fork(void)
{
	int status;

	pthread_mutex_lock(&early);
	if (fork() == 0) {
		check("held", pthread_mutex_trylock(&early), EBUSY);
		pthread_mutex_unlock(&early);
		for (int i = 0; i < 10; i++) {
			pthread_mutex_lock(&early);
			pthread_mutex_unlock(&early);
		}
		fflush(stdout);
		_exit(3);
	}
	pthread_mutex_unlock(&early);
	wait(&status);
	check("child", WEXITSTATUS(status), 3);
	if (vfork() == 0) {
		pthread_mutex_lock(&early);
		pthread_mutex_unlock(&early);
		_exit(4);
	}
	wait(&status);
	check("vfork", WEXITSTATUS(status), 4);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	sem_init(&is_there, 0, 0);
	if (strcmp(what, "rwlock") == 0)
		run_rwlock();
	else if (strcmp(what, "spin") == 0)
		run_spin();
	else if (strcmp(what, "sem") == 0)
		run_sem();
	else if (strcmp(what, "barrier") == 0)
		run_barrier();
	else if (strcmp(what, "fork") == 0)
		run_fork();
	puts("done");
	return 0;
}
