/* SPDX-License-Identifier: MIT */
/*
 * confine.c - see confine.h.
 */
#include "preload/guest/confine.h"

_Atomic uint32_t hp_confined;
