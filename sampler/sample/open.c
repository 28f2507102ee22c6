/* SPDX-License-Identifier: MIT */
/*
 * open.c - see open.h.
 */
#include "sampler/sample/open.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/proc.h"

/* Moves the thread's wait, as far as it is in the sums, to another node. */
static void move(struct hp_samples *samples, struct hp_wait_thread *thread, uint32_t to)
{
	struct hp_stack_node *old = hp_sample_tree_node(&samples->tree, thread->counted_node);
	struct hp_stack_node *new = hp_sample_tree_node(&samples->tree, to);
	uint64_t span_ns = thread->counted_ns - thread->out_ns;

	old->waits--;
	old->blocked_ns -= span_ns;
	new->waits++;
	new->blocked_ns += span_ns;
	hp_sample_tree_changed(&samples->tree, thread->counted_node);
	hp_sample_tree_changed(&samples->tree, to);
	thread->counted_node = to;
}

void hp_open_count(struct hp_samples *samples, struct hp_wait_thread *thread, uint64_t until_ns)
{
	struct hp_stack_node *node = hp_sample_tree_node(&samples->tree, thread->wait_node);

	if (!thread->counted_ns) {
		node->waits++;
		thread->counted_node = thread->wait_node;
		thread->counted_ns = thread->out_ns;
	} else if (thread->counted_node != thread->wait_node) {
		move(samples, thread, thread->wait_node);
	}
	/*
	 * Less than 0 if the end was before the time already counted: it is added like that.
	 */
	node->blocked_ns += until_ns - thread->counted_ns;
	hp_sample_tree_changed(&samples->tree, thread->wait_node);
	samples->record->blocked_ns += until_ns - thread->counted_ns;
	thread->counted_ns = until_ns;
}

void hp_open_forget(struct hp_samples *samples, struct hp_wait_thread *thread)
{
	if (thread->counted_ns) {
		struct hp_stack_node *node =
			hp_sample_tree_node(&samples->tree, thread->counted_node);
		uint64_t span_ns = thread->counted_ns - thread->out_ns;

		node->waits--;
		node->blocked_ns -= span_ns;
		hp_sample_tree_changed(&samples->tree, thread->counted_node);
		samples->record->blocked_ns -= span_ns;
	}
	thread->out_ns = thread->counted_ns = thread->told_ns = thread->look_ns = 0;
	thread->wait_node = 0;
}

bool hp_open_meet(struct hp_samples *samples, uint32_t pid, uint32_t tid, uint64_t now_ns)
{
	struct hp_wait_thread *thread;
	struct hp_proc_stat stat;
	char path[64], text[1024];

	hp_proc_task_path(path, pid, tid, "stat");
	if (hp_proc_read(path, text, sizeof(text)) <= 0 || hp_proc_stat(text, &stat) < 0 ||
	    (stat.state != 'S' && stat.state != 'D'))
		return false;
	thread = hp_wait_thread_of(&samples->waits, tid);
	if (!thread || thread->out_ns)
		return false;
	thread->pid = pid;
	thread->out_ns = now_ns;
	return true;
}

void hp_open_exec(struct hp_samples *samples, uint32_t pid)
{
	for (uint32_t i = 0; i < samples->waits.room; i++) {
		struct hp_wait_thread *thread = &samples->waits.threads[i];

		/* The thread that called exec has this number now; the one that had it has ended. */
		if (thread->tid == pid)
			thread->is_ended = false;
		if (thread->out_ns && thread->pid == pid && thread->tid != pid)
			hp_open_forget(samples, thread);
	}
}

/* Signal 0 only checks. */
static bool is_gone(const struct hp_wait_thread *thread)
{
	return syscall(SYS_tgkill, (pid_t)thread->pid, (pid_t)thread->tid, 0) < 0 && errno == ESRCH;
}

/*
 * After lost records: the end may have been among them. Records of another processor may be read
 * later, and only one of those tells that the process is a helper.
 */
static bool is_open(struct hp_samples *samples, struct hp_wait_thread *thread, uint64_t until_ns,
		    bool is_asked)
{
	if (!thread->out_ns || thread->out_ns >= until_ns)
		return false;
	if (!hp_space_is_ours(&samples->spaces, thread->pid) && (!is_asked || !is_gone(thread)))
		return true;
	hp_open_forget(samples, thread);
	return false;
}

void hp_open_round(struct hp_samples *samples, uint64_t until_ns)
{
	bool is_asked = samples->open_lost != samples->lost;

	if (until_ns < samples->open_ns + HP_OPEN_EVERY_NS + samples->open_rest_ns)
		return;
	uint64_t since_ns = hp_proc_own_cpu_ns();
	samples->open_ns = until_ns;
	samples->open_lost = samples->lost;
	for (uint32_t i = 0; i < samples->waits.room; i++)
		if (is_open(samples, &samples->waits.threads[i], until_ns, is_asked))
			hp_open_count(samples, &samples->waits.threads[i], until_ns);
	samples->open_rest_ns = hp_proc_rest_ns(since_ns);
}

void hp_open_finish(struct hp_samples *samples, uint64_t until_ns)
{
	for (uint32_t i = 0; i < samples->waits.room; i++) {
		struct hp_wait_thread *thread = &samples->waits.threads[i];

		if (!is_open(samples, thread, until_ns, true))
			continue;
		hp_open_count(samples, thread, until_ns);
		hp_sample_events_add(&samples->events,
				     &(struct hp_event){ until_ns, until_ns - thread->out_ns,
							 thread->wait_node, thread->pid,
							 thread->tid, HP_EVENT_WAIT });
		thread->told_ns = until_ns;
	}
}
