/* SPDX-License-Identifier: MIT */
/*
 * file.h - the table of files, their directories and dirty indexes.
 */
#pragma once

#include "base/reason.h"
#include "base/types.h"
#include "base/up.h"

struct stat;

/* [fault] A slot of the table: NULL when empty. Also in the guardian. The
 * file is used in an epoch. fm_file_top: no slot from there on has ever been
 * used. */
struct fm_file *fm_file_at(uint32_t id);
uint32_t fm_file_top(void);
/* Each file of the table; `id` is its slot. Under the space lock or in an
 * epoch. */
#define fm_for_each_file(f, id)                         \
	for (uint32_t id = 0; id < fm_file_top(); id++) \
		if (((f) = fm_file_at(id)))

/* [plain] Under the space lock. The file of an open descriptor, created when
 * new, with a reference. `write`: a mapping may store; open the file for
 * writing. 0 or -errno. */
int fm_file_open(int fd, const struct stat *st, const char *path,
		 const struct fm_policy *policy, bool write,
		 struct fm_file **ret);
/* [plain] Under the space lock: open the descriptors of f again, which was
 * demoted and is shut, and forget what was known of its pages. 0 or -errno: it
 * is as it was. */
int fm_file_open_again(struct fm_file *f, bool write);
/* [plain] Under the space lock. A file that the kernel serves, and that the
 * engine has never had, becomes known, as if it had been demoted for this
 * reason: shut, with one reference for who remembers that. path_fd, made by
 * O_PATH, is the file's from then on. 0 or -errno. */
int fm_file_adopt(int path_fd, const struct stat *st, const char *path,
		  const struct fm_policy *policy, enum fm_server_reason why,
		  struct fm_file **ret);
/* [plain] If it is shut, it is so for good: nothing of it stays open. Under the
 * space lock. */
void fm_file_stays_kernels(struct fm_file *f);
/* [any] The file with these numbers, with a reference, or NULL. */
struct fm_file *fm_file_find(dev_t dev, ino_t ino);
/* [plain] Like fm_file_find, for who has it open: not a file that had the inode
 * number before. `locked`: under the space lock. */
struct fm_file *fm_file_find_fd(const struct stat *st, int fd, bool locked);
/* [any] Is any file managed, or was one of which somebody still keeps
 * something? */
bool fm_files_any(void);
void fm_file_get(struct fm_file *f);
/* [any] fm_file_put for callers that hold the space lock. */
void fm_file_put_locked(struct fm_file *f);

/* [plain] What becomes of files, under the space lock. The last reference goes:
 * it is in the table still; it is not. */
FM_UPCALL(void, file_closing, struct fm_file *f);
FM_UPCALL(void, file_closed, struct fm_file *f);
/* [plain] Likewise: the kernel has it, and nobody else but who remembers
 * that. */
FM_UPCALL(void, file_hollow, struct fm_file *f);
/* [plain] Likewise: it is opened again, and what was known of it may not be
 * true. */
FM_UPCALL(void, file_again, struct fm_file *f);
/* [plain] Likewise: the kernel serves a part of it, too. */
FM_UPCALL(void, file_beside, struct fm_file *f);
/* [any] Under the space lock: the kernel has mapped a part of f, beside the
 * engine. */
void fm_file_beside(struct fm_file *f);

/* In a child of fork mappings begin as placeholders (process/fork.c), and the
 * kernel's are put in place when one is touched. Some may be left; or there
 * were some, and none is left. */
enum fm_placeholders {
	FM_PLACEHOLDERS_NEVER,
	FM_PLACEHOLDERS_LEFT,
	FM_PLACEHOLDERS_FILLED,
};
extern _Atomic uint8_t fm_placeholders;
/* [fault] */
static inline bool fm_placeholders_left(void)
{
	return atomic_load(&fm_placeholders) == FM_PLACEHOLDERS_LEFT;
}
/* [plain] Puts the kernel's in place where there is one of this file. Asked for
 * while some are left; fm_fork_touch_file looks whether they are. */
FM_UPCALL(void, fork_touch_file, dev_t dev, ino_t ino);
void fm_fork_touch_file(dev_t dev, ino_t ino);
/* [plain] Under the space lock, asked for in a child that has or had some: the
 * kernel has mapped the file so that it may be stored to; who serves it and
 * only reads demotes it, too, before this returns. */
FM_UPCALL(void, fork_stores, dev_t dev, ino_t ino);
/* [plain] Likewise, without a lock: the program that the child executes gets a
 * descriptor of the file; who serves it demotes it, unless neither side can
 * store. vforked: not the child executes it, but one that it has made by
 * vfork. */
FM_UPCALL(void, fork_inherits, dev_t dev, ino_t ino, bool stores, bool vforked);

static inline void fm_raise_to(_Atomic uint64_t *v, uint64_t least)
{
	uint64_t now = atomic_load(v);

	while (now < least && !atomic_compare_exchange_weak(v, &now, least))
		;
}

/* Make leaves for pages [first, first+count). [plain] 0 or -ENOMEM. */
int fm_file_grow_leaves(struct fm_file *f, uint64_t first, uint64_t count);

/* [fault] NULL where no leaf exists. */
static inline struct fm_leaf *fm_leaf_of(struct fm_file *f, uint64_t page)
{
	uint64_t l = page >> FM_LEAF_SHIFT;

	if (l >= atomic_load_explicit(&f->leaf_hi, memory_order_acquire))
		return NULL;
	return atomic_load_explicit(&f->leaf[l], memory_order_acquire);
}

static inline _Atomic uint8_t *fm_file_page(struct fm_file *f, uint64_t page)
{
	struct fm_leaf *l = fm_leaf_of(f, page);

	return l ? &l->page[page & (FM_LEAF_PAGES - 1)] : NULL;
}

/* [fault] The dirty index; the page must be locked. */
void fm_dirty_set(struct fm_file *f, uint64_t page);
void fm_dirty_clear(struct fm_file *f, uint64_t page);
/* [any] First dirty page in [page, end), or end. No lock. */
uint64_t fm_dirty_next(struct fm_file *f, uint64_t page, uint64_t end);
/* [any] Pages that may be dirty. */
int64_t fm_dirty_count(struct fm_file *f);
extern _Atomic int64_t fm_dirty_total;
extern _Atomic int64_t fm_dirty_heap; /* of these, of an ephemeral file */

/* [fault] May it have holes, as far as its blocks tell? */
bool fm_is_sparse(const struct stat *st);
/* [fault] Ask the kernel for the size; falls back to the last known one. */
int64_t fm_file_size_now(struct fm_file *f);
/* [plain] The program has changed the size of a file: what was beyond the end
 * may not be now. */
FM_UPCALL(void, file_resized, void);

/* The rest of what other rooms may use. */
#include "cache_account.h"
#include "demote_queue.h"
#include "heap_file.h"
#include "inflight_io.h"
#include "load.h"
#include "only_engine.h"
#include "page.h"
#include "reflink.h"
#include "served.h"
#include "server.h"
#include "space_lock.h"
#include "promotable.h"
#include "truncate_barrier.h"
#include "wb_errseq.h"
#include "witness.h"
