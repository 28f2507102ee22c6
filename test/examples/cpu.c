/* SPDX-License-Identifier: MIT */
/*
 * cpu.c - work on four threads: the report shows which functions use the
 * time, and the section `threads` which threads.
 */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#define THREADS 4
#define SIDE 96

struct job {
	double a[SIDE][SIDE];
	double b[SIDE][SIDE];
	double sum;
	int rounds;
};

static struct job jobs[THREADS];

static __attribute__((noinline)) void fill(struct job *job, int round)
{
	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++) {
			job->a[i][j] = sin(i + round);
			job->b[i][j] = cos(j - round);
		}
}

static __attribute__((noinline)) double cell(const struct job *job, int i, int j)
{
	double sum = 0;

	for (int k = 0; k < SIDE; k++)
		sum += job->a[i][k] * job->b[k][j];
	return sum;
}

static __attribute__((noinline)) void multiply(struct job *job)
{
	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++)
			job->sum += cell(job, i, j);
}

static void *run(void *argument)
{
	struct job *job = argument;

	for (int round = 0; round < job->rounds; round++) {
		fill(job, round);
		multiply(job);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	double sum = 0;

	for (int i = 0; i < THREADS; i++) {
		jobs[i].rounds = 10 * (i + 1);
		pthread_create(&threads[i], NULL, run, &jobs[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += jobs[i].sum;
	}
	printf("sum %.3f\n", sum);
	return 0;
}
