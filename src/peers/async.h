/* SPDX-License-Identifier: MIT */
/*
 * async.h - files that the program may read and write by io_uring or libaio.
 *
 * What goes through a ring nobody sees: it changes a file under its mapping,
 * and reads it without what has been stored. It can only be a file that the
 * program has open. So from its first ring or context on, the kernel serves
 *  - a file that may be stored to by a mapping, and is open or is opened,
 *  - a file that is only read by mappings, and is open or is opened for
 *    writing.
 * Files whose descriptors are closed, and those that are only read, stay ours:
 * rings are made for sockets, too.
 */
#pragma once

#include <stdbool.h>

struct stat;

/* [plain] Should the kernel serve a mapping by this descriptor? `stores`: it
 * may be stored to by the mapping; `flags`: what the descriptor was opened
 * with. Under the space lock. */
bool fm_async_wants(const struct stat *st, bool stores, int flags);
