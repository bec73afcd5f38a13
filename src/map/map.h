/* SPDX-License-Identifier: MIT */
/*
 * map.h - mapping objects: table, mode bytes, list per file.
 *
 * Objects are immutable for readers but for their end (a split shortens it,
 * mremap may lengthen it) and protection. All writers hold the space lock;
 * readers hold an epoch.
 */
#pragma once

#include <sys/mman.h>

#include "base/types.h"
#include "base/up.h"
#include "vma_advice.h"

/* Mode bytes of what one mmap call created; pieces of it share them. */
struct fm_modes {
	_Atomic bool own;          /* a page has been the program's own copy */
	/* a page may be without write protection, see inplace_update.h */
	_Atomic bool bare;
	_Atomic uint32_t refs;
	uint64_t pages;
	/* by pieces; the rest is to grow. Under the space lock */
	uint64_t used;
	size_t bytes;              /* of the whole allocation */
	_Atomic uint8_t *touched;  /* one byte per group: look inside */
	_Atomic uint8_t *mode;
	struct fm_said said;       /* under the space lock */
	uint32_t live, nghosts;    /* under the space lock */
	struct fm_map *ghosts;
};

/* Objects that have been in the tables, ever. */
extern _Atomic uint32_t fm_maps_entered;

static inline uint64_t fm_map_pages(const struct fm_map *m)
{
	return (atomic_load(&m->end) - atomic_load(&m->start)) >>
	       FM_PAGE_SHIFT;
}

/* One of many small windows on a file that is read through the page cache? */
#define FM_SMALL_WINDOW ((size_t)256 << 10)

static inline bool fm_map_is_window(const struct fm_map *m)
{
	return atomic_load_explicit(&m->file->by_pieces,
				    memory_order_relaxed) &&
	       fm_map_pages(m) <= FM_SMALL_WINDOW >> FM_PAGE_SHIFT;
}

static inline void *fm_map_addr(const struct fm_map *m, uint64_t i)
{
	return (void *)(atomic_load_explicit(&m->start, memory_order_relaxed) +
			(i << FM_PAGE_SHIFT));
}

/* [fault] No page of the group was touched yet, by any mapping that shares
 * these mode bytes. */
void fm_map_touch_group(struct fm_map *m, uint64_t group);

/* [fault] Before the first look at a mode byte under its page lock, so that
 * whoever clears the radix, or shuts the file, first and scans after sees the
 * page. */
static inline void fm_map_touch(struct fm_map *m, uint64_t i)
{
	uint64_t group = (m->mbase + i) >> FM_TOUCH_SHIFT;

	if (!atomic_load_explicit(&m->modes->touched[group],
				  memory_order_acquire))
		fm_map_touch_group(m, group);
}

static inline uint8_t fm_mode(struct fm_map *m, uint64_t i)
{
	return atomic_load_explicit(&m->mode[i], memory_order_relaxed);
}

static inline void fm_mode_set(struct fm_map *m, uint64_t i, uint8_t mode)
{
	atomic_store_explicit(&m->mode[i], mode, memory_order_release);
}

/* [fault] A page may be lazy (cache/lazyfree.h): the kernel may take it. Is it
 * resident, and will it stay so while its lock is held? */
static inline bool fm_mode_resident(uint8_t mode)
{
	return (mode & (PM_PRESENT | PM_LAZY)) == PM_PRESENT;
}

static inline bool fm_mode_lazy(uint8_t mode)
{
	return (mode & (PM_PRESENT | PM_LAZY)) == (PM_PRESENT | PM_LAZY);
}

/* [fault] Does a page with this mode count as one of the cache? */
static inline bool fm_mode_charged(uint8_t mode)
{
	return fm_mode_resident(mode) && !(mode & PM_COW);
}

/* [fault] The program may only read it, and so may the kernel: with the page
 * locked it stays so. Its pages may be rewritten in place
 * (rw/inplace_update.h). */
static inline bool fm_map_readonly(const struct fm_map *m)
{
	return m->shared && atomic_load(&m->vma_prot) &&
	       (atomic_load(&m->prot) & (PROT_READ | PROT_WRITE)) == PROT_READ;
}

/* [fault] Page locked: may it be installed without write protection? */
static inline bool fm_map_bare(const struct fm_map *m)
{
	return atomic_load_explicit(&m->modes->bare, memory_order_relaxed) &&
	       fm_map_readonly(m);
}

static inline bool fm_map_covers(const struct fm_map *m, uint64_t fp,
				 uint64_t *ret_i)
{
	if (fp < m->pgoff || fp - m->pgoff >= fm_map_pages(m))
		return false;
	*ret_i = fp - m->pgoff;
	return true;
}

/* [fault] Do page j of o and file page fp of m mean the same memory? A reader
 * may still hold a mapping of which a piece has been split off: the piece is no
 * second copy. */
static inline bool fm_same_copy(const struct fm_map *o, uint64_t j,
				const struct fm_map *m, uint64_t fp)
{
	return &o->mode[j] == &m->mode[fp - m->pgoff];
}

/* [fault] Is page i of m still where m says, now that its lock is held? Not
 * after mremap: the same mode byte then belongs to another address. */
bool fm_map_current(struct fm_map *m, uint64_t i);

/* [fault] Resolve an id and generation; NULL when that mapping is gone. A
 * piece that is split off is still known by the id that it had: the object
 * stays as a ghost when its own part goes before that. */
struct fm_map *fm_map_by_id(uint32_t id, uint32_t gen);
/* [fault] The mapping that page *i of m belongs to now, which may have been
 * split off; *i becomes its page there. NULL: gone, or moved. */
struct fm_map *fm_map_follow(struct fm_map *m, uint64_t *i);
#define FM_MAX_MAPS (1u << 20)
#define FM_GEN_MASK 0xffu

/* [plain] A mapping of [start, start + len), from page pgoff of the file on; it
 * takes a reference of the caller. Not published. NULL without memory. */
struct fm_map *fm_map_new(struct fm_file *f, uintptr_t start, size_t len,
			  uint64_t pgoff);
/* [any] Like fm_map_new, with mode bytes for `room` pages or more. */
struct fm_map *fm_map_new_room(struct fm_file *f, uintptr_t start, size_t len,
			       uint64_t pgoff, uint64_t room);
/* [any] Is m the last piece, with mode bytes for so many pages more? The leaves
 * of the file exist for them, too. */
bool fm_map_may_grow(const struct fm_map *m, uint64_t pages);
/* [any] m is so many pages longer: extend before it is published, grow after;
 * the radix tree has its nodes reserved. */
void fm_map_extend(struct fm_map *m, uint64_t pages);
void fm_map_grow(struct fm_map *m, uint64_t pages);
/* [any] The part of m from page i on becomes a mapping of its own, in the radix
 * tree, too. NULL without memory. */
struct fm_map *fm_map_split(struct fm_map *m, uint64_t i);
/* [any] A mapping with the mode bytes of m for a new address: set start and end
 * before it is published. NULL without memory. */
struct fm_map *fm_map_moved(struct fm_map *m);
/* [any] Give the kernel the program's advice on m (vma_advice.h), for what lies
 * there now. fm_map_fn, under the space lock. 0. */
int fm_map_tell(struct fm_map *m, void *arg);
/* [any] Free m, which was never published. NULL is fine. */
void fm_map_discard(struct fm_map *m);
/* [any] Mark m and every mapping that overlaps it in the file. Before m is
 * published. */
void fm_map_note_aliases(struct fm_map *m);
/* [any] Enter m into the list of its file and the radix tree (0 or -ENOMEM);
 * take it out, retire it, and drop its reference. */
int fm_map_publish(struct fm_map *m);
void fm_map_unlink(struct fm_map *m);

/* [plain] For who has entries that name a page by its mapping's id and its
 * number there (the cache): page i of m needs one more, because those that it
 * has do not lead to it any longer. Under the space lock. */
FM_UPCALL(void, page_renamed, struct fm_map *m, uint64_t i, bool hot);
/* [plain] Likewise, of a page that is lazy, and locked. */
FM_UPCALL(void, lazy_renamed, struct fm_map *m, uint64_t i);

/* [any] Visit pages [lo, hi) of m that are not known to be untouched: fn gets
 * the page unlocked. */
typedef void (*fm_page_fn)(struct fm_map *m, uint64_t i, void *arg);
void fm_map_each(struct fm_map *m, uint64_t lo, uint64_t hi, fm_page_fn fn,
		 void *arg);

/* [fault] Is fp present in another shared mapping of the file? Sets which. */
struct fm_map *fm_map_holder(struct fm_file *f, uint64_t fp,
			     const struct fm_map *except, uint64_t *ret_i);

/* The rest of what other rooms may use. */
#include "mremap_grow.h"
#include "page_sample.h"
#include "pin_table.h"
#include "space.h"
#include "stream.h"
#include "uffd.h"
#include "window_pool.h"
#include "zap_batch.h"

/*
 * gone.c: memory of a mapping that is not the engine's any more: unmapped or
 * replaced by a system call that nobody sees (an instruction of the program's
 * own, a function that somebody has found past the hooks). What was stored
 * there and not yet written is lost. It must not be waited for, and what lies
 * there now is somebody else's.
 */

/* [fault] The memory of page i of m, which is locked, is gone: the page is
 * forgotten, and it is said once a file. False: it is there, protected. */
bool fm_page_gone(struct fm_map *m, uint64_t i);

struct fm_file_torn {
	_Atomic bool is, told;
};

/* [fault] Was any memory of the file found to be gone? */
static inline bool fm_file_torn(struct fm_file *f)
{
	return atomic_load(&f->torn->is);
}

/* [fault] A write has found a page that it could not read: from now on each of
 * the file is looked at. */
void fm_file_tear(struct fm_file *f);

/* [plain] All of m is the engine's, as far as the kernel has anything there.
 * Its pages are clean, and no more are stored to. */
bool fm_map_whole(struct fm_map *m);
/* [any] Pages of a mapping from start to end, whose first is page pgoff of its
 * file, up to the end of a file of so many bytes. */
uint64_t fm_pages_within(uintptr_t start, uintptr_t end, uint64_t pgoff,
			 uint64_t size);
/* [any] Bytes of f that are mapped: of several mappings together, but not more
 * than the file has. Under the space lock or in an epoch. */
uint64_t fm_map_bytes(struct fm_file *f);
/* [any] Has f a mapping whose stores go to the file, or may come to? Under the
 * space lock or in an epoch. */
bool fm_may_be_stored_to(struct fm_file *f);
