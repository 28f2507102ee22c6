/* SPDX-License-Identifier: MIT */
/*
 * version.h - how a file of ours is told to be one, and of which version.
 */
#ifndef HP_SEGMENT_VERSION_H
#define HP_SEGMENT_VERSION_H

/* Followed by the version and a 0 byte; whoever searches for it must not hold it in one piece. */
#define HP_VERSION_MARK "@(#)hotpath "

extern const char hp_version_mark[];

#endif
