/* SPDX-License-Identifier: MIT */
/*
 * outside.h - files that lie outside of what a policy names.
 *
 * Where a file lies only readlink of /proc/self/fd tells, and it takes longer
 * than to map and unmap a page. A program that maps such a file over and over
 * is not asked each time: the same descriptor, which has not been closed, of
 * the same inode, whose status has not changed, is where it was. A rename
 * changes the status; a directory above may move without, and for that it is
 * asked again after 63 mappings. A file with several names is asked each time.
 * It is about who serves a mapping, never about what it shows: a file that is
 * ours is found by its inode before.
 */
#ifndef FM_OUTSIDE_H
#define FM_OUTSIDE_H

#include <stdbool.h>

struct stat;

/* [any] Has this thread found it to be outside? st: as fstat says now. */
bool fm_outside(int fd, const struct stat *st);
void fm_outside_note(int fd, const struct stat *st);

#endif
