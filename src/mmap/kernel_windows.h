/* SPDX-License-Identifier: MIT */
/*
 * kernel_windows.h - small windows that the kernel serves beside mappings of
 * ours.
 *
 * A small window whose bytes are in the page cache costs the kernel next to
 * nothing, and two copies here. It can live beside mappings of ours as long as
 * nothing is ever stored to a shared one: then all of them show the file. A
 * window of 16 KiB or more that is not in the page cache is read there as a
 * whole, with what lies around it where all of that fits; left to itself the
 * kernel would read megabytes for each.
 *
 * Programs that map piece by piece do it often, so after a number of windows
 * that were in the page cache without exception, several in a row are left to
 * the kernel with neither a lock nor a look at the cache.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Maps of single pieces. */
struct fm_file_windows {
	bool by_kernel;  /* the kernel serves windows of it too */
	unsigned cached; /* in a row */
	unsigned unsaid; /* grants used that nobody has counted yet */
	unsigned granted; /* to the kernel, of them not yet used: */
	_Atomic uint32_t grants;
	uint32_t asked, found; /* of late, those that were cached */
	uint64_t next_look; /* ns, at how much of the file is cached */
	bool bring; /* the kernel shall read more than a window */
	uint64_t tried; /* pages that it was to read before that was
			   known */
};

struct fm_file;
struct stat;

/* [plain] A mapping of ours, of len bytes, has come. Under the space lock. */
void fm_window_note(struct fm_file *f, size_t len);

/* What is to be read into the page cache, ahead of the program. */
enum fm_bring {
	FM_BRING_NOTHING,
	FM_BRING_WINDOW, /* just that */
	FM_BRING_AROUND, /* 2 MiB */
};

/* [plain] May the kernel serve [off, off + len) of f? `stores`: they may be
 * stored to and shared. *ret_bring, whoever serves it, is for
 * fm_kernel_windows_bring. Under the space lock. */
bool fm_kernel_windows_may(struct fm_file *f, bool stores, int fd,
		   const struct stat *st, off_t off, size_t len,
		   enum fm_bring *ret_bring);

/* [plain] Let the kernel read that. Without locks: what lies around a window
 * takes half a millisecond. */
void fm_kernel_windows_bring(enum fm_bring what, int fd, dev_t dev, off_t off,
			     size_t len);

/* [plain] The kernel will. Returns how many windows it has been given since
 * the last call, this one included. Under the space lock. */
unsigned fm_kernel_windows_note(struct fm_file *f);

/* [plain] A mapping of f that may be stored to is wanted: from now on every
 * window is looked at under the space lock. Whether the kernel still serves
 * one, then f must not be ours alone. Under the space lock. */
bool fm_kernel_windows_ends(struct fm_file *f, const struct stat *st);
