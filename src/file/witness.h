/* SPDX-License-Identifier: MIT */
/*
 * witness.h - writes that do not make a file longer.
 *
 * Another process may cut a file at any time: between our look at its size and
 * our write, or while the write waits for the lock of the file behind him. The
 * write would then make the file longer again, and bring old bytes back. Stores
 * through the kernel's mapping do not, but each page would be read first.
 *
 * So a write takes its first bytes from elsewhere: a page of a private mapping
 * of the file, as near to its end as can be, that has been stored to (the
 * witness). What the kernel does when it cuts a file takes such copies away,
 * too, where the file ends before them. The write looks at its bytes under the
 * lock of the file, finds that page gone, and fails with EFAULT.
 *
 * The last page of the file has no witness behind it. It is stored to through a
 * mapping. So is, of files that the page cache has for good, all of it where a
 * witness is of no use: ext4 from Linux 6.15 on moves the end of the file to
 * where a write through the page cache was to begin, though it fails.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fm_file;
struct fm_io;

/* [fault] Would a call for io say -EAGAIN? Who has many to ask for asks this
 * first: it costs nothing. */
bool fm_witness_busy(const struct fm_io *io);
/* [fault] The write io, which is not under way, shall not make its file longer.
 * 0; -EAGAIN: not now, others are at it; -EFAULT: the file ends before; or
 * -errno: cannot be had here, or of this page. All signals are blocked. */
int fm_witness_call(struct fm_io *io);
/* [fault] It has ended. False: the file was cut meanwhile, or may have been:
 * what was written is not sure. */
bool fm_witness_heard(struct fm_io *io);
/* [fault] Store len bytes at off, which lie in f, through the kernel's mapping
 * of it, which reads their pages first: they never make the file longer. How
 * many, -EFAULT: the file ends before, or -errno: cannot be had here. All
 * signals are blocked. */
long fm_witness_store(struct fm_file *f, uint64_t off, const void *buf,
		      uint64_t len);
