/* SPDX-License-Identifier: MIT */
/*
 * segment_rights_test.c - a process has the rights of another one, or not, as the kernel compares
 * them for tracing.
 */
#include "segment/rights.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/test.h"

#define NOBODY 65534

static bool nothing(void)
{
	return true;
}

/* Reading /proc/PID/fd of one that is not dumpable needs a capability, as for a helper. */
static bool drop_user(void)
{
	return setresuid(NOBODY, NOBODY, NOBODY) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

static bool drop_capability(void)
{
	struct __user_cap_header_struct which = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct what[2];

	if (syscall(SYS_capget, &which, what) != 0)
		return false;
	what[0].permitted &= ~(1u << CAP_NET_RAW);
	what[0].effective = what[0].inheritable = 0;
	return syscall(SYS_capset, &which, what) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

static bool other_users(void)
{
	return unshare(CLONE_NEWUSER) == 0;
}

/* Of a child that has changed this: 1 = the same as ours, 0 = not; -1 = it could not. */
static int are_shared(bool (*change)(void))
{
	char path[32], byte;
	int ready[2], folder, answer = -1;

	CHECK(pipe(ready) == 0);
	pid_t child = fork();
	if (child == 0) {
		if (!change() || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	close(ready[1]);
	snprintf(path, sizeof(path), "/proc/%d", child);
	folder = open(path, O_PATH | O_DIRECTORY);
	if (read(ready[0], &byte, 1) == 1)
		answer = hp_rights_shared(folder, (uint32_t)child) != 0;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	/* Now its pid means nothing, or another process. */
	CHECK(!hp_rights_shared(folder, (uint32_t)child));
	CHECK(!hp_rights_shared(folder, (uint32_t)getpid()));
	close(folder);
	close(ready[0]);
	return answer;
}

TEST(rights, are_shared_with_an_equal_process_only)
{
	CHECK_EQ(are_shared(nothing), 1);
	if (geteuid() != 0)
		SKIP("needs root to have fewer rights: the rest was checked");
	CHECK_EQ(are_shared(drop_user), 0);
	CHECK_EQ(are_shared(drop_capability), 0);
	CHECK(are_shared(other_users) != 1);
}

/* An id that cannot be changed counts; without CAP_SYS_PTRACE the kernel has compared them. */
TEST(rights, of_one_that_may_trace_all_but_take_no_id_cannot_be_told)
{
	struct __user_cap_header_struct which = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct what[2];
	int status;

	if (geteuid() != 0)
		SKIP("needs root");
	pid_t child = fork();
	if (child == 0) {
		bool is_done = syscall(SYS_capget, &which, what) == 0;

		what[0].permitted &= ~(1u << CAP_SETUID);
		what[0].effective = what[0].permitted;
		is_done = is_done && syscall(SYS_capset, &which, what) == 0 &&
			  prctl(PR_SET_DUMPABLE, 1) == 0;
		_exit(!is_done ? 2 : are_shared(nothing));
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

TEST(rights, a_namespace_has_the_number_that_its_link_shows)
{
	char text[64], wanted[64];
	ssize_t size = readlink("/proc/self/ns/pid", text, sizeof(text) - 1);

	if (size < 0)
		SKIP("no /proc");
	text[size] = '\0';
	snprintf(wanted, sizeof(wanted), "pid:[%llu]",
		 (unsigned long long)hp_rights_namespace(AT_FDCWD, "/proc/self/ns/pid"));
	CHECK_STR(text, wanted);
	CHECK_EQ(hp_rights_namespace(AT_FDCWD, "/proc/self/ns/none"), 0);
}
