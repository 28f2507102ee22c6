/* SPDX-License-Identifier: MIT */
/*
 * version.h - identifies our binaries and their version.
 */
#ifndef HP_SEGMENT_VERSION_H
#define HP_SEGMENT_VERSION_H

/*
 * Followed by the version and a 0 byte. A program that searches for it must not
 * contain it in one piece.
 */
#define HP_VERSION_MARK "@(#)hotpath "

extern const char hp_version_mark[];

#endif
