/* SPDX-License-Identifier: MIT */
/*
 * inflight_io.h - read and write calls of the program that are not held up.
 *
 * As long as no file can be stored to through a mapping of ours, a read shows
 * what the mappings show, whatever the file: nobody needs to find out which it
 * is. When a file becomes one that is stored to, a read that began before may
 * still be filling the page cache, and a direct write that collides with it
 * leaves old data there: the file then is written back through the page cache.
 *
 * A write to a file that nobody has mapped passes as well. When the file is
 * mapped meanwhile, what we load may be older than what that write brings, and
 * nobody would drop it: the first mapping waits for writes that began before.
 *
 * [any]; all lock-free, but fm_writes_wait.
 */
#ifndef FM_INFLIGHT_IO_H
#define FM_INFLIGHT_IO_H

#include <stdbool.h>

#include "engine.h" /* what a read or write of the program does */

struct stat;

/* The file has just got its first mapping, which nobody knows yet: wait until
 * no write is in flight that did not see it. False: one takes long. */
bool fm_writes_wait(const struct stat *st);

/* A file can be stored to from now on. Returns whether a read of it may be in
 * flight. */
bool fm_reads_stored(const struct stat *st);
/* It is gone. */
void fm_reads_forget(void);

#endif
