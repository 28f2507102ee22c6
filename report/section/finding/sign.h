/* SPDX-License-Identifier: MIT */
/*
 * sign.h - functions of libraries and of the kernel that show the kind of work.
 */
#ifndef HP_REPORT_SECTION_FINDING_SIGN_H
#define HP_REPORT_SECTION_FINDING_SIGN_H

#include <stdbool.h>
#include <stdint.h>

enum hp_sign {
	HP_SIGN_FIND, /* a search through a container, element by element */
	HP_SIGN_SORT, /* a sort, with the comparisons that it calls back */
	HP_SIGN_KEY, /* a container with keys: a look-up there is no search */
	HP_SIGN_MOVE, /* elements are moved: erase and insert in the middle of a vector */
	HP_SIGN_COMPARE, /* strcmp, memcmp */
	HP_SIGN_LENGTH, /* a string is read to its end */
	HP_SIGN_COPY, /* memcpy, memmove */
	HP_SIGN_FORMAT, /* numbers and texts are formatted into a string */
	HP_SIGN_COPIED, /* a string or container is made from another one */
	HP_SIGN_VALUE, /* a constructor or destructor of the program, for its caller */
	HP_SIGN_GROW, /* a vector takes larger room, and moves or copies its elements there */
	HP_SIGN_JOIN, /* operator+ of strings, which copies both into a new one */
	HP_SIGN_ALLOC, /* malloc, free */
	HP_SIGN_BUILD, /* below a function that makes a new block and fills it: strdup, or of C++'s library */
	HP_SIGN_YIELD, /* sched_yield */
	HP_SIGN_LOCK, /* a lock that another thread has: the kernel puts to sleep and wakes up */
	HP_SIGN_FAULT, /* page faults */
	HP_SIGN_FILE, /* read, write and similar calls, */
	HP_SIGN_WRITE, /* of them, those that write */
	HP_SIGN_SOCKET, /* the same on sockets */
	HP_SIGN_DATA, /* the kernel copies the data of a call */
	HP_SIGN_CALL, /* the innermost function is each call's fixed cost */
	HP_SIGN_OPEN, /* files are opened, */
	HP_SIGN_CLOSE, /* and closed */
	HP_SIGN_SYNC, /* fsync */
	HP_SIGN_START, /* fork, exec, exit */
	HP_SIGN_THROW, /* a C++ exception is made, thrown or caught */
	HP_SIGN_CLEAR, /* memset, calloc */
	HP_SIGN_CONNECT, /* a connection is made */
	HP_SIGNS
};

#define HP_SIGN_BIT(mark) (UINT32_C(1) << (mark))

/* Marks of a function by its short name, as bits. */
uint32_t hp_signs_of_library(const char *name);

/* The same for the kernel's functions. */
uint32_t hp_signs_of_kernel(const char *name);

/* "Zone::Zone", "Zone::~Zone": a constructor or a destructor, by its short name. */
bool hp_sign_is_value(const char *name);

/* HP_SIGN_CALL, for an innermost function. */
uint32_t hp_signs_of_call(const char *name);

#endif
