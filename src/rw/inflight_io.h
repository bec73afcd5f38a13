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

struct stat;

#define FM_READS_FULL 256
#define FM_WRITE_OTHER (FM_READS_FULL + 1) /* no slot, and needs none */

/* Around a read of fd. Returns a slot; FM_READS_FULL is none, which is safe
 * for a descriptor that is looked up. One that is not left is taken back when
 * its thread is gone (cancelled), not if that goes on (a jump out of a signal
 * handler). */
unsigned fm_read_enter(int fd);
void fm_read_leave(unsigned slot);
/* After fm_read_enter: may the file be one with stores? */
bool fm_reads_look(void);

/* Around a change of fd that may turn out not to concern us; enter first, then
 * look whether the file is mapped. Every slot is to be left. */
unsigned fm_write_enter(int fd);
void fm_write_leave(unsigned slot);
/* The file has just got its first mapping, which nobody knows yet: wait until
 * no write is in flight that did not see it. False: one takes long. */
bool fm_writes_wait(const struct stat *st);

/* A file can be stored to from now on. Returns whether a read of it may be in
 * flight. */
bool fm_reads_stored(const struct stat *st);
/* It is gone. */
void fm_reads_forget(void);
void fm_reads_reset(void); /* child of fork */

#endif
