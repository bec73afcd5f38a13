/* SPDX-License-Identifier: MIT */
/*
 * types.h - the nouns of the engine. Read this first.
 *
 *   file     one per device+inode: descriptors, dirty index, its mappings
 *            (the per-file data of FastMap, USENIX ATC'20, section 3.1).
 *   mapping  one contiguous address range over one file range with one
 *            protection (FastMap's per-vma entry). mprotect, munmap and
 *            mremap split and add mappings; they never change one in place
 *            but for its end, which moves.
 *   page     4 KiB of a file. Its state byte in the file's directory is the
 *            lock for everything that happens to it in this process.
 *   mode     one byte per page of a mapping: is it present here, may it be
 *            stored to, is it the mapping's own private copy.
 *   chunk    what readahead has in flight or landed, not yet mapped.
 *   frame    engine memory that a device transfer uses (2 MiB, huge).
 *
 * The page state protocol. FP_BUSY is the lock; it is taken by
 * compare-and-swap and whoever holds it owns every transition of the page, in
 * every mapping of the file. Mode bytes change only under FP_BUSY of their
 * page. FP_DIRTY is set before a page becomes writable anywhere. FP_WB marks a
 * write-back in flight whose data is read in place: the page may be read, and
 * made writable again (FP_REDIRTY), but not dropped.
 *
 * Lock order, outermost first (all of it: lock_check.h, which debug builds
 * assert):
 *   hear    what other processes did, read and heeded
 *   space   fm_space_lock: the address space, all of mmap/munmap/..., files
 *           and their lists of mappings
 *   page    FP_BUSY; several only in ascending order or by try-lock
 *   ring    and bounce buffers: who has one waits for nothing but the device
 *   metrics, report: writing the metrics, and what statistics are put
 *           together from
 *   tables  chunks, queues, statistics: short sections
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/by_inode.h"

#define FM_PAGE_SHIFT 12
#define FM_PAGE ((size_t)1 << FM_PAGE_SHIFT)
#define FM_PAGE_MASK (FM_PAGE - 1) /* bits: of a page */
#define FM_HUGE_SHIFT 21 /* bits: of a huge page */
#define FM_HUGE ((size_t)1 << FM_HUGE_SHIFT) /* size: bytes */
#define FM_HUGE_PAGES (FM_HUGE / FM_PAGE)
#define FM_CACHELINE 64
#define FM_MAX_FILES 4096

static inline uintptr_t fm_page_up(uintptr_t a)
{
	return (a + FM_PAGE_MASK) & ~FM_PAGE_MASK;
}

/* Page state, one byte per page of a file. */
enum {
	FP_BUSY = 0x01,    /* locked; see above */
	FP_DIRTY = 0x02,   /* a mapping holds data newer than the file */
	FP_WB = 0x04,      /* write-back in flight, reads in place */
	FP_REDIRTY = 0x08, /* stored to again during that write-back */
	FP_AHEAD = 0x10,   /* a chunk covers it */
	FP_CLEANED = 0x20, /* by write-back ahead of need, see wb_limit.c */
	FP_ALLOC = 0x40,   /* its file block is known to be allocated */
	/* last written through the page cache, see fm_load */
	FP_CACHED = 0x80,
};

/* Mode, one byte per page of a mapping. */
enum {
	PM_PRESENT = 0x01,  /* mapped here */
	PM_WRITABLE = 0x02, /* not write-protected here */
	PM_COW = 0x04,      /* private copy, the program's own for good */
	PM_QUEUED = 0x08,   /* has an entry in an eviction queue */
	/* the eviction policy's mark, cache/evict_policy.h */
	PM_MAIN = 0x10,
	PM_HUGE = 0x20,     /* belongs to a whole 2 MiB frame moved in */
	PM_LOCKED = 0x40,   /* its page is, by who takes the mapping away */
	PM_LAZY = 0x80,     /* the kernel may take it, or has: lazyfree.h */
};

/* 1 GiB of file: page states and the dirty index. Mapped lazily, never moved
 * or freed while the file lives, so that the guardian can read it at any
 * instant. A set bit in `dirty` is a superset of FP_DIRTY: it is set first
 * and cleared last. `ndirty` counts set bits (incremented before, decremented
 * after). */
#define FM_LEAF_SHIFT 18 /* bits: pages of a leaf */
#define FM_LEAF_PAGES ((uint64_t)1 << FM_LEAF_SHIFT)
/* Pages are looked for by groups: those of one that was never touched have
 * neither state nor mode. */
#define FM_TOUCH_SHIFT 9
#define FM_TOUCH_PAGES ((uint64_t)1 << FM_TOUCH_SHIFT) /* size: of a group */
#define FM_LEAF_GROUPS (FM_LEAF_PAGES >> FM_TOUCH_SHIFT)
struct fm_leaf {
	_Atomic uint8_t page[FM_LEAF_PAGES];
	_Atomic uint64_t dirty[FM_LEAF_PAGES / 64];
	_Atomic int64_t ndirty;
	/* by pin = minute or the program, cache/shares.h */
	_Atomic uint64_t pinned[FM_LEAF_PAGES / 64];
	/* a bit each, truncate_barrier.h */
	_Atomic uint64_t touched[FM_LEAF_GROUPS / 64];
	uint64_t held[FM_LEAF_GROUPS / 64]; /* while the file is shut */
#ifdef FM_LOCK_CHECK
	const struct fm_file *file;
	uint64_t number;
#endif
};
#define FM_LEAF_ALIGN ((size_t)1 << 19) /* size: with FM_LOCK_CHECK only */

/* Leaves of a file: 2^16 GiB = 64 TiB of file offsets are supported. */
#define FM_LEAVES ((uint64_t)1 << 16) /* size: of a file */
#define FM_MAX_FILE_PAGES (FM_LEAVES << FM_LEAF_SHIFT)

struct fm_policy;
struct fm_choice;
struct fm_serve_entry;
struct fm_map;
struct fm_chunk;
struct fm_stream_set;

/* What each room keeps of a file is its own struct; who else reads it asks a
 * function of that room, but for single words that faults look at. */
struct fm_file {
	FM_BY_INODE;
	uint64_t born; /* ns, or 0: inode numbers are used again */
	uint32_t id;   /* slot in the file table; fixed-file index */
	_Atomic uint32_t gen;  /* changes when the slot is reused */
	_Atomic uint32_t refs; /* mappings + transient users */
	_Atomic uint32_t nmaps;
	_Atomic int64_t size; /* bytes, last known; see fm_file_size() */
	/* another by a command, under the space lock */
	const struct fm_policy *_Atomic policy;
	_Atomic(struct fm_map *) maps; /* list by file_next, under epoch */
	_Atomic(struct fm_leaf *) *leaf; /* FM_LEAVES entries, lazily backed */
	_Atomic uint64_t leaf_hi;  /* leaves [0, leaf_hi) may exist */
	_Atomic uint8_t server;    /* enum fm_server, see server.h */

	struct fm_choice *choice; /* serve/table.h: who serves it better */
	struct fm_serve_entry *serve; /* likewise: what forbids the engine */
	_Atomic int64_t cached; /* pages, see cache_account.h */
	_Atomic bool stores_wanted; /* a mapping that may be stored to */
	uint8_t map_kinds;          /* bit per kind of mapping, see mmap.c */
	_Atomic bool by_pieces; /* mapped piece by piece, over and over */
	_Atomic bool said_random; /* advice, of most of its last mapping */
	bool ephemeral; /* nobody else sees it, it ends with the process, and
			 * each child of fork has a copy: heap_file.h */
	unsigned idle; /* of these, unmapped untouched in a row */

	/* What each room keeps of it (file_part.h), in its own header. */
	struct fm_file_io *io;           /* io/store.h */
	struct fm_file_load *load;       /* file/load.h */
	struct fm_file_calls *calls;     /* file/inflight_io.h */
	struct fm_file_barrier *barrier; /* file/truncate_barrier.h */
	struct fm_file_wb *wb;           /* file/wb_errseq.h */
	struct fm_file_demote *demote;   /* file/demote_queue.h */
	struct fm_file_stats *st;        /* file/served.h */
	struct fm_file_torn *torn;       /* map/map.h */
	struct fm_file_failed *failed;   /* writeback/wb.h */
	struct fm_file_shares *shares;   /* cache/shares.h */
	struct fm_file_streaming *streaming; /* cache/streaming.h */
	struct fm_file_nearby *nearby;   /* fault/nearby.h */
	struct fm_file_peers *peers;     /* peers/peers_priv.h */
	struct fm_file_windows *windows; /* mmap/kernel_windows.h */
	char path[256]; /* for messages and statistics */
};

struct fm_alias_link {
	struct fm_map *map;
	struct fm_alias_link *next, **prev;
};

struct fm_map {
	_Atomic uintptr_t start, end;  /* [start, end), page aligned */
	uint64_t pgoff;            /* file page of start */
	_Atomic int prot;          /* PROT_* as the program sees it */
	bool shared;
	bool maywrite;             /* mprotect(PROT_WRITE) is allowed */
	bool noreserve;            /* MAP_NORESERVE */
	/* the program's, it may be another's by now */
	int fd;
	_Atomic bool aliased;      /* another mapping overlaps in the file */
	_Atomic uint8_t advice;    /* MADV_NORMAL, RANDOM or SEQUENTIAL */
	_Atomic bool vma_prot;     /* the kernel's protection equals prot */
	/* pages that the program has said to read ahead at most; 0: nothing */
	_Atomic uint32_t ahead_most;
	uint32_t id;               /* slot in the mapping table */
	_Atomic uint32_t gen;
	struct fm_file *file;
	_Atomic uint8_t *mode;     /* mode[0] belongs to `start` */
	struct fm_modes *modes;    /* shared, counted owner of the mode bytes */
	uint64_t mbase;            /* index of mode[0] in modes */
	_Atomic(struct fm_stream_set *) streams; /* readahead, or NULL */
	_Atomic(struct fm_map *) file_next;
	struct fm_map *file_prev;  /* writers only */
	struct fm_alias_link overlap[2]; /* see alias_index.h */
	uint8_t overlap_class;
	_Atomic bool listed;       /* eviction queues know its id */
	struct fm_map *ghost_next; /* see fm_map_by_id */
	_Atomic uint64_t faults;
};

/* Each mapping of a file. Under the space lock or in an epoch. [fault] */
#define fm_for_each_map(m, f)                                \
	for ((m) = atomic_load(&(f)->maps); (m);             \
	     (m) = atomic_load(&(m)->file_next))
