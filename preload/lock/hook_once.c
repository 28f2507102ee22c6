/* SPDX-License-Identifier: MIT */
/*
 * hook_once.c - stand-ins of pthread_once and call_once.
 *
 * A completed once only costs a check. The thread that runs the initialisation
 * counts as the lock's owner, and threads that arrive meanwhile wait for it.
 * The owner is only known when the initialisation runs, so we pass one of our
 * functions to the real call; it finds its context through the thread.
 *
 * An initialisation that ends by an exception or a jump is left as it is: its
 * state is cleaned up when it starts again.
 */
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/lock/lock.h"

#define HP_ONCE_DONE 2	/* of glibc's control word; other bits: in progress */

struct once {
	struct once *outer;
	void (*init)(void);
	struct hp_use *use;
	const struct hp_lock_call *call;
	struct hp_wait wait;
	bool is_run;
};

/* The innermost of the thread, while it is in the real call. */
static __thread struct once *current;

static void run(void)
{
	struct once *once = current;
	struct hp_release release;

	once->is_run = true;
	hp_wait_cancel(&once->wait);
	hp_lock_got_more(hp_waiter(), once->use, once->call->address, once->call->caller,
			 HP_GOT_PLAIN);
	once->init();
	if (hp_lock_release(&release, once->call->address))
		hp_lock_released(&release);
}

static bool is_done(const int *control)
{
	return __atomic_load_n(control, __ATOMIC_ACQUIRE) & HP_ONCE_DONE;
}

static void begin(struct once *once, struct hp_use *use, const struct hp_lock_call *call,
		  void (*init)(void))
{
	int saved = errno;

	*once = (struct once){ .outer = current, .init = init, .use = use, .call = call };
	hp_wait_begin(&once->wait, use, call);
	current = once;
	errno = saved;
}

static void end(struct once *once)
{
	int saved = errno;

	current = once->outer;
	if (!once->is_run)
		hp_wait_told(&once->wait, true);
	errno = saved;
}

static struct hp_lock_call call_of(const int *control, uintptr_t caller)
{
	return (struct hp_lock_call){ .address = (uintptr_t)control,
				      .caller = caller,
				      .kind = HP_LOCK_ONCE };
}

HP_EXPORT int pthread_once(pthread_once_t *control, void (*init)(void))
{
	struct hp_lock_call call;
	struct hp_use *use;
	struct once once;
	int result;

	if (HP_LIKELY(is_done(control)) || hp_lock_is_off())
		return hp_real()->pthread_once(control, init);
	call = call_of(control, HP_CALLER);
	use = hp_lock_use(&call);
	if (!use)
		return hp_real()->pthread_once(control, init);
	begin(&once, use, &call, init);
	result = hp_real()->pthread_once(control, run);
	end(&once);
	return result;
}

/* Its flag is a pthread_once_t there. */
HP_EXPORT void call_once(once_flag *flag, void (*init)(void))
{
	struct hp_lock_call call;
	struct hp_use *use;
	struct once once;

	if (HP_LIKELY(is_done(&flag->__data)) || hp_lock_is_off()) {
		hp_real()->call_once(flag, init);
		return;
	}
	call = call_of(&flag->__data, HP_CALLER);
	use = hp_lock_use(&call);
	if (!use) {
		hp_real()->call_once(flag, init);
		return;
	}
	begin(&once, use, &call, init);
	hp_real()->call_once(flag, run);
	end(&once);
}
