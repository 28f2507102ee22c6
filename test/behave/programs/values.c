/* SPDX-License-Identifier: MIT */
/*
 * values.c - HOTPATH_DBG, HOTPATH_VAL and the gauges of include/hotpath.h, as C and as C++.  Prints
 * the values of its expressions: the same with the library, without it and without -DHOTPATH.
 */
#include <hotpath.h>
#include <stdio.h>
#include <string.h>

struct pair {
	int a, b;
};

struct bits {
	unsigned int few : 3;
	int many : 20;
};

enum color { RED, GREEN = 7 };

static int evaluated;

static int next_one(void)
{
	return ++evaluated;
}

static void of_both(void)
{
	char text[16] = "text";
	const char *constant = "constant";
	struct pair pair = { 1, 2 }, copy;
	volatile short narrow = -3;
	enum color color = GREEN;
	void *pointer = NULL;
	long double wide = 0.5L;
	int i, sum = 0;

	for (i = 0; i < 10; i++)
		sum += HOTPATH_DBG(next_one());
	printf("%d %d\n", sum, evaluated);
	printf("%d %s %s\n", HOTPATH_DBG(narrow) + 1, HOTPATH_DBG(text), HOTPATH_DBG(constant));
	copy = HOTPATH_DBG(pair);
	printf("%d %d %d\n", copy.b, (int)HOTPATH_DBG(color), HOTPATH_DBG(pointer) == NULL);
	printf("%g %g %c\n", (double)HOTPATH_DBG(wide), HOTPATH_DBG(2.5f) * 2.0, HOTPATH_DBG('x'));
	printf("%d\n", HOTPATH_DBG(HOTPATH_DBG(20) + HOTPATH_DBG(1)) * 2);
	printf("%lu %s\n", HOTPATH_DBG(~0UL), HOTPATH_DBG("literal"));
	HOTPATH_VAL("last", sum);
	HOTPATH_VAL("last", text);
	HOTPATH_VAL("whole", pair);
	for (i = 0; i < 1000; i++)
		HOTPATH_GAUGE_INC("up", 2);
	HOTPATH_GAUGE_DEC("up", 500.5);
	HOTPATH_GAUGE_SET("set", -3);
	HOTPATH_GAUGE_SET("set", 8u);
}

#ifndef __cplusplus
static void of_one(void)
{
	struct bits bits = { 5, -9 };
	_Bool yes = 1;
	double array[2] = { 1.5, 2.5 };
	int (*function)(void) = next_one;

	printf("%u %d\n", HOTPATH_DBG(bits.few), HOTPATH_DBG(bits.many));
	printf("%d %g\n", HOTPATH_DBG(yes), HOTPATH_DBG(array)[1]);
	printf("%d\n", HOTPATH_DBG(function)());
	printf("%d\n", HOTPATH_DBG(next_one)());
#ifdef __STDC_VERSION__
	printf("%d\n", HOTPATH_DBG((struct pair){ 3, 4 }).b);
#endif
#ifdef __SIZEOF_INT128__
	__extension__ __int128 huge = (__int128)1 << 100;
	printf("%d\n", (int)(HOTPATH_DBG(huge) >> 99));
#endif
	__extension__ _Complex double complex = 1.0;
	complex = HOTPATH_DBG(complex);
}
#else
struct counted {
	int n;
	explicit counted(int number) : n(number)
	{
	}
	void operator&() const;	/* its address must not be taken */
};

#if __cplusplus >= 201103L
#include <memory>
#include <string>
#include <utility>

struct only_moved {
	int n;
	explicit only_moved(int number) : n(number)
	{
	}
	only_moved(only_moved &&other) noexcept : n(other.n)
	{
		other.n = 0;
	}
	only_moved(const only_moved &) = delete;
	only_moved &operator=(const only_moved &) = delete;
	only_moved &operator=(only_moved &&) = delete;
};

struct stays {
	int n = 6;
	stays() = default;
	stays(const stays &) = delete;
	stays &operator=(const stays &) = delete;
};

template <class A, class B> static A first(A a, B)
{
	return a;
}

enum class scoped : unsigned char { ONE = 1, MANY = 200 };

static void of_eleven()
{
	std::string name("string");
	std::unique_ptr<int> owner(new int(4));
	stays there;
	const stays &same = HOTPATH_DBG(there);

	HOTPATH_DBG(name) += "s";
	printf("%s %d\n", name.c_str(), &same == &there);
	std::unique_ptr<int> taken = HOTPATH_DBG(std::move(owner));
	printf("%d %d\n", *taken, owner == nullptr);
	only_moved moved = HOTPATH_DBG(only_moved(9));
	printf("%d %s\n", moved.n, HOTPATH_DBG(name + "!").c_str());
	printf("%d\n", HOTPATH_DBG(first<int, long>(3, 4L)));
	printf("%d\n", static_cast<int>(HOTPATH_DBG(scoped::MANY)));
	printf("%d %d\n", HOTPATH_DBG(nullptr) == nullptr, HOTPATH_DBG(next_one)() > 0);
	auto lambda = [](int n) { return HOTPATH_DBG(n) + 1; };
	printf("%d\n", HOTPATH_DBG(lambda)(1));
	HOTPATH_VAL("name", name);
	HOTPATH_VAL("pair", first<int, int>(1, 2));
}
#endif

static void of_one(void)
{
	int n = 1;
	const int fixed = 2;
	counted object(3);

	HOTPATH_DBG(n) = 5;
	HOTPATH_DBG(n)++;
	printf("%d %d %d\n", n, HOTPATH_DBG(fixed), HOTPATH_DBG(object).n);
	printf("%d\n", HOTPATH_DBG(counted(8)).n);
#if __cplusplus >= 201103L
	of_eleven();
#endif
}
#endif

int main(void)
{
	of_both();
	of_one();
	return 0;
}
