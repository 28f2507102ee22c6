# SPDX-License-Identifier: MIT
# sanitized.sh address|thread|undefined - a program built so: it runs, and its fault is found.
cat >x.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int shared;
static void *work(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		char *p = malloc(i + 1);
		memset(p, i, i + 1);
		if (arg)
			pthread_mutex_lock(&mutex);
		shared++;
		if (arg)
			pthread_mutex_unlock(&mutex);
		free(p);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t a, b;
	int fault = argc > 1, big = 0x7fffffff;
	pthread_create(&a, NULL, work, fault ? NULL : &a);
	pthread_create(&b, NULL, work, fault ? NULL : &a);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	if (!fault)
		return puts("fine") < 0;
	volatile char *p = malloc(8);
	return p[8 + (argc > 5)] + (big + argc > 0);
}
END
gcc -g -O1 -fsanitize="$1" -o x x.c || exit
./x; echo "status $?"
./x fault 2>&1 | head -n 3
rm -f x x.c
