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
#ifndef FM_TYPES_H
#define FM_TYPES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
	/* by pin = minute, cache/shares.h */
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

/* For how long a file was served by whom: file/served.h. Times in ms. */
enum fm_served_by {
	FM_BY_NOBODY, /* it is counted elsewhere */
	FM_BY_ENGINE,
	FM_BY_ADVISED, /* the kernel, with our advice */
	FM_BY_KERNEL,
	FM_BYS
};
#define FM_SERVED_CHANGES 10 /* the last ones */
struct fm_served {
	uint64_t ms[FM_BYS], since_ms, by_since_ms;
	uint8_t by;
	uint32_t changes; /* all told */
	struct fm_served_change {
		uint64_t at_ms;
		uint8_t from, to; /* enum fm_served_by */
		uint8_t why;      /* enum fm_server_reason */
		/* as of `choice` then */
		uint64_t cost_ns[2];
	} change[FM_SERVED_CHANGES]; /* a ring */
};

/* serve/lately.h */
struct fm_lately {
	_Atomic uint64_t ns, at_ms;
};

struct fm_file_stats {
	_Atomic uint64_t faults_read, faults_write, faults_wp;
	_Atomic uint64_t loads, load_bytes, hits_ahead, hits_alias,
		hits_standby, hits_kept, rewritten, lazy, lazy_lost;
	_Atomic uint64_t evictions, collapsed, writebacks, wb_bytes, wb_errors;
	_Atomic uint64_t ahead_pages, ahead_waste, ahead_refused, read_errors;
	_Atomic uint64_t mappings, demotions, promoted;
	_Atomic uint64_t engine_trials, engine_kept; /* mmap/engine_trial.h */
	_Atomic uint64_t spent_ns; /* by threads, in faults */
	_Atomic uint8_t demote_why; /* enum fm_server_reason */
	struct fm_served served;
};

/* What each room keeps of a file is its own struct; who else reads it asks a
 * function of that room, but for single words that faults look at. */
struct fm_file {
	dev_t dev;
	ino_t ino;
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
	struct fm_file *hash_next; /* file table */

	struct { /* who moves its bytes: io/store.h */
		_Atomic(const struct fm_store *) store;
		struct fm_backing *backing; /* backing.h, or NULL */
		struct fm_device *device; /* what its reads cost: device.h */
		uint32_t dio_align; /* bytes: direct I/O granule, 512 or 4096 */
		bool writable;      /* write descriptors are open */
		int path;           /* O_PATH descriptor, high number, or -1 */
		/* without io_uring, else -1; before it could be stored to */
		int direct, buffered, was[2];
		int kept; /* `buffered` as the guardian has it */
		_Atomic uint32_t cached; /* loads from the page cache */
	} io;
	struct { /* peers/peers.h: as last looked at; mode 0: never */
		uid_t owner;
		mode_t mode;
	} peers;
	struct { /* file/load.h */
		bool sparse; /* has (had) holes: allocate before stores */
		_Atomic uint8_t unshare; /* enum fm_unshare */
		bool shared_looked;      /* at whether its blocks are */
		_Atomic bool told_failed; /* of a page that could not be had */
		/* on a full file system */
		_Atomic uint64_t no_commit_before_ms;
		/* the page cache; see fm_load_asks_cache */
		_Atomic uint32_t cache_asked, cache_cold;
		/* after short writes, in the second that began at */
		_Atomic uint32_t reloads;
		_Atomic uint64_t reloads_from; /* ms */
	} load;
	struct { /* file/inflight_io.h: system calls of the program */
		_Atomic bool stored; /* to, through a mapping, ever */
		_Atomic bool reads_over; /* those that began before that */
		_Atomic uint64_t changed_ms; /* by one of them, last */
		struct fm_lately followed; /* in pages that are mapped */
	} calls;
	struct { /* file/truncate_barrier.h */
		_Atomic uint64_t from; /* first page, or UINT64_MAX */
		_Atomic uint32_t lifted; /* futex: how often */
		/* pages [0, touched_hi) may have a state */
		_Atomic uint64_t touched_hi;
	} barrier;
	struct { /* writeback/writeback.h */
		_Atomic uint32_t err;  /* last errno, 0 when reported */
		_Atomic uint32_t told; /* the last one that was said */
		_Atomic uint64_t failed_ms; /* when it failed last */
		_Atomic uint64_t dirty_since_ms;
		_Atomic bool buffered; /* goes through the page cache */
		_Atomic bool sheds; /* only written so, see fm_wb_urgent */
		_Atomic bool mixed; /* buffered, no direct write in flight */
		bool mapped; /* by stores, see fm_witness_useless */
		_Atomic bool waits; /* knows no write that does not wait */
		_Atomic bool torn, told_torn; /* map/map.h */
	} wb;
	struct { /* file/demote_queue.h, vm/demote.c */
		/* futex: one is under way, or to be */
		_Atomic uint32_t frozen;
		_Atomic uint32_t asked;    /* how often */
		_Atomic uint32_t answered; /* futex: up to which of these */
		_Atomic uint8_t why;       /* enum fm_server_reason */
		_Atomic uint64_t stays_since_ms; /* could not be demoted */
		/* threads that want it buffered for now: demote_pagecache.c */
		_Atomic uint32_t through;
		unsigned unreadable; /* windows of one page, see demote.c */
		/* its cause may pass, and then it comes back: promotable.h */
		bool passes;
		bool shut; /* all is closed but the path */
		bool adopted; /* the engine has never had it:
				 mmap/engine_trial.h */
		/* handed over for one who read what we stored to */
		bool read_beside;
	} demote;
	struct fm_choice *choice; /* serve/table.h: who serves it better */
	struct fm_serve_entry *serve; /* likewise: what forbids the engine */
	struct { /* mmap/kernel_windows.h: maps of single pieces */
		/* mapped piece by piece, over and over */
		_Atomic bool repeated;
		bool by_kernel;  /* the kernel serves windows of it too */
		unsigned cached; /* in a row */
		unsigned idle; /* of ours, unmapped untouched in a row */
		unsigned unsaid; /* grants used that nobody has counted yet */
		unsigned granted; /* to the kernel, of them not yet used: */
		_Atomic uint32_t grants;
		uint32_t asked, found; /* of late, those that were cached */
		uint64_t next_look; /* ns, at how much of the file is cached */
		bool bring; /* the kernel shall read more than a window */
		uint64_t tried; /* pages that it was to read before that was
				   known */
	} windows;
	_Atomic int64_t cached; /* pages, see cache_account.h */
	struct { /* cache/shares.h */
		/* what it may have of the cache: follows a reload */
		_Atomic(const struct fm_policy *) policy;
		_Atomic uint8_t pool; /* of pages that are not pinned */
		uint64_t since_ms;    /* its first mapping */
	} shares;
	struct { /* cache/streaming.h */
		_Atomic uint32_t read, back, faults; /* since the last look */
		_Atomic uint64_t at; /* when its reader went on */
	} streaming;
	_Atomic bool stores_wanted; /* a mapping that may be stored to */
	uint8_t map_kinds;          /* bit per kind of mapping, see mmap.c */

	struct fm_file_stats st;
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

#endif
