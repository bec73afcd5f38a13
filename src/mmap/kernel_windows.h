/* SPDX-License-Identifier: MIT */
/*
 * kernel_windows.h - small windows that the kernel serves beside mappings of
 * ours.
 *
 * A small window whose bytes are in the page cache costs the kernel next to
 * nothing, and two copies here. It can live beside mappings of ours as long as
 * nothing is ever stored to a shared one: then all of them show the file.
 *
 * Programs that map piece by piece do it often, so after a number of windows
 * that were in the page cache without exception, several in a row are left to
 * the kernel with neither a lock nor a look at the cache.
 */
#ifndef FM_KERNEL_WINDOWS_H
#define FM_KERNEL_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct fm_file;
struct stat;

/* [plain] A mapping of ours, of len bytes, has come. Under the space lock. */
void fm_window_note(struct fm_file *f, size_t len);

/* [plain] May the kernel serve [off, off + len) of f? `stores`: they may be
 * stored to and shared. *ret_bring: it may not, but fm_kernel_windows_bring is
 * worth its while. Under the space lock. */
bool fm_kernel_windows_may(struct fm_file *f, bool stores, int fd,
		   const struct stat *st, off_t off, size_t len,
		   bool *ret_bring);

/* [plain] Let the kernel read what lies around the window. Without locks: takes
 * half a millisecond. */
void fm_kernel_windows_bring(int fd, off_t off, size_t len);

/* [plain] The kernel will. Returns how many windows it has been given since
 * the last call, this one included. Under the space lock. */
unsigned fm_kernel_windows_note(struct fm_file *f);

/* [plain] A mapping of f that may be stored to is wanted: from now on every
 * window is looked at under the space lock. Whether the kernel still serves
 * one, then f must not be ours alone. Under the space lock. */
bool fm_kernel_windows_ends(struct fm_file *f, const struct stat *st);

#endif
