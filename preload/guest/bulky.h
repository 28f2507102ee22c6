/* SPDX-License-Identifier: MIT */
/*
 * bulky.h - large variables of which most processes use little or nothing.
 *
 * The linker sorts sections by name (Makefile), so these come behind all other variables. Those
 * then share a few pages, instead of one page each between the arrays: each page that a process
 * touches costs it a page fault.
 */
#ifndef HP_PRELOAD_GUEST_BULKY_H
#define HP_PRELOAD_GUEST_BULKY_H

#define HP_BULKY __attribute__((section(".bss.z_bulky")))
#define HP_BULKY_DATA __attribute__((section(".data.z_bulky")))	/* not zero at first */
#define HP_SCRATCH __attribute__((section(".bss.y_scratch")))	/* used by a start, in part */

#endif
