/* SPDX-License-Identifier: MIT */
/*
 * demangle.h - turn symbol names into readable names.
 */
#ifndef HP_REPORT_ELF_DEMANGLE_H
#define HP_REPORT_ELF_DEMANGLE_H

#include <stdbool.h>

/* Suffix of a stub, after the name of the function that it calls (symbol_plt.h). */
#define HP_SYMBOL_PLT "@plt"

/* True if a symbol's name is a stub's. */
bool hp_symbol_is_plt(const char *name);

/* A fresh copy, demangled. */
char *hp_name_demangled(const char *name);

/* The same without control characters. */
char *hp_name_readable(const char *name);

/*
 * A fresh copy. Parts that gcc makes of a coroutine get the coroutine's name
 * and a suffix: [clone .actor] runs it, [clone .destroy] ends it.
 */
char *hp_name_of_coroutine(const char *name);

#endif
