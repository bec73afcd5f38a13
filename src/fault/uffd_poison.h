/* SPDX-License-Identifier: MIT */
/*
 * uffd_poison.h - thread delivery: an access that must fail, fails.
 *
 * A handler thread can fill a page, or leave whoever wants it waiting. Where
 * the page cannot be had (I/O error, a server that is gone) the kernel's own
 * mapping can say so, if the file can still be opened and what is dirty
 * written. If not, the page is made one that raises SIGBUS (EFAULT to the
 * kernel) by UFFDIO_POISON, and is missing again a moment later, for natively
 * each access tries anew; before Linux 6.6 a page of an empty file lies there,
 * for good.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fm_file;
struct fm_map;

/* [plain] The access to the page at a of f, which waits, fails when it is
 * woken; unless the page has come meanwhile. */
void fm_fail_access(struct fm_file *f, uintptr_t a);

/* [plain] Like fm_fail_access, for a page of m whose lock another handler has,
 * which waits for what the access holds. 0, or -errno: the page is not missing,
 * or the kernel cannot. In an epoch. */
int fm_poison_deadlock(struct fm_map *m, uintptr_t a);

/* [plain] Are there pages that fail? */
bool fm_failing(void);
/* [plain] Pages that have failed for long enough are missing again; `now`: all
 * of them. */
void fm_poison_tick(bool now);
