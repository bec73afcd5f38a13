/* SPDX-License-Identifier: MIT */
/*
 * inplace_update.h - new bytes of a file go into pages that are mapped, in
 * place.
 *
 * Who writes a page that is mapped mostly looks at it next (LMDB, SQLite). To
 * drop our copy and install a new one takes two flushes of TLBs, which
 * interrupt every thread of the program. Pages that nobody can store to need
 * neither: where the memory is readable only, to the kernel as well, the pages
 * stand bare, without userfaultfd's write protection, and are written through
 * /proc/self/mem, which may write what the program may not (FOLL_FORCE,
 * mm/gup.c). A reader sees the bytes change under it, as it does with the
 * kernel's mapping.
 *
 * Before a store is allowed to such memory its pages are protected again
 * (fm_mprotect_first). By signal delivery only: a kernel's access to a
 * protected page must fail, not wait for a handler.
 */
#pragma once

#include <sys/mman.h>

#include "map/map.h"

/* Under the space lock, when the engine starts, and not when it is needed: what
 * is opened is the lowest free number for a moment, on which the program may
 * rely by then. Where the kernel does not let us, all of this is off. */
/* [any] Can this thread change pages in place now? One system call or two. */
bool fm_inplace_on(void);
/* [any] n pages of m from i on, resident, clean and locked, are to hold what is
 * at src. False: they may hold anything, drop them. */
bool fm_rewrite(struct fm_map *m, uint64_t i, const void *src, uint64_t n);
/* [fault] Is m one (fm_map_readonly) that could be rewritten in place, if 2 MiB
 * frames did not move in there? */
static inline bool fm_inplace_loose(const struct fm_map *m)
{
	return m->shared && !atomic_load(&m->vma_prot) &&
	       atomic_load(&m->prot) == PROT_READ;
}
/* [any] The memory of f's mappings that the program may only read becomes
 * readable only to the kernel, too: no 2 MiB frames move there any more. Takes
 * the space lock. */
void fm_inplace_tighten(struct fm_file *f);
