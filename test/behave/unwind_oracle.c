/* SPDX-License-Identifier: MIT */
/*
 * unwind_oracle.c - compares the frames that unwind/ finds with those of libunwind.
 *
 * Steps a program instruction by instruction for a while, again and again, so that it
 * meets every kind of instruction: of prologues and epilogues, of stubs, of the loader, in signal
 * handlers and while exceptions are thrown.  At each stop the registers and the stack are copied,
 * and both walk the same copy: the sampler's walker with the rows of unwind/, and libunwind.
 *
 * A walk of unwind/ that ends early and reports so is counted separately: it follows only the stack
 * pointer and the frame pointer, and the loader's _dl_runtime_resolve keeps its frame in another
 * register.
 *
 * unwind_oracle STACKS PROGRAM [ARGUMENT]... prints "N compared, N different, N shorter, N frames" and
 * the first differences.
 */
#define hp_place hp_code_place
#include "sampler/sample/walk.h"
#undef hp_place

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/stacks/unwind.h"

#define FRAMES_MAX 1000
#define STACK_MAX (1 << 20)
#define BURST 200	/* instructions examined one after the other, */
#define PAUSE_US 300	/* and the longest run between two bursts */
#define SHOWN 10

static struct {
	pid_t pid;
	struct hp_stack_process process;
	struct hp_unwinder *unwinder;
	struct hp_segment segment;
	struct hp_spaces spaces;
	struct hp_sample_walker walker;
	struct hp_code_place places[FRAMES_MAX];
	struct hp_taken thread;
	struct hp_stack stack;
	long compared;
	long different;
	long shorter;
	long frames;
} o;

static void fail(const char *what)
{
	fprintf(stderr, "unwind_oracle: %s: %s\n", what, strerror(errno));
	if (o.pid > 0)
		kill(o.pid, SIGKILL);
	exit(2);
}

/* Both know the mappings as they are now. */
static void process_read(void)
{
	const char *why;

	if (!o.unwinder) {
		if (hp_stack_process_init(&o.process, o.pid, 0) != 0)
			fail("maps");
	} else if (hp_stack_process_refresh(&o.process) != 0) {
		/* It has become another program, as a script that starts the interpreter does. */
		hp_stack_process_release(&o.process);
		if (hp_stack_process_init(&o.process, o.pid, 0) != 0)
			return;
	}
	/* libunwind's cache is of the previous mappings. */
	hp_unwinder_free(o.unwinder);
	o.unwinder = hp_unwinder_new(&o.process, &why);
	if (!o.unwinder)
		fail(why);
	if (o.walker.places)
		hp_sample_walker_release(&o.walker);
	hp_spaces_release(&o.spaces);
	hp_spaces_init(&o.spaces, &o.segment);
	if (!hp_sample_walker_init(&o.walker, &o.spaces))
		fail("memory");
	o.walker.space = hp_space_of(&o.spaces, (uint32_t)o.pid);
	o.walker.places = o.places;
	o.walker.most = FRAMES_MAX;
}

static bool registers_read(void)
{
	struct iovec part = { &o.thread.registers, sizeof(o.thread.registers) };

	return ptrace(PTRACE_GETREGSET, o.pid, NT_PRSTATUS, &part) == 0;
}

static bool stack_read(void)
{
	struct hp_stack_part *copy = &o.thread.copies[0];
	uint64_t begin = hp_registers_sp(&o.thread.registers) - 128;
	const struct hp_stack_map *map = hp_stack_process_at(&o.process, begin + 128);
	uint64_t size = map ? map->end - begin : 0;
	ssize_t got;

	if (!map)
		return false;
	got = hp_stack_memory_read(o.pid, begin, copy->bytes, size < STACK_MAX ? size : STACK_MAX);
	if (got <= 0)
		return false;
	copy->begin = begin;
	copy->end = begin + (uint64_t)got;
	o.thread.copy_count = 1;
	return true;
}

static void difference_show(uint32_t ours, size_t theirs)
{
	if (o.different > SHOWN)
		return;
	printf("difference at pc 0x%llx sp 0x%llx, libunwind ends %d, unwind/ %s%s\n",
	       (unsigned long long)hp_registers_pc(&o.thread.registers),
	       (unsigned long long)hp_registers_sp(&o.thread.registers), (int)o.stack.end,
	       o.walker.is_complete ? "whole" : "not whole", o.walker.is_cut ? ", cut" : "");
	for (uint32_t i = 0; i < ours || i < theirs; i++) {
		const struct hp_stack_frame *frame = i < theirs ? &o.stack.frames[i] : NULL;
		const struct hp_stack_map *map =
			frame ? hp_stack_process_at(&o.process, frame->pc) : NULL;
		bool has = map && map->object != UINT32_MAX;

		printf("  %12llx %12llx %s\n",
		       i < ours ? (unsigned long long)o.places[i].address : 0,
		       frame ? (unsigned long long)(frame->pc - !frame->is_exact -
						    (has ? o.process.objects[map->object].bias : 0))
			     : 0,
		       has ? o.process.objects[map->object].path : "");
	}
}

static bool is_same(uint32_t i)
{
	const struct hp_stack_frame *frame = &o.stack.frames[i];
	uint64_t address = frame->pc - !frame->is_exact;
	const struct hp_stack_map *map = hp_stack_process_at(&o.process, address);

	if (map && map->object != UINT32_MAX)
		address -= o.process.objects[map->object].bias;
	return address == o.places[i].address;
}

static void compare(void)
{
	size_t theirs;
	bool is_equal = true;

	hp_unwind(o.unwinder, &o.thread, &o.stack);
	o.walker.stack =
		(struct hp_stack_copy){ o.thread.copies[0].bytes + 128,
					o.thread.copies[0].begin + 128, o.thread.copies[0].end };
	o.walker.count = 0;
	hp_sample_walk(&o.walker, hp_registers_pc(&o.thread.registers),
		       hp_registers_sp(&o.thread.registers), o.thread.registers.rbp);
	theirs = o.stack.count;
	/*
	 * The loader's own start has no information: there libunwind gives up, and both may end
	 * anywhere.
	 */
	for (uint32_t i = 0; is_equal && i < theirs && i < o.walker.count; i++)
		is_equal = is_same(i);
	o.compared++;
	o.frames += (long)theirs;
	if (is_equal && o.walker.count < theirs && !o.walker.is_complete) {
		o.shorter++;
		return;
	}
	if (!is_equal || o.walker.count < theirs ||
	    (o.walker.count > theirs && o.stack.end == HP_STACK_WHOLE)) {
		o.different++;
		difference_show(o.walker.count, theirs);
	}
}

/* One instruction.  A signal that stops the program continues to it.  False = it has ended. */
static bool step(void)
{
	static int number;
	int status;

	if (ptrace(PTRACE_SINGLESTEP, o.pid, NULL, (void *)(long)number) < 0 ||
	    waitpid(o.pid, &status, __WALL) != o.pid || !WIFSTOPPED(status))
		return false;
	number = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	return true;
}

static bool burst(long most)
{
	for (int i = 0; i < BURST && o.compared < most; i++) {
		if (!step())
			return false;
		if (!registers_read())
			return false;
		/* Code that was mapped meanwhile. */
		if (!hp_stack_process_at(&o.process, hp_registers_pc(&o.thread.registers)))
			process_read();
		if (stack_read())
			compare();
		else
			process_read();
	}
	return true;
}

/* The program continues for an arbitrary moment. */
static bool run_on(void)
{
	int status, number = 0;

	if (ptrace(PTRACE_CONT, o.pid, NULL, NULL) < 0)
		return false;
	usleep((useconds_t)(rand() % PAUSE_US));
	kill(o.pid, SIGSTOP);
	for (;;) {
		if (waitpid(o.pid, &status, __WALL) != o.pid || !WIFSTOPPED(status))
			return false;
		number = WSTOPSIG(status);
		if (number == SIGSTOP)
			break;
		ptrace(PTRACE_CONT, o.pid, NULL, (void *)(long)(number == SIGTRAP ? 0 : number));
	}
	process_read();
	return true;
}

static void start(char **argv)
{
	int status;

	o.pid = fork();
	if (o.pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 1);
		dup2(null, 2);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (o.pid < 0 || waitpid(o.pid, &status, 0) != o.pid || !WIFSTOPPED(status))
		fail(argv[0]);
	process_read();
}

int main(int argc, char **argv)
{
	struct hp_segment_wish wish = { .size = 64 << 20, .path = NULL };
	long most = argc > 2 ? atol(argv[1]) : 0;

	if (most <= 0)
		return 2;
	o.thread.copies[0].bytes = malloc(STACK_MAX);
	if (!o.thread.copies[0].bytes || hp_segment_create(&o.segment, &wish) != 0)
		fail("memory");
	while (o.compared < most) {
		long before = o.compared;

		start(argv + 2);
		while (o.compared < most && burst(most) && run_on())
			;
		kill(o.pid, SIGKILL);
		waitpid(o.pid, NULL, __WALL);
		hp_unwinder_free(o.unwinder);
		o.unwinder = NULL;
		hp_stack_process_release(&o.process);
		if (o.compared == before)
			fail("nothing to compare");
	}
	printf("%ld compared, %ld different, %ld shorter, %ld frames\n", o.compared, o.different,
	       o.shorter, o.frames);
	return o.different != 0;
}
