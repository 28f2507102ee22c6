/* SPDX-License-Identifier: MIT */
/*
 * module.h - which object an address belongs to.
 */
#ifndef HP_PRELOAD_THREAD_MODULE_H
#define HP_PRELOAD_THREAD_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "segment/layout/process.h"

/*
 * The module of this process that contains `address`; recorded when first
 * requested.  NULL = none (JIT code), or no room to record it.
 */
const struct hp_module *hp_module_of(uintptr_t address);

/* A module of this process with this object, of those recorded so far. NULL = none. */
const struct hp_module *hp_module_with(uint64_t object);

/* The same, also of those that were loaded with the program and are not recorded yet. */
const struct hp_module *hp_module_loaded(uint64_t object);

/* The location of the object at `address`: sets begin, end and bias of `module`. False = none. */
bool hp_module_span(uintptr_t address, struct hp_module *module);

/* Changes with every unloaded object. */
uint64_t hp_module_generation(void);

/* The process has left the segment: forgets everything recorded there. */
void hp_module_forget(void);

/* After a dlclose: marks unloaded modules and forgets their functions. */
void hp_module_sweep(void);

/* The object at `address` has run its last destructor inside dlclose, and is about to be unmapped. */
void hp_module_leaves(uintptr_t address);

#endif
