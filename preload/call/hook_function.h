/* SPDX-License-Identifier: MIT */
/*
 * hook_function.h - the hooks of -finstrument-functions.
 */
#ifndef HP_PRELOAD_CALL_HOOK_FUNCTION_H
#define HP_PRELOAD_CALL_HOOK_FUNCTION_H

/* The compiler does not declare them. */
void __cyg_profile_func_enter(void *fn, void *call_site);
void __cyg_profile_func_exit(void *fn, void *call_site);

#endif
