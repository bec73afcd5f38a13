/* SPDX-License-Identifier: MIT */
/*
 * promote_trap.h - memory that takes the place of the kernel's mapping in one
 * step for all other threads.
 *
 * Memory that is laid down anew is for a moment not registered with
 * userfaultfd, and who touches it then reads zeros. So the memory is made
 * elsewhere, and mremap puts it over the kernel's mapping in one step. Who has
 * touched it waits for the file, which is frozen.
 *
 * Signal delivery: mremap takes the registration away. So each page is poisoned
 * before (UFFDIO_POISON, Linux 6.6): a touch raises SIGBUS, registered or not.
 * Such pages move with mremap. Registered there they are dropped: from then on
 * they are missing pages like any other.
 *
 * Thread delivery: a poisoned page would fail the program's access, and a
 * system call's. There the registration moves along (UFFD_FEATURE_EVENT_REMAP),
 * and a touch is a fault like any other from the first instant.
 *
 * The kernel's mapping is kept beside it, as a second view of the same (mremap
 * of nothing): the way back needs no process, no memory and no name of the
 * file.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct fm_vma_room;

struct fm_trap {
	char *at; /* NULL: none, or it has been laid */
	char *kept; /* what it takes the place of; NULL: not kept */
	size_t len;
};

/* [plain] For len bytes at `for_addr` with that protection: 40 us a MiB. 0 or
 * -errno. */
int fm_trap_make(struct fm_trap *t, uintptr_t for_addr, size_t len, int prot);
void fm_trap_free(struct fm_trap *t);
/* [plain] Under the space lock: keep what the kernel has mapped there, shared
 * and not locked. 0 or -errno. */
int fm_trap_keep(struct fm_trap *t, uintptr_t from);
/* [plain] Under the space lock: over what is mapped there. 0; or -errno: what
 * was there may be gone. */
int fm_trap_lay(struct fm_trap *t, uintptr_t to);
/* [plain] Under the space lock: what has been kept is there again, with the
 * help of `room`, or after some seconds. 0 or -errno. */
int fm_trap_back(struct fm_trap *t, uintptr_t to, struct fm_vma_room *room);
