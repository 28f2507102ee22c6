/* SPDX-License-Identifier: MIT */
/*
 * cpu_timer.c - see cpu_timer.h.
 *
 * Each thread creates its own timer: the first one when the process gets its
 * record, the others before their start routine. The destructor of a key ends
 * it. The kernel ends timers at exec and does not pass them to forked children.
 * The signal's value leads the handler to its ring, so it needs no thread-local
 * storage.
 */
#include "preload/wait/cpu_timer.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "preload/guest/claim.h"
#include "preload/guest/confine.h"
#include "preload/guest/ticks.h"
#include "preload/guest/pages.h"
#include "preload/guest/readable.h"
#include "preload/guest/real.h"
#include "preload/guest/say.h"
#include "preload/guest/self.h"
#include "preload/guest/thread_list.h"
#include "preload/thread/drop.h"
#include "preload/thread/level.h"
#include "preload/thread/end.h"
#include "preload/thread/process.h"
#include "segment/clock.h"
#include "segment/layout/sample.h"
#include "segment/ring.h"
#include "unwind/walk.h"
#include "segment/section_key.h"
#include "util/assert.h"
#include "util/find_object.h"

#define SIGNAL_SETXID 33	/* glibc, internal-signals.h; SIGRTMIN is the one after it */
#define FRAMES_MAX 512
#define PAIR_BITS 9
#define SECOND_NS UINT64_C(1000000000)
#define PATIENCE 1000	/* yields until a handler on another thread has returned */

/* The kernel's struct sigaction: the C library's own refuses the signal. */
struct action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* Belongs to one thread; taken over by a later one. The tables follow it. */
struct hp_timer_local {
	struct hp_thread_node node;
	_Atomic uint32_t is_busy;	/* its handler runs */
	struct hp_ticker *ticker;
	uint32_t pid;	/* the timer's owner: in a forked child another one */
	int id;	/* of the timer, the kernel's; -1 = none */
	uint64_t parent;	/* flags of its samples */
	void *(*routine)(void *);	/* of a thread that starts */
	int (*routine_c11)(void *);
	void *argument;
	struct hp_walker walker;
};

/* Called by pthread_atfork of the C library's static part; specific to glibc, like all of this. */
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *)
	__attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static bool is_on;
static struct hp_thread_list locals;	/* of this process: see `owner` */
static uint32_t owner;	/* pid of the process that they belong to */
static int end_number = -1;	/* of preload/thread/end.h */
static struct action under;	/* the C library's */

static struct hp_ticking *ticking(void)
{
	return (struct hp_ticking *)((char *)hp_segment.header + HP_TICKING_AT);
}

/* --- the handler --- */

static void walk(struct hp_walker *walker, const ucontext_t *context)
{
#if defined(__x86_64__)
	uintptr_t pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
	uintptr_t sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
	uintptr_t fp = (uintptr_t)context->uc_mcontext.gregs[REG_RBP];
#elif defined(__aarch64__)
	uintptr_t pc = context->uc_mcontext.pc;
	uintptr_t sp = context->uc_mcontext.sp;
	uintptr_t fp = context->uc_mcontext.regs[29];
#else
	uintptr_t pc = 0, sp = 0, fp = 0;
	(void)context;
#endif
	hp_readable_home(walker, sp);
	hp_walk(walker, pc + 1, sp, fp);
}

static void sample_put(struct hp_timer_local *me, uint64_t span_ns)
{
	const struct hp_walker *walker = &me->walker;
	struct hp_ticker *ticker = __atomic_load_n(&me->ticker, __ATOMIC_ACQUIRE);
	const struct hp_ring ring = HP_RING(ticker);
	uint64_t size = HP_TICK_WORDS + walker->count, at;

	if (!hp_ring_begin(&ring, size, &at)) {
		atomic_fetch_add_explicit(&ticker->lost, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&ticker->lost_ns, span_ns, memory_order_relaxed);
		return;
	}
	hp_ring_put(&ring, at + HP_TICK_SIZE,
		    size | (walker->is_complete ? HP_TICK_COMPLETE : 0) |
			    (walker->is_cut ? HP_TICK_CUT : 0));
	hp_ring_put(&ring, at + HP_TICK_TIME, hp_clock_raw_ns());
	hp_ring_put(&ring, at + HP_TICK_SPAN, span_ns);
	hp_ring_put(&ring, at + HP_TICK_THREAD, me->pid | (uint64_t)ticker->tid << 32);
	hp_ring_put(&ring, at + HP_TICK_PARENT, me->parent);
	hp_ring_put(&ring, at + HP_TICK_IMAGE, ticker->image);
	for (uint32_t i = 0; i < walker->count; i++)
		hp_ring_put(&ring, at + HP_TICK_WORDS + i, walker->trail[walker->count - 1 - i].pc);
	hp_ring_end(&ring, at + size);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct hp_timer_local *me = info->si_value.sival_ptr;
	int saved = errno;

	if (info->si_code != SI_TIMER) {
		if (under.handler)
			under.handler(number, info, context);
		return;
	}
	atomic_store_explicit(&me->is_busy, 1, memory_order_seq_cst);
	hp_drop_check();
	if (!hp_is_confined() && !hp_ticks_are_forbidden() && me->id >= 0 && hp_self &&
	    me->pid == hp_self->pid && hp_self->process) {
		walk(&me->walker, context);
		sample_put(me, (uint64_t)(info->si_overrun + 1) * ticking()->interval_ns);
	}
	atomic_store_explicit(&me->is_busy, 0, memory_order_release);
	errno = saved;
}

/* --- the signal --- */

/* The kernel requires a restorer for handlers. */
#if defined(__x86_64__)
#define SA_RESTORER_FLAG 0x04000000
__attribute__((visibility("hidden"))) void hp_timer_return(void);
__asm__(".pushsection .text\n"
	".balign 16\n"
	".globl hp_timer_return\n"
	".hidden hp_timer_return\n"
	"	nop\n"
	"hp_timer_return:\n"
	"	movq $15, %rax\n"
	"	syscall\n"
	".popsection\n");
#endif

/*
 * The C library sets its own handler when the first thread is created, before
 * this. Until ours is restored, that one gets our signals and ignores them: it
 * checks their sender.
 */
static bool signal_take(void)
{
	struct action ours = { .handler = on_signal,
			       .flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct action now;

#if defined(__x86_64__)
	ours.flags |= SA_RESTORER_FLAG;
	ours.restorer = hp_timer_return;
#endif
	if (syscall(SYS_rt_sigaction, SIGNAL_SETXID, NULL, &now, sizeof(now.mask)) < 0)
		return false;
	if (now.handler == on_signal)
		return true;
	if (now.handler != (void (*)(int, siginfo_t *, void *))(uintptr_t)SIG_DFL &&
	    now.handler != (void (*)(int, siginfo_t *, void *))(uintptr_t)SIG_IGN)
		under = now;
	ours.mask = now.mask;
	return syscall(SYS_rt_sigaction, SIGNAL_SETXID, &ours, NULL, sizeof(ours.mask)) == 0;
}

/* A parent may have left it blocked. */
static void signal_unblock(void)
{
	uint64_t set = UINT64_C(1) << (SIGNAL_SETXID - 1);

	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, sizeof(set));
}

/* --- timers --- */

/* The clock of a thread's time in user code: CPUCLOCK_VIRT in the kernel's posix-timers.h. */
static clockid_t user_clock(uint32_t tid)
{
	return (clockid_t)(~tid << 3 | 4 | 1);
}

static int timer_new(struct hp_timer_local *me, uint32_t tid)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNAL_SETXID };
	int id;

	event.sigev_value.sival_ptr = me;
	event._sigev_un._tid = (pid_t)tid;
	return syscall(SYS_timer_create, user_clock(tid), &event, &id) < 0 ? -1 : id;
}

static void timer_set(int id, uint64_t interval_ns)
{
	struct timespec interval = { (time_t)(interval_ns / SECOND_NS),
				     (long)(interval_ns % SECOND_NS) };
	struct itimerspec each = { interval, interval };

	syscall(SYS_timer_settime, id, 0, &each, NULL);
}

/* MOVING until its owner is stored: the sampler would free it again, because of its previous
 * owner. */
static struct hp_ticker *ticker_free(void)
{
	uint64_t offset = atomic_load_explicit(&ticking()->tickers, memory_order_acquire);

	while (offset) {
		struct hp_ticker *ticker = (struct hp_ticker *)((char *)hp_segment.header + offset);

		if (hp_claim(&ticker->state, HP_FREE, HP_MOVING))
			return ticker;
		offset = ticker->next;
	}
	return NULL;
}

static struct hp_ticker *ticker_take(uint32_t tid)
{
	struct hp_ticker *ticker = ticker_free();
	uint64_t offset = 0;

	if (!ticker) {
		offset = hp_segment_take(&hp_segment, sizeof(*ticker), HP_LINE);
		ticker = hp_segment_at(&hp_segment, offset, sizeof(*ticker));
	}
	if (!ticker)
		return NULL;
	HP_ASSERT(offset || atomic_load(&ticker->state) == HP_MOVING);
	ticker->pid = hp_self->pid;
	ticker->tid = tid;
	/* The sampler may read it, see sampler/sample/orphan.h: in this order. */
	__atomic_store_n(&ticker->process, hp_segment_offset(&hp_segment, hp_self->process),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&ticker->image, hp_self->process->start_ticks, __ATOMIC_RELEASE);
	/* Release: a thread that finds it taken finds its owner. */
	atomic_store_explicit(&ticker->state, HP_TAKEN, memory_order_release);
	if (offset)
		hp_list_push(&ticking()->tickers, offset, &ticker->next);
	return ticker;
}

static void ticker_give(struct hp_ticker *ticker)
{
	/* The next owner continues after the last word. */
	hp_claim_end(&ticker->state);
}

/* --- threads --- */

static bool walker_init(struct hp_walker *walker)
{
	const size_t room = HP_WALK_ROOM(FRAMES_MAX);
	char *pages = hp_pages(room + (2 * sizeof(*walker->rows) << PAIR_BITS));

	if (!pages)
		return false;
	hp_walk_settle(walker, pages, FRAMES_MAX);
	walker->rows = (struct hp_cfi_row *)(pages + room);
	walker->row_shift = 64 - PAIR_BITS;
	walker->is_readable = hp_readable_few;
	/* Other ways of asking the loader take its lock, which this thread may hold. */
	walker->mode = &hp_find_object ? HP_WALK_AUTO : HP_WALK_FP;
	return true;
}

/* Those of another process are in its memory, of which a forked child has a copy. */
static void locals_know(void)
{
	if (owner == hp_self->pid)
		return;
	owner = hp_self->pid;
	atomic_store_explicit(&locals.first, NULL, memory_order_relaxed);
}

static struct hp_timer_local *local_first(void)
{
	return HP_THREAD_OF(struct hp_timer_local, hp_thread_list_first(&locals));
}

static struct hp_timer_local *local_after(const struct hp_timer_local *me)
{
	return HP_THREAD_OF(struct hp_timer_local, me->node.next);
}

static struct hp_timer_local *local_new(void)
{
	struct hp_timer_local *me = hp_pages(sizeof(*me));

	if (!me)
		return NULL;
	if (!walker_init(&me->walker)) {
		hp_pages_release(me, sizeof(*me));
		return NULL;
	}
	me->id = -1;
	hp_thread_list_add(&locals, &me->node);
	return me;
}

static struct hp_timer_local *local_take(void)
{
	struct hp_thread_node *node;

	locals_know();
	node = hp_thread_list_free(&locals);
	return node ? HP_THREAD_OF(struct hp_timer_local, node) : local_new();
}

static void local_give(struct hp_timer_local *me)
{
	hp_thread_list_give(&me->node);
}

static uint64_t parent_of_process(void)
{
	return hp_self->process->parent_pid | hp_self->process->object / HP_LINE << 32;
}

/* On the thread itself. */
static void begin(struct hp_timer_local *me)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);

	if (hp_is_confined()) {
		local_give(me);
		return;
	}
	me->pid = hp_self->pid;
	me->walker.home_high = hp_readable_stack_end(sp);
	me->walker.home_low = me->walker.home_high ? sp : 0;
	memset(me->walker.rows, 0, 2 * sizeof(*me->walker.rows) << PAIR_BITS);
	hp_walk_forget(&me->walker);
	me->parent = parent_of_process();
	me->ticker = ticker_take(tid);
	me->id = me->ticker ? timer_new(me, tid) : -1;
	if (me->id < 0) {
		atomic_fetch_add_explicit(&ticking()->refused, 1, memory_order_relaxed);
		if (me->ticker)
			ticker_give(me->ticker);
		me->ticker = NULL;
		local_give(me);
		return;
	}
	hp_end_watch(end_number, me);
	signal_unblock();
	timer_set(me->id, ticking()->interval_ns);
}

/* The destructor of the key. Once the timer is deleted, its signal has either arrived or never
 * will. */
static void end(void *data)
{
	struct hp_timer_local *me = data;
	int saved = errno, id = me->id;

	if (!hp_self || me->pid != hp_self->pid || hp_is_confined() || id < 0)
		return;
	syscall(SYS_timer_delete, id);
	me->id = -1;
	ticker_give(me->ticker);
	me->ticker = NULL;
	local_give(me);
	errno = saved;
}

static bool may_sample(void)
{
	return is_on && !hp_is_confined() && hp_self_is_me();
}

/*
 * The process has entered another segment: its timers continue, and their samples go there.
 * A thread currently in the handler writes to the old place, without effect. Does the calling
 * thread have one?
 */
static bool retarget(void)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct hp_timer_local *me;
	bool is_among = false;

	for (me = local_first(); me; me = local_after(me)) {
		struct hp_ticker *ticker;

		if (me->pid != hp_self->pid || me->id < 0)
			continue;
		is_among |= me->ticker->tid == tid;
		ticker = ticker_take(me->ticker->tid);
		if (!ticker)
			continue;
		me->parent = parent_of_process();
		__atomic_store_n(&me->ticker, ticker, __ATOMIC_RELEASE);
	}
	return is_among;
}

/* Gives the calling thread a timer. */
static void opened(void)
{
	static uint32_t drops;
	struct hp_timer_local *me;
	bool has_one;
	int saved = errno;

	if (!is_on || hp_is_confined())
		return;
	has_one = hp_drop_is_before(drops) && retarget();
	drops = hp_drops;
	errno = saved;
	if (has_one)
		return;
	me = local_take();
	if (me)
		begin(me);
	errno = saved;
}

static void *run(void *argument)
{
	struct hp_timer_local *me = argument;
	void *(*routine)(void *) = me->routine;
	int saved = errno;

	argument = me->argument;
	begin(me);
	errno = saved;
	return routine(argument);	/* a jump, so no frame of ours is on the stack */
}

static int run_c11(void *argument)
{
	struct hp_timer_local *me = argument;
	int (*routine)(void *) = me->routine_c11;
	int saved = errno;

	argument = me->argument;
	begin(me);
	errno = saved;
	return routine(argument);
}

static void after_create(struct hp_timer_local *me, bool is_made)
{
	int saved = errno;

	if (!is_made)
		local_give(me);
	signal_take();
	errno = saved;
}

int hp_timer_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
		    void *argument)
{
	struct hp_timer_local *me = may_sample() ? local_take() : NULL;

	if (!me)
		return hp_real()->pthread_create(thread, attributes, routine, argument);
	me->routine = routine;
	me->argument = argument;
	int result = hp_real()->pthread_create(thread, attributes, run, me);
	after_create(me, result == 0);
	return result;
}

int hp_timer_create_c11(thrd_t *thread, thrd_start_t routine, void *argument)
{
	struct hp_timer_local *me = may_sample() ? local_take() : NULL;

	if (!me)
		return hp_real()->thrd_create(thread, routine, argument);
	me->routine_c11 = routine;
	me->argument = argument;
	int result = hp_real()->thrd_create(thread, run_c11, me);
	after_create(me, result == thrd_success);
	return result;
}

/* --- on and off --- */

void hp_timer_stop(void)
{
	struct hp_timer_local *me;

	if (!may_sample())
		return;
	for (me = local_first(); me; me = local_after(me))
		if (me->pid == hp_self->pid && me->id >= 0)
			timer_set(me->id, 0);
	for (me = local_first(); me; me = local_after(me))
		for (int i = 0; i < PATIENCE && atomic_load(&me->is_busy); i++)
			sched_yield();
}

void hp_timer_go_on(void)
{
	struct hp_timer_local *me;

	if (!may_sample())
		return;
	for (me = local_first(); me; me = local_after(me))
		if (me->pid == hp_self->pid && me->id >= 0)
			timer_set(me->id, ticking()->interval_ns);
}

/* In the child of fork(); other children are noticed at their first hook, allocation or lock. */
static void after_fork(void)
{
	int saved = errno;

	hp_self_open();
	errno = saved;
}

/* As the helper process would open it, but for this thread, and closed again. */
static bool is_perf_refused(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.disabled = 1,
					.exclude_kernel = 1,
					.exclude_hv = 1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		syscall(SYS_close, fd);
	return fd < 0 && (errno == EACCES || errno == EPERM || errno == ENOSYS);
}

/* The clock advances at least by a kernel tick. */
static uint32_t interval_of(const struct hp_settings *settings)
{
	uint64_t wish = SECOND_NS / hp_settings_cpu_hz(settings);
	struct timespec tick = { 0, 0 };

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	return (uint32_t)(wish > (uint64_t)tick.tv_nsec ? wish : (uint64_t)tick.tv_nsec);
}

static bool is_wished(const struct hp_settings *settings)
{
	if (!hp_settings_asks(settings, HP_KEY_FUNCTIONS_CPU))
		return false;
	return settings->cpu == HP_CPU_TIMER ||
	       (settings->cpu == HP_CPU_AUTO && hp_settings_names(settings, HP_KEY_FUNCTIONS_CPU) &&
		is_perf_refused());
}

static void configure(const struct hp_settings *settings, bool is_first)
{
	bool is_root = is_first || hp_segment.header->root_pid == (uint32_t)getpid();

	if (is_root ? !is_wished(settings) : !atomic_load(&ticking()->is_on))
		return;
	if (SIGRTMIN != SIGNAL_SETXID + 1 || !signal_take() || (end_number = hp_end_new(end)) < 0) {
		hp_say("no CPU timers: this C library reserves no signal", NULL);
		return;
	}
	is_on = true;
	if (__register_atfork)
		__register_atfork(NULL, NULL, after_fork, __dso_handle);
	if (!is_root)
		return;
	ticking()->interval_ns = interval_of(settings);
	atomic_store_explicit(&ticking()->is_on, 1, memory_order_release);
}

const struct hp_recorder hp_timer_recorder = { .configure = configure, .opened = opened };
