/* SPDX-License-Identifier: MIT */
/*
 * report_code_test.c - loops that only wait, told from loops that compute by their machine code, as
 * the compiler of this test makes it.
 */
#include "test/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/memory.h"
#include "report/elf/code.h"
#include "segment/layout/process.h"

#if defined(__x86_64__)
#define APART __attribute__((noinline, used, no_sanitize("address"), no_sanitize("undefined")))

struct node {
	struct node *next;
	int value;
};

static int flag;
static const int *place;

/* --- these wait --- */

APART static void wait_flag(void)
{
	while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
		;
}

APART static void wait_pause(void)
{
	while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) != 2)
		__builtin_ia32_pause();
}

APART static void wait_number(const volatile long *number, long least)
{
	while (*number - 1 < least)
		;
}

/* The pointer is read again in each turn. */
APART static void wait_pointer(void)
{
	while (*(const volatile int *)__atomic_load_n(&place, __ATOMIC_ACQUIRE) == 0)
		;
}

APART static void wait_bits(const volatile unsigned *bits)
{
	while ((*bits & 6) != 4)
		;
}

APART static void wait_clock(unsigned long long end)
{
	while (__builtin_ia32_rdtsc() < end)
		;
}

APART static void wait_exchange(char *lock)
{
	while (__atomic_test_and_set(lock, __ATOMIC_ACQUIRE))
		;
}

APART static void wait_compare(int *lock)
{
	int free = 0;

	while (!__atomic_compare_exchange_n(lock, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		free = 0;
}

/* --- these compute --- */

APART static void work_count(int *count)
{
	int old = *count;

	while (!__atomic_compare_exchange_n(count, &old, old + 3, 0, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED))
		;
}

APART static int work_list(const struct node *node)
{
	while (node->next && node->value != 7)
		node = node->next;
	return node->value;
}

APART static int work_limit(const volatile int *number)
{
	int tries = 0;

	while (!*number && tries < 1000)
		tries++;
	return tries;
}

APART static unsigned work_hash(const unsigned char *text)
{
	unsigned hash = 5381;

	while (*text)
		hash = hash * 33 ^ *text++;
	return hash;
}

APART static size_t work_find(const char *text, char wanted)
{
	size_t at = 0;

	while (text[at] != wanted)
		at++;
	return at;
}

APART static void work_fill(volatile int *to, int value)
{
	for (volatile int *end = to + 100; to < end; to++)
		*to = value;
}

APART static unsigned work_divide(unsigned number)
{
	while (number % 2 == 0 && number)
		number /= 2;
	return number;
}

APART static void work_store(volatile int *to, const volatile int *until)
{
	while (!*until)
		*to = 1;
}

/* --- these search an array --- */

struct entry {
	int key;
	int more[5];
};

APART static const struct entry *find_key(const struct entry *entries, size_t count, int key)
{
	for (size_t i = 0; i < count; i++)
		if (entries[i].key == key)
			return &entries[i];
	return NULL;
}

APART static size_t find_of_all(struct entry *const *entries, size_t count, int key)
{
	size_t i = 0;

	while (i < count && entries[i]->key != key)
		i++;
	return i;
}

APART static size_t find_free(const int *slots, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (slots[i] == -1)
			return i;
	return count;
}

/* --- these do not --- */

/* A chain of a hash table looks like that, too. */
APART static const struct node *other_in_list(const struct node *node, int value)
{
	while (node && node->value != value)
		node = node->next;
	return node;
}

APART static const struct node *other_last(const struct node *node)
{
	while (node->next)
		node = node->next;
	return node;
}

APART static int other_list(const struct node *node, int limit)
{
	int sum = 0;

	while (node && sum < limit) {
		sum += node->value;
		node = node->next;
	}
	return sum;
}

APART static size_t other_sum(const int *numbers, size_t count, int limit)
{
	int sum = 0;
	size_t i = 0;

	for (; i < count && sum < limit; i++)
		sum += numbers[i];
	return i;
}

APART static size_t other_halves(const int *numbers, size_t count, int wanted)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = (low + count) / 2;

		if (numbers[middle] == wanted)
			return middle;
		if (numbers[middle] < wanted)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

APART static size_t other_probe(const int *slots, size_t mask, int key)
{
	size_t at = (size_t)key & mask;

	while (slots[at] && slots[at] != key)
		at = (at + 1) & mask;
	return at;
}

APART static size_t other_difference(const int *a, const int *b, size_t count)
{
	size_t i = 0;

	while (i < count && a[i] == b[i])
		i++;
	return i;
}

APART static size_t other_letters(const char *text, size_t length, char wanted)
{
	size_t at = 0;

	while (at < length && text[at] != wanted)
		at++;
	return at;
}

static int called(void);

APART static void work_call(void)
{
	while (!called())
		;
}

APART static int called(void)
{
	return __atomic_load_n(&flag, __ATOMIC_ACQUIRE);
}

typedef bool is_loop(const struct hp_code *, uint64_t, struct hp_code_loop *);

/* The addresses in `objdump -d`, each line "  ADDRESS:\tINSTRUCTION"; returns how many are of such a loop. */
static int loops_in(const char *path, const char *function, is_loop *is_it, int *instructions)
{
	char *command = hp_xprintf("objdump -d --no-show-raw-insn --disassemble=%s '%s' 2>&1",
				   function, path);
	struct hp_model_object object = { .kind = HP_OBJECT_ELF, .path = (char *)path };
	FILE *dump = popen(command, "r");
	struct stat status;
	char line[4096];
	int found = 0;

	CHECK_EQ(stat(path, &status), 0);
	object.inode = status.st_ino;
	*instructions = 0;
	while (dump && fgets(line, sizeof(line), dump)) {
		struct hp_code_loop loop;
		struct hp_code code;
		unsigned long address;
		char colon;

		if (sscanf(line, " %lx%c\t", &address, &colon) != 2 || colon != ':')
			continue;
		++*instructions;
		if (hp_code_read(&code, &object, 0, address) && is_it(&code, address, &loop)) {
			CHECK(loop.begin <= address && address < loop.end);
			found++;
		}
	}
	if (dump)
		pclose(dump);
	free(command);
	return found;
}

/* Functions whose name begins so, and no others, have such a loop. */
static void loops_check(const char *const *names, size_t count, const char *begin, is_loop *is_it)
{
	char path[4096];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	CHECK(size > 0);
	path[size > 0 ? size : 0] = 0;
	if (system("command -v objdump >/dev/null") != 0)
		SKIP("no objdump here");
	for (size_t i = 0; i < count; i++) {
		int instructions, found = loops_in(path, names[i], is_it, &instructions);
		bool has = strncmp(names[i], begin, strlen(begin)) == 0;

		if ((found > 0) != has || !instructions)
			printf("%s: %d of %d instructions\n", names[i], found, instructions);
		CHECK(instructions > 0);
		CHECK_EQ(found > 0, has);
	}
}

static const char *const names[] = {
	"wait_flag",	 "wait_pause",	     "wait_number",  "wait_pointer", "wait_bits",
	"wait_clock",	 "wait_exchange",    "wait_compare", "work_count",   "other_in_list",
	"other_last",	 "work_limit",	     "work_hash",    "work_find",    "work_fill",
	"work_divide",	 "work_store",	     "work_call",    "find_key",     "find_of_all",
	"find_free",	 "other_sum",	     "other_halves", "other_probe",  "other_list",
	"other_letters", "other_difference",
};

#define NAMES (sizeof(names) / sizeof(names[0]))

TEST(code, loops_that_only_wait_are_told_from_others)
{
	loops_check(names, NAMES, "wait_", hp_code_waits);
}

/* Without optimization, a loop keeps its counter in memory; for size, it copies its address. */
#if defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
TEST(code, loops_that_search_an_array_are_told_from_others)
{
	loops_check(names, NAMES, "find_", hp_code_searches);
}
#endif

/* Cut anywhere, filled with anything: nothing beyond the bytes is read. */
TEST(code, any_bytes_are_decoded_within_their_end)
{
	struct hp_code *code = hp_xcalloc(1, sizeof(*code));
	struct hp_code_loop loop;
	unsigned seed = 1;

	for (int turn = 0; turn < 200000; turn++) {
		code->address = 4096;
		code->size = (size_t)turn % (sizeof(code->bytes) + 1);
		for (size_t i = 0; i < code->size; i++) {
			seed = seed * 1103515245 + 12345;
			code->bytes[i] = (unsigned char)(seed >> 16);
		}
		if (hp_code_waits(code, 4096 + seed % 256, &loop))
			CHECK(loop.begin >= 4096 && loop.end <= 4096 + code->size);
		if (hp_code_searches(code, 4096 + seed % 256, &loop))
			CHECK(loop.begin >= 4096 && loop.end <= 4096 + code->size);
	}
	free(code);
}

/* The functions are examined, not called. */
const void *const code_test_kept[] = { wait_flag,  wait_pause,	  wait_number,	   wait_pointer,
				       wait_bits,  wait_clock,	  work_list,	   work_limit,
				       work_hash,  work_find,	  work_fill,	   work_divide,
				       work_store, work_call,	  find_key,	   find_of_all,
				       find_free,  other_sum,	  other_halves,	   other_probe,
				       other_list, other_letters, other_difference };

#endif
