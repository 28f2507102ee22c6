/* SPDX-License-Identifier: MIT */
/*
 * header_scenes.c - blocks in difficult places: whatever the program does,
 * each is counted, and the program prints how often: "calls LABEL N".  Arguments: SCENE
 * COUNT.  Linked with header_other.c, which has blocks of the same labels.
 */
#include "hooks.h"

#include "header_other.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

UNSEEN static void report(const char *label, long calls)
{
	printf("calls %s %ld\n", label, calls);
}

/* --- stacks --- */

static jmp_buf back;

UNSEEN static void deep(long depth, int jumps)
{
	HOTPATH_BLOCK("deep");
	if (depth > 1)
		deep(depth - 1, jumps);
	else if (jumps)
		longjmp(back, 1);
}

static void recursion(long count)
{
	deep(count, 0);
	report("deep", count);
}

static void jumps(long count)
{
	volatile long i;

	for (i = 0; i < count; i++) {
		HOTPATH_BLOCK("around");
		if (setjmp(back) == 0)
			deep(1 + i % 50, 1);
		HOTPATH_BLOCK("after");
	}
	report("around", count);
	report("after", count);
	report("deep", count / 50 * 1275);
}

static ucontext_t main_context, other_context;
static char other_stack[65536];
static long switches;

UNSEEN static void coroutine(void)
{
	HOTPATH_BLOCK("coroutine");
	for (long i = 0; i < switches; i++) {
		HOTPATH_BLOCK("on-its-stack");
		swapcontext(&other_context, &main_context);
	}
}

static void contexts(long count)
{
	switches = count;
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = other_stack;
	other_context.uc_stack.ss_size = sizeof(other_stack);
	other_context.uc_link = &main_context;
	makecontext(&other_context, coroutine, 0);
	for (long i = 0; i <= count; i++) {
		HOTPATH_BLOCK("switch");
		swapcontext(&main_context, &other_context);
	}
	printf("calls switch %ld\ncalls coroutine 1\n", count + 1);
}

/* The stack pointer differs between the two from before and after. */
UNSEEN static void by_size(size_t size)
{
	HOTPATH_BLOCK("fixed");
	{
		volatile char room[size];

		HOTPATH_BLOCK("variable");
		room[size - 1] = 1;
	}
	HOTPATH_BEGIN("grown");
	*(volatile char *)__builtin_alloca(size) = 1;
	HOTPATH_END("grown");
}

static void sizes(long count)
{
	for (long i = 0; i < count; i++)
		by_size(1 + (size_t)i * 37 % 4000);
	report("fixed", count);
	report("variable", count);
	report("grown", count);
}

/* --- threads, signals, processes --- */

UNSEEN static void *thread_run(void *count)
{
	for (long i = 0; i < (long)(intptr_t)count; i++) {
		HOTPATH_BLOCK("in-thread");
		header_other(1);
	}
	return NULL;
}

static void threads(long count)
{
	pthread_t ids[8];

	for (int i = 0; i < 8; i++)
		DIE_IF(pthread_create(&ids[i], NULL, thread_run, (void *)(intptr_t)count));
	for (int i = 0; i < 8; i++)
		pthread_join(ids[i], NULL);
	printf("calls shared %ld\ncalls twice %ld\n", 8 * count, 16 * count);
}

UNSEEN static void *thread_end(void *unused)
{
	HOTPATH_END("cross");
	return unused;
}

/* Begun here, ended elsewhere: counted, and the end is reported as one without a beginning. */
static void crossing(long count)
{
	for (long i = 0; i < count; i++) {
		pthread_t id;

		HOTPATH_BEGIN("cross");
		DIE_IF(pthread_create(&id, NULL, thread_end, NULL));
		pthread_join(id, NULL);
	}
	report("cross", count);
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	HOTPATH_BLOCK("handler");
	(void)number;
	signals = signals + 1;
}

static void interrupted(long count)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct itimerval timer = { { 0, 100 }, { 0, 100 } };
	long turns = 0;

	header_other(
		1);	/* the very first call starts the library: handlers that interrupt it are not recorded */
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (signals < count) {
		HOTPATH_BLOCK("turn");
		header_other(1);
		turns++;
	}
	signal(SIGALRM, SIG_IGN);
	printf("calls turn %ld\ncalls handler %ld\ncalls shared %ld\n", turns, (long)signals,
	       turns + 1);
}

static void children(long count)
{
	for (long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			HOTPATH_BLOCK("child");
			header_other(2);
			exit(0);
		}
		HOTPATH_BLOCK("parent");
		waitpid(pid, NULL, 0);
	}
	report("child", count);
	report("parent", count);
	report("shared", 2 * count);
}

/* --- labels --- */

#define TEN(x) x x x x x x x x x x

static void labels(long count)
{
	for (long i = 0; i < count; i++) {
		{
			HOTPATH_BLOCK("say \"hi\"\\\n\t<&>");
		}
		{
			HOTPATH_BLOCK("\xff\xfe broken \xc3");
		}
		{
			HOTPATH_BLOCK("naïve 日本語 🙂");
		}
		{
			HOTPATH_BLOCK("two words (three) a::b::c<d>");
		}
		{
			HOTPATH_BLOCK(TEN(TEN(TEN("very long "))));
		}
		{
			HOTPATH_BLOCK("");
		}
	}
}

/* Descriptors not made by a macro: by another compiler, of another version, at run time. */
static void descriptors(long count)
{
	static struct {
		struct hotpath_block block;
		void *more[4];
	} newer = { { sizeof(newer), 7, "newer", NULL, NULL, NULL }, { NULL } };
	static struct hotpath_block nothing = { sizeof(nothing), 9, NULL, NULL, NULL, NULL };
	static struct hotpath_block wrong = { 4, 9, "wrong", NULL, NULL, NULL };
	struct hotpath_block *made = malloc(sizeof(*made));

	*made = (struct hotpath_block){ sizeof(*made), 11, "made", "some.py", NULL, NULL };
	for (long i = 0; hotpath_hooks_4.enter && i < count; i++) {
		hotpath_hooks_4.enter(&newer.block);
		hotpath_hooks_4.enter(&nothing);
		hotpath_hooks_4.enter(made);
		hotpath_hooks_4.enter(&wrong);
		hotpath_hooks_4.leave(&wrong);
		hotpath_hooks_4.leave(made);
		hotpath_hooks_4.leave(&nothing);
		hotpath_hooks_4.leave(&newer.block);
	}
	free(made);
	printf("calls newer %ld\ncalls made %ld\ncalls ?:9 %ld\ncalls wrong 0\n", count, count,
	       count);
}

/* --- libraries --- */

static void libraries(long count)
{
	for (long i = 0; i < count; i++) {
		void *handle = dlopen(getenv("LIBRARY"), RTLD_NOW);
		void (*call)(long) = handle ? (void (*)(long))dlsym(handle, "header_other") : NULL;

		if (!call)
			fprintf(stderr, "%s\n", dlerror());
		DIE_IF(!call);
		call(3);
		header_other(1);
		dlclose(handle);
	}
	/* Two objects: two rows of each label. */
	printf("calls shared %ld\ncalls twice %ld\n", 4 * count, 8 * count);
}

/* --- misuse --- */

UNSEEN static void begin_only(void)
{
	HOTPATH_BEGIN("open");
}

UNSEEN static void end_only(void)
{
	HOTPATH_END("never-begun");
	HOTPATH_END("open");
}

static void misuse(long count)
{
	for (long i = 0; i < count; i++) {
		HOTPATH_BLOCK("round");
		begin_only();
		header_other(1);
		end_only();
		HOTPATH_BEGIN("one");
		HOTPATH_BEGIN("other");
		HOTPATH_END("one");
		HOTPATH_END("other");
	}
	printf("calls round %ld\ncalls open %ld\ncalls one %ld\ncalls other %ld\ncalls shared %ld\n",
	       count, count, count, count, count);
}

/* --- times --- */

UNSEEN static void nap(long us)
{
	struct timespec time = { 0, us * 1000 };

	nanosleep(&time, NULL);
}

static void times(long count)
{
	uint64_t start = now_ns(), inner = 0;

	for (long i = 0; i < count; i++) {
		uint64_t begin;

		HOTPATH_BLOCK("outer");
		nap(300);
		begin = now_ns();
		{
			HOTPATH_BLOCK("inner");
			nap(300);
		}
		inner += now_ns() - begin;
	}
	printf("inclusive outer %ld %ld\n", 600000 * count, (long)(now_ns() - start));
	printf("inclusive inner %ld %ld\n", 300000 * count, (long)inner);
	printf("self outer %ld %ld\n", 299000 * count, (long)(now_ns() - start - 300000ul * count));
}

/* Ends inside a block. */
static void end_by_kill(long number)
{
	HOTPATH_BLOCK("last");
	puts("calls last 1");
	fflush(stdout);
	kill(getpid(), (int)number);
	pause();
}

static void at_exit(void)
{
	HOTPATH_BLOCK("at-exit");
	header_other(1);
}

static void endings(long number)
{
	(void)number;
	atexit(at_exit);
	puts("calls at-exit 1\ncalls shared 1");
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "recursion", recursion },
		{ "jumps", jumps },
		{ "contexts", contexts },
		{ "sizes", sizes },
		{ "threads", threads },
		{ "crossing", crossing },
		{ "interrupted", interrupted },
		{ "children", children },
		{ "labels", labels },
		{ "descriptors", descriptors },
		{ "libraries", libraries },
		{ "misuse", misuse },
		{ "times", times },
		{ "kill", end_by_kill },
		{ "endings", endings },
		{ NULL, NULL },
	};

	return scene_run(scenes, argc, argv);
}
