/* SPDX-License-Identifier: MIT */
/*
 * take_trap.h - memory that takes the place of the kernel's mapping in one step
 * for all other threads.
 *
 * Memory that is laid down anew is for a moment not registered with
 * userfaultfd, and who touches it then reads zeros; mremap takes a registration
 * away. So the memory is made elsewhere, and each of its pages is poisoned
 * (UFFDIO_POISON, Linux 6.6): a touch raises SIGBUS, registered or not. Such
 * pages move with mremap, which puts them over the kernel's mapping in one
 * step. Registered there they are dropped: from then on they are missing pages
 * like any other. Who has touched one waits for the file, which is frozen.
 *
 * For signal delivery: where threads serve the faults a poisoned page would
 * fail the program's access, and a system call's.
 */
#ifndef FM_TAKE_TRAP_H
#define FM_TAKE_TRAP_H

#include <stddef.h>
#include <stdint.h>

struct fm_trap {
	char *at; /* NULL: none, or it has been laid */
	size_t len;
};

/* [plain] For len bytes at `for_addr` with that protection: 40 us a MiB. 0 or
 * -errno. */
int fm_trap_make(struct fm_trap *t, uintptr_t for_addr, size_t len, int prot);
void fm_trap_free(struct fm_trap *t);
/* [plain] Under the space lock: over what is mapped there. 0; or -errno: what
 * was there may be gone. */
int fm_trap_lay(struct fm_trap *t, uintptr_t to);

#endif
