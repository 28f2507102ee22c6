/* SPDX-License-Identifier: MIT */
/*
 * header.c - all of include/hotpath.h, as C and as C++.  Prints its results,
 * and how often each of its blocks was entered: "calls LABEL N".
 *
 * With -DLIBRARY only the part that lives in a library; with -DPROGRAM only the
 * rest; with neither, both.
 */
#include <hotpath.h>
#include <stdio.h>

#define VISIBLE __attribute__((visibility("default")))

enum { WHOLE, TURN, INNER, PAIR, THROWN, TEMPLATE, GUARD, LABELS };

#ifdef __cplusplus
extern "C" {
#endif
VISIBLE extern int hot_result, hot_entered[LABELS];
VISIBLE int hot_scopes(int n);
VISIBLE int hot_pairs(int n);
#ifdef __cplusplus
}
#endif

#ifndef PROGRAM
int hot_result, hot_entered[LABELS];

/* Left by the end of the scope, by continue, break, goto and return. */
int hot_scopes(int n)
{
	int i, sum = 0;

	HOTPATH_NAME("scopes");
	HOTPATH_BLOCK("whole");
	hot_entered[WHOLE]++;
	for (i = 0; i < n; i++) {
		HOTPATH_BLOCK("turn");
		hot_entered[TURN]++;
		if (i == 2)
			continue;
		if (i == 7)
			break;
		{
			HOTPATH_BLOCK("inner");
			hot_entered[INNER]++;
			sum += i;
			if (i == 5 && n % 2)
				goto out;
			if (n == 1)
				return sum;
		}
		sum++;
	}
out:
	HOTPATH_RESULT(sum > 3 ? "more than three" : "less");
	hot_result = sum;
	return sum;
}

/* Control flow that no scope can follow. */
int hot_pairs(int n)
{
	int turns = 0;

	HOTPATH_BEGIN("pair");
	switch (n % 3) {
	case 0:
		hot_entered[PAIR]++;
		HOTPATH_END("pair");
		return 1;
	case 1:
		goto again;
	default:
		break;
	}
again:
	hot_entered[PAIR]++;
	turns++;
	if (turns < n % 4) {
		HOTPATH_END("pair");
		HOTPATH_BEGIN("pair");
		goto again;
	}
	HOTPATH_END("pair");
	return turns;
}
#endif

#ifndef LIBRARY
HOTPATH_DEFAULTS("percentiles=1,2 functions_limit=0");

HOTPATH_SKIP static int unseen(int n);
static int unseen(int n)
{
	return n + 1;
}

#ifdef __cplusplus
struct failure {
	int n;
};

static void may_throw(int n)
{
	HOTPATH_BLOCK("thrown");
	hot_entered[THROWN]++;
	if (n % 2)
		throw failure();
}

template <typename T> static T twice(T n)
{
	HOTPATH_BLOCK("template");
	hot_entered[TEMPLATE]++;
	return static_cast<T>(n + n);
}

static int of_cxx(void)
{
	int caught = 0;
	int i;

	for (i = 0; i < 10; i++) {
		try {
			may_throw(i);
		} catch (const failure &) {
			caught++;
		}
	}
#if __cplusplus >= 201103L
	auto lambda = [&caught](int n) {
		HOTPATH_GUARD(early, "guard");
		hot_entered[GUARD]++;
		caught += n;
		early.end();
		caught += n;
	};
	lambda(1);
	lambda(2);
#else
	caught += 6;	/* as the two calls above do */
#endif
	return caught + twice(1) + static_cast<int>(twice(2L));
}
#endif

static int before_main;

__attribute__((constructor)) static void set_up(void)
{
	HOTPATH_BLOCK("early");
	before_main++;
}

__attribute__((destructor)) static void clean_up(void)
{
	HOTPATH_BLOCK("late");
	before_main++;
}

int main(void)
{
	static const char *const labels[] = { "whole",	"turn",	    "inner", "pair",
					      "thrown", "template", "guard" };
	int i, sum = 0;

	for (i = 0; i < 12; i++) {
		sum += hot_scopes(i);
		sum += hot_pairs(i);
	}
	sum = unseen(sum);
#ifdef __cplusplus
	sum += of_cxx();
#endif
	{
		HOTPATH_BLOCK("");	/* FILE:LINE */
		printf("result %d %d %d\n", sum, hot_result, before_main);
	}
	for (i = 0; i < LABELS; i++)
		printf("calls %s %d\n", labels[i], hot_entered[i]);
	puts("calls early 1\ncalls late 1\ncalls programs/header.c 1");
	return 7;
}
#endif
