/* SPDX-License-Identifier: MIT */
/*
 * demangle.h - names as files have them, and as people read them.
 */
#ifndef HP_REPORT_ELF_DEMANGLE_H
#define HP_REPORT_ELF_DEMANGLE_H

#include <stdbool.h>

/* Behind the name of the function that a stub calls (symbol_plt.h). */
#define HP_SYMBOL_PLT "@plt"

/* True if a symbol's name is a stub's. */
bool hp_symbol_is_plt(const char *name);

/* A fresh copy, demangled. */
char *hp_name_demangled(const char *name);

/* The same without control characters. */
char *hp_name_readable(const char *name);

/*
 * A fresh copy; what gcc makes of a coroutine is called by the coroutine, and by what is made: [clone .actor]
 * runs it, [clone .destroy] ends it.
 */
char *hp_name_of_coroutine(const char *name);

#endif
