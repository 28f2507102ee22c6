/* SPDX-License-Identifier: MIT */
/* process.c - how processes start, change and end: each scene ends as it does without a guest. */
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "scene.h"

extern char **environ;

static atomic_int stop;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *busy(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop)) {
		allocate(50);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void with_busy_threads(void (*what)(int))
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, busy, NULL);
	for (int i = 0; i < 60; i++)
		what(i);
	atomic_store(&stop, 1);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static int child_work(void)
{
	static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&own);
	unsigned sum = allocate(500);
	pthread_mutex_unlock(&own);
	return sum ? 7 : 8;
}

static void fork_once(int i)
{
	pid_t pid = fork();

	if (pid == 0)
		i % 2 ? exit(child_work()) : _exit(child_work());
	if (i < 3)
		say_end("fork", pid);
	else
		waitpid(pid, NULL, 0);
}

static void fork_busy(void)
{
	with_busy_threads(fork_once);
}

#if !__GLIBC_PREREQ(2, 34)
static pid_t _Fork(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}
#endif

/* No handlers of atfork: malloc's lock may be held, so the child must not allocate. */
static void raw_fork_once(int i)
{
	struct clone_args how = { .exit_signal = SIGCHLD };
	pid_t pid = i % 3 == 0	 ? (pid_t)syscall(SYS_clone3, &how, sizeof(how))
		    : i % 3 == 1 ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)
				 : _Fork();

	if (pid == 0) {
		sem_t sem;
		sem_init(&sem, 0, 1);
		sem_wait(&sem);
		_exit(5);
	}
	if (i < 3)
		say_end("raw fork", pid);
	else
		waitpid(pid, NULL, 0);
}

static void raw_fork_busy(void)
{
	with_busy_threads(raw_fork_once);
}

static void *fork_in_thread(void *arg)
{
	(void)arg;
	pid_t pid = fork();
	if (pid == 0)
		exit(child_work());
	say_end("child of a thread", pid);
	return NULL;
}

static void thread_forks(void)
{
	pthread_t thread;

	for (int i = 0; i < 5; i++) {
		pthread_create(&thread, NULL, fork_in_thread, NULL);
		pthread_join(thread, NULL);
	}
}

/* The child works in our memory: the pages it touches remain ours afterwards. */
static void vfork_child(void)
{
	static volatile int touched;
	pid_t pid;

	errno = 0;
	pid = vfork();
	if (pid == 0) {
		touched = 1;
		_exit(9);
	}
	check(errno == 0, "errno of the parent");
	say_end("vfork _exit", pid);
	pid = vfork();
	if (pid == 0) {
		execl("/nowhere", "x", (char *)NULL);
		_exit(10);
	}
	say_end("vfork exec fails", pid);
	pid = vfork();
	if (pid == 0) {
		execlp("sh", "sh", "-c", "exit 11", (char *)NULL);
		_exit(12);
	}
	say_end("vfork exec", pid);
	check(touched, "the child's store is seen");
	printf("still here, sum %u\n", allocate(1000));
}

static void spawn(void)
{
	static const char *const argv[] = {
		"sh", "-c", "read x <&9; echo $x; trap; ls /proc/self/fd | wc -l; exit 13", NULL
	};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int ends[2];
	pid_t pid;
	sigset_t set;

	check(pipe2(ends, O_CLOEXEC) == 0, "pipe");
	dprintf(ends[1], "through\n");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[0], 9);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	posix_spawnattr_init(&attributes);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	posix_spawnattr_setsigmask(&attributes, &set);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
	fflush(stdout);
	check(posix_spawnp(&pid, "sh", &actions, &attributes, (char *const *)argv, environ) == 0,
	      "spawn");
	say_end("spawn", pid);
	printf("spawn of nothing: %d\n",
	       posix_spawn(&pid, "/nowhere", NULL, NULL, (char *const *)argv, environ));
}

static int clone_child(void *arg)
{
	(void)!write(1, arg, strlen(arg));
	return 14;
}

static void clone_flags(void)
{
	static const struct {
		const char *text;
		int flags;
	} kinds[] = {
		{ "plain\n", SIGCHLD },
		{ "files\n", CLONE_FILES | CLONE_FS | SIGCHLD },
		{ "no signal\n", 0 },
		{ "usr1\n", SIGUSR1 },
		{ "vm, vfork\n", CLONE_VM | CLONE_VFORK | SIGCHLD },
		{ "vm, sighand\n", CLONE_VM | CLONE_SIGHAND | CLONE_FILES | CLONE_FS | SIGCHLD },
		{ "vm, vfork, no signal\n", CLONE_VM | CLONE_VFORK },
	};
	char *stack = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	signal(SIGUSR1, SIG_IGN);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		pid_t pid = clone(clone_child, stack + (1 << 16), kinds[i].flags,
				  (void *)kinds[i].text);
		say_end(kinds[i].text, pid);
	}
	printf("sum %u\n", allocate(1000));
}

static void daemonize(void)
{
	int ends[2];
	char text[8] = "";

	check(pipe(ends) == 0, "pipe");
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		check(daemon(1, 1) == 0, "daemon");
		allocate(100);
		check(getsid(0) != getpid() || getpid() > 0, "session");
		(void)!write(ends[1], "alive", 5);
		exit(3);
	}
	close(ends[1]);
	say_end("in front", pid);
	while (read(ends[0], text, sizeof(text)) < 0 && errno == EINTR)
		;
	printf("daemon %s\n", text);
	pid = fork();
	if (pid == 0) {
		setsid();
		if (fork() == 0) {
			allocate(100);
			_exit(0);
		}
		_exit(4);
	}
	say_end("double fork", pid);
}

static void close_all(void)
{
	int copy = dup(1);

	for (int fd = 0; fd < 4096; fd++)
		if (fd != copy)
			close(fd);
	allocate(100);
	dup2(copy, 1);
	closefrom(3);
	close_range(3, ~0u, 0);
	allocate(100);
	printf("next descriptor %d\n", open("/dev/null", O_RDONLY));
	printf("next descriptor %d\n", open("/dev/null", O_RDONLY));
	pid_t pid = fork();
	if (pid == 0)
		exit(child_work());
	say_end("child", pid);
}

static void wait_loops(void)
{
	int status, count = 0;
	siginfo_t info;

	check(waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD, "no child at first");
	check(waitpid(-1, &status, WNOHANG | __WALL) == -1 && errno == ECHILD, "nor with __WALL");
	check(waitpid(-1, &status, WNOHANG | __WCLONE) == -1 && errno == ECHILD,
	      "nor with __WCLONE");
	check(waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == -1 && errno == ECHILD,
	      "nor for waitid");
	for (int i = 0; i < 5; i++)
		if (fork() == 0)
			_exit(i);
	while (wait(&status) > 0)
		count += 1 + WEXITSTATUS(status);
	printf("%d, then %s\n", count, strerror(errno));
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (fork() == 0) {
		if (fork() == 0)
			_exit(6);
		_exit(5);
	}
	count = 0;
	while (waitpid(-1, &status, __WALL) > 0)
		count += 1 + WEXITSTATUS(status);
	printf("%d with a grandchild, then %s\n", count, strerror(errno));
}

static void children_ignored(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT };

	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			_exit(child_work());
	printf("wait %d %s\n", wait(NULL), strerror(errno));
	sigaction(SIGCHLD, &action, NULL);
	if (fork() == 0)
		_exit(1);
	printf("wait %d %s\n", wait(NULL), strerror(errno));
	printf("system %d\n", system("exit 3"));
	signal(SIGCHLD, SIG_DFL);
	printf("system %d\n", WEXITSTATUS(system("exit 3")));
}

static volatile sig_atomic_t got_child;

static void on_child(int number)
{
	(void)number;
	got_child++;
}

static void child_signals(void)
{
	sigset_t set;

	signal(SIGCHLD, on_child);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pid_t pid = fork();
	if (pid == 0)
		_exit(2);
	say_end("child", pid);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	allocate(2000);
	printf("%d SIGCHLD\n", (int)got_child);
}

static void stopped(void)
{
	int ends[2], status;
	char byte;

	check(pipe(ends) == 0, "pipe");
	pid_t pid = fork();
	if (pid == 0) {
		raise(SIGSTOP);
		(void)!read(ends[0], &byte, 1);
		exit(child_work());
	}
	waitpid(pid, &status, WUNTRACED);
	printf("stopped %d\n", WIFSTOPPED(status));
	kill(pid, SIGCONT);
	waitpid(pid, &status, WCONTINUED);
	printf("continued %d\n", WIFCONTINUED(status));
	(void)!write(ends[1], "x", 1);
	say_end("child", pid);
}

static void affinity(void)
{
	cpu_set_t all, one;

	sched_getaffinity(0, sizeof(all), &all);
	for (int i = 0; i < 50; i++) {
		CPU_ZERO(&one);
		CPU_SET(i % CPU_COUNT(&all), &one);
		sched_setaffinity(0, sizeof(one), &one);
		allocate(200);
	}
	sched_setaffinity(0, sizeof(all), &all);
	puts("moved");
}

static void *exec_it(void *arg)
{
	(void)arg;
	execlp("sh", "sh", "-c", "echo image; exit 15", (char *)NULL);
	return NULL;
}

static void exec_from_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, busy, NULL);
	pthread_create(&thread, NULL, exec_it, NULL);
	pthread_join(thread, NULL);
}

static const struct scene scenes[] = {
	{ "fork_busy", fork_busy },
	{ "raw_fork_busy", raw_fork_busy },
	{ "thread_forks", thread_forks },
	{ "vfork", vfork_child },
	{ "spawn", spawn },
	{ "clone", clone_flags },
	{ "daemon", daemonize },
	{ "close_all", close_all },
	{ "wait", wait_loops },
	{ "children_ignored", children_ignored },
	{ "child_signals", child_signals },
	{ "stopped", stopped },
	{ "affinity", affinity },
	{ "exec_from_thread", exec_from_thread },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return play(scenes, argc, argv);
}
