/* SPDX-License-Identifier: MIT */
/*
 * seen_fd.h - which file a descriptor was when it was last looked at.
 *
 * A program that maps one file over and over is not asked each time what it is:
 * the same descriptor, while none has been closed, is the same file. After 63
 * mappings it is looked at again. For three questions, by each thread:
 *
 * Is it too short for the engine? Then not even fstat is asked, while the
 * engine serves nothing.
 *
 * Does it lie outside of what a policy names? Only readlink of /proc/self/fd
 * tells, and it takes longer than to map and unmap a page. Here fstat must show
 * the same status: a rename changes it, and a directory above that moves is why
 * it is asked again. A file with several names is asked each time.
 *
 * Which policy is it, of a file that the kernel serves? fstat must show the
 * same file, be it that it was opened again; it may have been written to, so a
 * rename may be missed until it is looked at again. Before the engine takes it,
 * its name is asked.
 *
 * It is about who serves a mapping, never about what it shows: a file that is
 * ours is found by its inode before.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct fm_policy;
struct fm_unserved;
struct stat;

/* [any] fd has been looked at: this is its status, and its file is the kernel's
 * and has policy p, or is too short for us (p: NULL), or lies outside (both
 * NULL). */
void fm_seen_fd_note(int fd, const struct stat *st, struct fm_unserved *l,
		     const struct fm_policy *p);
/* [any] A mapping of len bytes of it is too short, as one before: of this file;
 * or NULL: it must be looked at. */
struct fm_unserved *fm_seen_fd_short(int fd, size_t len);
/* [any] Has this thread found it to be outside? st: as fstat says now. */
bool fm_seen_fd_outside(int fd, const struct stat *st);
/* [plain] The policy that this thread found it to have, or NULL. */
const struct fm_policy *fm_seen_fd_policy(int fd, const struct stat *st);
