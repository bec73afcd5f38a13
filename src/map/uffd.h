/* SPDX-License-Identifier: MIT */
/*
 * uffd.h - userfaultfd: open, register, fill, protect, move, drop.
 *
 * All [fault], unless it says more; an int is 0 or -errno. Addresses and
 * lengths are page multiples. They retry EAGAIN (mmap_changing) themselves.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/reason.h"

struct fm_uffd_caps {
	bool user_only;   /* opened with UFFD_USER_MODE_ONLY */
	bool device;      /* opened through /dev/userfaultfd */
	bool move;        /* UFFDIO_MOVE */
	bool batch_drop;  /* process_madvise(MADV_DONTNEED) on self */
	/* Memory that mremap moves stays registered, and whoever moves it waits
	 * until a handler thread has read of it: fm_uffd_mremap. */
	bool remap;
	uint64_t features;
	const char *failed; /* step that failed, for the message */
};

/* [plain] Open for signal delivery (UFFD_FEATURE_SIGBUS) or for handler
 * threads. caps.remap is asked for by who sets it before. */
int fm_uffd_open(bool signal, struct fm_uffd_caps *ret_caps);
/* Its number, or -1. */
int fm_uffd_fd(void);
void fm_uffd_set_fd(int fd);
/* The number, which was `was`, is not ours any more. True: there is another
 * one. */
bool fm_uffd_lost(int was);
const struct fm_uffd_caps *fm_uffd_caps(void);

/* [plain] Who opens it says how its faults are delivered (fm_delivery in
 * engine.h), and why: for statistics and doctor. */
void fm_delivery_set(enum fm_delivery how, const char *why);
const char *fm_delivery_why(void);

/* [plain] What the kernel is told of memory that may be used by prot. */
int fm_uffd_vma_prot(int prot, size_t len);

/* [plain] Register, for missing pages and write protection. */
int fm_uffd_register(void *addr, size_t len);
int fm_uffd_unregister(void *addr, size_t len);
/* [plain] mremap(2) of registered memory: the new address, or -errno. All
 * handler threads may wait for something that the caller holds: then one more
 * thread reads, while fm_uffd_moving is not 0 (a futex). */
void *fm_uffd_mremap(uintptr_t from, size_t old_len, size_t new_len, int flags,
		     uintptr_t to);
extern _Atomic uint32_t fm_uffd_moving;
/* [plain] Before mremap(2) of memory that nobody may touch: nobody has to be
 * waited for. */
void fm_uffd_moves_bare(void *addr, size_t len);
/* [plain] Let all who wait for a fault try their access again. */
void fm_uffd_wake_all(void);
/* Register memory that pages are moved to and from, and in which none is
 * protected. */
int fm_uffd_register_moves(void *addr, size_t len);
/* [any] Register, and keep out of children of fork, core dumps, and huge pages
 * of the kernel's own making. */
int fm_uffd_lay(void *addr, size_t len);
/* [any] Like fm_uffd_lay, for memory that has been moved there with pages in
 * it: the next store to each page will be seen. */
int fm_uffd_take_in(void *addr, size_t len);

/* Fill missing pages. Bytes filled: fewer than len when a later page failed,
 * -errno when the first did (EEXIST: it is there already). */
long fm_uffd_copy(void *dst, const void *src, size_t len, bool protect);
/* Turn write protection on or off. */
int fm_uffd_protect(void *addr, size_t len, bool on);
/* Is all of this memory registered still? An instruction of the program's own
 * may have put something else there. By one call, unless it is in parts. */
bool fm_uffd_has(const void *addr, size_t len);
/* How often write protection has been turned on, or is about to be. */
uint64_t fm_uffd_protects(void);
/* Move present pages; both ends registered or plain anonymous, writable.
 * -EXDEV: some may have moved, which ones is not known. */
int fm_uffd_move(void *dst, void *src, size_t len);
int fm_uffd_wake(void *addr, size_t len);
/* [plain] Who touches the missing pages gets SIGBUS, or EFAULT, until they are
 * dropped. Linux 6.6; -EOPNOTSUPP before. */
int fm_uffd_poison(void *addr, size_t len);
bool fm_uffd_poisons(void);

/* Unmap pages; the next touch faults. Vectored: one TLB flush for the batch
 * where the kernel can. n <= FM_DROP_MAX. */
#define FM_DROP_MAX 512 /* size: pages */
struct iovec;
int fm_uffd_drop(void *addr, size_t len);
void fm_uffd_dropv(const struct iovec *iov, int n);
/* MADV_FREE: the kernel may take these pages at any time, and then they are
 * missing. */
void fm_uffd_freev(const struct iovec *iov, int n);
