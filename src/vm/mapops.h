/* SPDX-License-Identifier: MIT */
/*
 * mapops.h - operations on ranges of the address space, internal side. All
 * [any], under the space lock, unless it says more.
 */
#pragma once

#include "base/types.h"
#include "base/up.h"
#include "fault/fault.h"
#include "file/file.h"

int fm_munmap_locked(uintptr_t a, size_t len);
/* NULL, or what each mapping needs before mprotect lets it be stored to. */
extern fm_map_fn fm_mprotect_first;

/* msync.c, without the space lock: write back most of what is dirty in the
 * range, so that what follows does not keep the lock from others for long. */
void fm_write_before(uintptr_t start, uintptr_t end);
/* Likewise before mremap, if it will have to move the range, since something
 * lies behind it. */
void fm_write_before_growth(uintptr_t start, uintptr_t end);
/* demote.c: from now on `to` serves all mappings of f, if there are any
 * (file/server.h). 0; -errno: all stays as it is, which is said once a file. */
int fm_server_change(struct fm_file *f, enum fm_server to,
		     enum fm_server_reason why);
/* Could f come back, after it has been demoted for this reason? */
bool fm_demote_may_return(struct fm_file *f, enum fm_server_reason why);
/* [any] MADV_REMOVE of [start, end), some of which is ours. 0 or -errno. */
FM_UPCALL(int, madvise_remove, uintptr_t start, uintptr_t end);
/* [plain] Under the space lock: makes the engine the server again. */
FM_UPCALL(int, server_to_engine, struct fm_file *f, enum fm_server_reason why);
/* The process ends: what is demoted now is not going to be used. */
extern _Atomic bool fm_demote_ends;
/* Say, once a file, that f could not be demoted. */
void fm_say_not_demoted(struct fm_file *f, enum fm_server_reason why, int err);
/* [plain] Without the space lock: demote the file with this path, or all (""),
 * until it is promoted. Returns how many are the kernel's by then. */
unsigned fm_demote_now(const char *path);
/* A test for fm_demote_where: nothing of f is mapped privately. */
bool fm_only_shared(struct fm_file *f, uint64_t arg);
/* How often files have been demoted, or parts of them: it changes under the
 * space lock, when that is done. */
unsigned fm_demote_count(void);
/* Demote every file of which `which` is true (NULL: all). 0 or the first
 * -errno. */
int fm_demote_where(bool (*which)(struct fm_file *f, uint64_t arg),
		    uint64_t arg, enum fm_server_reason why);
/* Lay the kernel's mapping over m, whose pages nobody can touch meanwhile. 0 or
 * -errno. */
int fm_demote_lay(struct fm_file *f, struct fm_map *m);
/* Returns when the faults that are under way in m have ended. */
void fm_pass_through(struct fm_map *m);
/* parted.c, without the space lock and an epoch: has the calling thread left
 * the table of descriptors, unseen? Then what is mapped is the kernel's when
 * this returns, or after some seconds. */
void fm_parted_look(void);
/* Map a range of a file by the kernel, in a process of its own: apart.h. */
struct fm_kmap {
	void *addr;
	size_t len;
	int prot, flags;
	off_t off;
	bool write;     /* open for writing, mprotect(PROT_WRITE) stays legal */
	int fd;         /* the program's, if it still is that file */
};
int fm_kernel_map(struct fm_file *f, const struct fm_kmap *k);
/* All of them, in one such process. 0; or -errno, and *ret_n have been laid.
 * With `room` none may be missing once one is laid: what it takes is had before
 * the first, and for the others there are mappings in there and some
 * seconds. */
struct fm_vma_room;
int fm_kernel_map_all(struct fm_file *f, const struct fm_kmap *maps, size_t n,
		      struct fm_vma_room *room, size_t *ret_n);
/* What has been mapped elsewhere moves over what is at `to` (room: NULL, or as
 * above). 0 or -errno. */
int fm_kmap_move(char *from, char *to, size_t len, struct fm_vma_room *room);
struct fm_kmap fm_kmap_of(struct fm_map *m); /* what is to be laid over m */
/* k has been laid over a mapping of f: from now on it may be advised
 * (advise/krange.h). */
void fm_kmap_laid(struct fm_file *f, const struct fm_kmap *k);
/* demote_private.c: what the kernel is to have in the place of a private
 * mapping, with the pages that are the program's own: made elsewhere, then laid
 * (room: NULL, or as above), or forgotten. A move that failed has forgotten. */
#define FM_UNBACKED 64 /* size: pages, see demote_private.c */
struct fm_own {
	char *base; /* NULL: there is none */
	int prot;
	uint64_t unbacked[FM_UNBACKED]; /* pages, ascending */
	unsigned n;
	int err;
};
int fm_own_make(struct fm_file *f, struct fm_map *m, struct fm_own *ret);
int fm_own_lay(struct fm_own *own, struct fm_map *m, struct fm_vma_room *room);
void fm_own_forget(struct fm_own *own, struct fm_map *m);

/* Before the shared mappings of f are laid one by one, and after it: what the
 * program has as one mapping is one. */
struct fm_pieces {
	struct fm_kmap *v;
	size_t n;
};
void fm_pieces_note(struct fm_file *f, struct fm_pieces *ret);
void fm_pieces_join(struct fm_file *f, struct fm_pieces *p, bool laid);

/* mlockall(MCL_FUTURE) is in force, new memory cannot be ours; it is from now
 * on, or no longer. */
bool fm_memory_locked(void);
void fm_memory_lock(bool yes);
/* fm_memory_locked, also of a call that was hidden from us: by a look at new
 * memory. */
bool fm_memory_look(void);
