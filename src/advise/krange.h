/* SPDX-License-Identifier: MIT */
/*
 * krange.h - ranges of the address space where the kernel serves a file that a
 * policy names.
 *
 * They are what we may advise, and what the engine may promote. Entered where
 * mmap leaves a mapping to the kernel, and where a file is handed to it; cut by
 * whatever takes them away again (shim/mm.c). While there is none, a hook asks
 * one counter.
 *
 * A call of the program that takes ranges away marks them first (krange_edit.c)
 * and cuts them when the kernel has done it: meanwhile they are neither advised
 * nor promoted, for the address may be somebody else's a moment later. Who
 * promotes publishes its mapping first and looks for marks then; the hooks
 * mark first and look for managed memory then: one of the two sees the other.
 *
 * What is not seen (system calls within libc, clone(2) by number) leaves
 * entries behind: who does more than advise asks /proc/self/maps, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/reason.h"
#include "base/up.h"

struct fm_policy;

/* More are not entered (fm_krange_complete). */
#define FM_KRANGES 4096

/* As what the program has `said`: of its parts this and that. */
#define FM_SAID_SEVERAL 0xff /* size: no advice */

struct fm_krange {
	uintptr_t start, end;
	dev_t dev;
	ino_t ino;
	uint64_t pgoff;
	/* bytes of the file that are no holes, when it was mapped;
	 * UINT64_MAX: not known */
	uint64_t written;
	const struct fm_policy *policy;
	uint64_t since_ms;
	/* pieces of one entry share it; given by fm_krange_add */
	uint32_t id;
	uint32_t edit; /* a call that takes it away is under way */
	/* another number each time that what we had said of a part of it has
	 * been undone: what advises says all of it anew then */
	uint32_t undone;
	int fd;        /* by which it was mapped; may be another's by now */
	enum fm_server_reason why;
	uint8_t prot;
	uint8_t said;  /* MADV_ advice of the program: stands */
	bool shared, maywrite;
	bool handed;   /* laid by a demotion, not by mmap */
	bool advised;  /* we have: its VMA may be split */
	bool huge;     /* and by MADV_HUGEPAGE, which has no neutral opposite */
	bool says_huge; /* the program has: MADV_HUGEPAGE */
	bool nofork;   /* MADV_DONTFORK */
	bool kept;     /* locked, sealed, with a key: never to be promoted */
	bool locked;   /* by the program: kept, too */
	bool pinned;   /* by fastmap_pin: locked by us, each page as it comes */
};

/* [any] What was there before is forgotten. id, since_ms and edit are given to
 * it. */
void fm_krange_add(const struct fm_krange *r);
/* [any] It is new, and may be advised, or is to be recorded. */
FM_UPCALL(void, krange_added, const struct fm_krange *r);
/* [any] The engine serves [start, end) from now on, or nobody does. */
void fm_krange_forget(uintptr_t start, uintptr_t end);

/* [any] Copies of those of a file in order of address; NULL: of all. Returns
 * how many have been copied: of more, the first `room`. */
struct fm_file_id {
	dev_t dev;
	ino_t ino;
};
unsigned fm_krange_list(const struct fm_file_id *file, struct fm_krange *ret,
			unsigned room);
/* [any] The same, all of them, in memory for fm_free. 0; -ENOMEM; -EAGAIN:
 * there were more each time that it was tried. */
struct fm_krange_all {
	struct fm_krange *at;
	unsigned n;
};
int fm_krange_all(const struct fm_file_id *file, struct fm_krange_all *ret);
/* [any] Of all of them, together; of those that are pinned, but for what lies
 * in [start, end). */
uint64_t fm_krange_bytes(void);
/* [any] What may be in use of that: of each file once, and no holes. */
uint64_t fm_krange_in_use(void);
uint64_t fm_krange_pinned_beside(uintptr_t start, uintptr_t end);
/* [any] What the kernel serves in [start, end) is pinned, or not any more: 0;
 * -ENOMEM or -EPERM: more may not be locked (RLIMIT_MEMLOCK), or lies in too
 * many pieces. Under the space lock: it is not promoted meanwhile. */
int fm_krange_pin(uintptr_t start, uintptr_t end, bool pin);
/* [any] The first that lies in [start, end), or reaches into it. */
bool fm_krange_first(uintptr_t start, uintptr_t end, struct fm_krange *ret);
/* [any] Moves whenever the table is another. */
uint32_t fm_krange_changes(void);
/* [any] Every mapping of the kernel's that it was told of is in the table. No
 * longer so when it was full once, or when a call failed in the middle. */
bool fm_krange_complete(void);

/* [any] May it be advised, by its policy and the program? */
bool fm_krange_may_advise(const struct fm_krange *r);
/* [any] Those of all files in a process that is dead: without a lock. */
unsigned fm_krange_list_dead(struct fm_krange *ret, unsigned room);

/* [any] Is all of [start, end) still that entry's, to be advised, and nobody
 * about to take it away? */
bool fm_krange_has(uint32_t id, uintptr_t start, uintptr_t end);

/* [any] Advise [start, end), if all of it still is that entry's, nobody is
 * about to take it away and the program has said nothing of it: madvise(2)'s
 * result, or -ESTALE. Only what does not wait for a device: the program's
 * munmap waits for it. */
int fm_krange_advise(uint32_t id, uintptr_t start, uintptr_t end, int advice);
/* [any] Lay another view of the page, which is shared, over the one at `at`, if
 * it still is that entry's, as above: mremap(2)'s result, or -ESTALE. */
int fm_krange_view(uint32_t id, uintptr_t page, void *at);
