/* SPDX-License-Identifier: MIT */
/*
 * window_pool.h - memory for small windows, laid down and registered ahead.
 *
 * A program that maps a page, looks at it and unmaps it pays for five system
 * calls of ours each time: mmap, userfaultfd's registration and three advices.
 * Instead 2 MiB are laid down at once and windows are cut from them. munmap
 * unmaps a window for good, so what the program has unmapped is free, as it is
 * natively; only what has not been cut yet is there although the program has
 * not asked for it, and goes as soon as the program means it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* [plain] Under the space lock. len bytes (a multiple of a page) with
 * protection prot, registered, never touched. NULL: lay it down as any
 * other. */
void *fm_window_cut(size_t len, int prot);

/* [fault] The program accesses or means [addr, addr + len). What has not been
 * cut and lies there is unmapped, with what is left around it. True if
 * anything was. */
bool fm_window_avoid(uintptr_t addr, size_t len);

/* [any] Unmap all that has not been cut. */
void fm_window_drop(void);
