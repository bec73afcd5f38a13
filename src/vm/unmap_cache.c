/* SPDX-License-Identifier: MIT */
/*
 * unmap_cache.c - why what is brought back is not stale: at the time of the
 * fstat that ends an entry nobody else had the file open (the watch has heard
 * of no foreign open, we have no children that descriptors came to, the claim
 * excludes foreign stores), so every later change of the file moves its change
 * time, which cannot be set; it is compared after the claim on the file has
 * been taken again, and once more when the pages are in place, for writes of
 * our own process. Where the change time is as coarse as a tick, only files
 * that had not changed lately are kept.
 */
#include "unmap_cache.h"

#include <linux/magic.h>
#include <sys/resource.h>

#include "base/life.h"
#include "base/lock.h"
#include "base/shrinker.h"
#include "cache/cache.h"
#include "file/file.h"
#include "io/io.h"
#include "map/map.h"
#include "mapops.h"
#include "tunables.h"
#include "writeback/writeback.h"

#define KEPT 16
#define TICK_NS 100000000 /* ABI: no clock of files is coarser: 10 ticks */

struct kept {
	size_t len; /* 0: free */
	bool shared; /* else private, with pages of the file alone */
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime, ctime;
	uint64_t pgoff, stamp;
	char *mem;
	uint8_t *mode;     /* a byte per page, as it was */
	uint64_t rest;     /* pages before this one are still there */
};

static struct kept kept[KEPT]; /* under the lock, a leaf */
static struct fm_lock lock;
static _Atomic int64_t pages;  /* of all entries, charged */
static uint64_t clock_stamp;

/* ---- which file --------------------------------------------------------- */

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool unchanged(const struct kept *k, const struct stat *st)
{
	return k->dev == st->st_dev && k->ino == st->st_ino &&
	       k->size == st->st_size && same_time(k->mtime, st->st_mtim) &&
	       same_time(k->ctime, st->st_ctim);
}

/* Since Linux 6.13 some file systems give each change that follows a stat a
 * time of its own. */
bool fm_fine_times(int fd)
{
	const long fs = fm_sys_fine_times() ? fm_sys_fs_type(fd) : 0;

	return fs == EXT4_SUPER_MAGIC || fs == XFS_SUPER_MAGIC ||
	       fs == BTRFS_SUPER_MAGIC || fs == TMPFS_MAGIC;
}

static bool unmap_cache_settled(const struct fm_file *f, const struct stat *st)
{
	struct timespec now;
	int64_t age;

	if (fm_fine_times(f->io->path))
		return true;
	fm_clock(CLOCK_REALTIME, &now);
	age = (now.tv_sec - st->st_ctim.tv_sec) * 1000000000ll +
	      (now.tv_nsec - st->st_ctim.tv_nsec);
	return age > TICK_NS;
}

/* ---- keeping ------------------------------------------------------------ */

/* To look at all its pages, a ns each, than to read again what is there of the
 * file. */
static bool takes_longer(struct fm_map *m)
{
	return fm_map_pages(m) > (uint64_t)fm_cache_of(m->file) *
					 fm_device_ns(m->file, 1);
}

static bool worth_it(struct fm_map *m)
{
	size_t len = fm_map_pages(m) << FM_PAGE_SHIFT;
	struct rlimit as = { 0, 0 };

	if (len < fm_tune.unmap_cache_least || m->mbase || takes_longer(m) ||
	    fm_map_pages(m) != m->modes->used || atomic_load(&m->aliased) ||
	    atomic_load(&m->file->by_pieces) ||
	    fm_kernel_serves(m->file) || !fm_store_of(m->file)->keeps ||
	    fm_memory_locked() || atomic_load(&fm_fds_shared))
		return false;
	/* The program's own limit must not count what it has unmapped. */
	return !fm_sys4(SYS_prlimit64, 0, RLIMIT_AS, NULL, &as) &&
	       as.rlim_cur == RLIM_INFINITY;
}

/* Everything clean; how many pages there are, and where they end. Negative: the
 * program's own are among them. */
static int64_t copy_modes(struct fm_map *m, uint8_t *to, uint64_t *ret_end)
{
	uint64_t n = fm_map_pages(m);
	int64_t found = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint8_t mode;

		if (!atomic_load(&m->modes->touched[i >> FM_TOUCH_SHIFT])) {
			i |= ((uint64_t)1 << FM_TOUCH_SHIFT) - 1;
			continue;
		}
		mode = fm_mode(m, i);
		if (mode & PM_COW)
			return -1;
		if (mode & PM_PRESENT) {
			to[i] = mode;
			found += fm_mode_charged(mode);
			*ret_end = i + 1;
		}
	}
	return found;
}

/* To an address of ours, at the same place within 2 MiB. */
static char *move_away(struct fm_map *m)
{
	uintptr_t a = atomic_load(&m->start);
	size_t len = atomic_load(&m->end) - a;
	char *p = fm_sys_far(len + FM_HUGE, PROT_NONE), *to;

	if ((uintptr_t)p >= (uintptr_t)-4095)
		return NULL;
	to = p + ((a - (uintptr_t)p) & (FM_HUGE - 1));
	/* See mremap.c: another kind of vma than its neighbours. */
	fm_sys_madvise((void *)a, len, MADV_DODUMP);
	fm_uffd_moves_bare((void *)a, len);
	if ((char *)fm_sys5(SYS_mremap, a, len, len,
			    MREMAP_MAYMOVE | MREMAP_FIXED, to) != to) {
		fm_sys_madvise((void *)a, len, MADV_DONTDUMP);
		fm_sys_munmap(p, len + FM_HUGE);
		return NULL;
	}
	fm_sys_mprotect(to, len, PROT_NONE);
	fm_sys_madvise(to, len, MADV_DONTDUMP);
	if (to > p)
		fm_sys_munmap(p, (size_t)(to - p));
	fm_sys_munmap(to + len, (size_t)(p + FM_HUGE - to));
	return to;
}

/* Fault context: no allocator, but system calls. */
static FM_FAULT void free_kept(struct kept *k)
{
	uint64_t n = k->len >> FM_PAGE_SHIFT;

	fm_sys_munmap(k->mem, k->len);
	fm_sys_munmap(k->mode, n);
	k->len = 0;
}

/* How many of the pages from that one on there are. */
static FM_FAULT uint64_t unmap_cache_held(const struct kept *k, uint64_t from)
{
	uint64_t n = 0;

	for (uint64_t i = from; i < k->rest; i++)
		n += fm_mode_charged(k->mode[i]);
	return n;
}

/* Pages [from, k->rest) leave. */
static FM_FAULT uint64_t unmap_cache_cut(struct kept *k, uint64_t from)
{
	uint64_t n = unmap_cache_held(k, from);

	if (from < k->rest)
		fm_uffd_drop(k->mem + (from << FM_PAGE_SHIFT),
			     (k->rest - from) << FM_PAGE_SHIFT);
	k->rest = from;
	if (!from)
		free_kept(k);
	atomic_fetch_sub(&pages, (int64_t)n);
	fm_cache_uncharge(NULL, n);
	return n;
}

static FM_FAULT struct kept *unmap_cache_oldest(void)
{
	struct kept *k = NULL;

	for (int i = 0; i < KEPT; i++)
		if (kept[i].len && (!k || kept[i].stamp < k->stamp))
			k = &kept[i];
	return k;
}

static FM_FAULT uint64_t unmap_cache_trim(uint64_t want)
{
	uint64_t n = 0;
	struct kept *k;

	if (atomic_load_explicit(&pages, memory_order_relaxed) <= 0 ||
	    !fm_trylock(&lock))
		return 0;
	while (n < want && (k = unmap_cache_oldest()) != NULL)
		n += unmap_cache_cut(k, k->rest > FM_HUGE_PAGES
						? k->rest - FM_HUGE_PAGES
						: 0);
	fm_unlock(&lock);
	return n;
}

FM_SHRINKER(unmap_cache, .order = FM_SHRINK_FIRST, .trim = unmap_cache_trim)

static struct kept *free_entry(void)
{
	for (int i = 0; i < KEPT; i++)
		if (!kept[i].len)
			return &kept[i];
	unmap_cache_cut(unmap_cache_oldest(), 0);
	return free_entry();
}

static void add_kept(struct fm_map *m, const struct stat *st, char *mem,
		     uint8_t *mode, int64_t n, uint64_t end)
{
	struct kept *k;

	fm_lock(&lock);
	k = free_entry();
	*k = (struct kept){
		.len = fm_map_pages(m) << FM_PAGE_SHIFT,
		.dev = st->st_dev, .ino = st->st_ino, .size = st->st_size,
		.mtime = st->st_mtim, .ctime = st->st_ctim,
		.shared = m->shared, .pgoff = m->pgoff,
		.stamp = ++clock_stamp, .mem = mem, .mode = mode, .rest = end,
	};
	atomic_fetch_add(&pages, n);
	/* Retiring the mapping takes them off the budget: they stay. */
	fm_cache_uncharge(NULL, (uint64_t)-n);
	fm_unlock(&lock);
}

bool fm_unmap_cache_put(struct fm_map *m)
{
	fm_up_file_is_quiet *quiet = FM_UP_ONE(file_is_quiet);
	uint64_t end = m->pgoff + fm_map_pages(m), last = 0;
	uint8_t *mode;
	struct stat st;
	char *mem = NULL;
	int64_t n;

	if (!worth_it(m) || fm_dirty_next(m->file, m->pgoff, end) < end ||
	    fm_pinned(fm_map_addr(m, 0), fm_map_pages(m) << FM_PAGE_SHIFT) ||
	    !quiet || !quiet(m->file) ||
	    fm_sys_fstat(m->file->io->path, &st) || st.st_ino != m->file->ino ||
	    !st.st_nlink || !unmap_cache_settled(m->file, &st))
		return false;
	mode = fm_sys_anon(fm_map_pages(m));
	if (!mode)
		return false;
	n = copy_modes(m, mode, &last);
	if (n > 0)
		mem = move_away(m);
	if (!mem) {
		fm_sys_munmap(mode, fm_map_pages(m));
		return false;
	}
	add_kept(m, &st, mem, mode, n, last);
	return true;
}

/* ---- bringing back ------------------------------------------------------ */

static bool unmap_cache_find(const struct fm_map *m, const struct stat *st,
			     struct kept *ret)
{
	size_t len = fm_map_pages(m) << FM_PAGE_SHIFT;
	bool found = false;

	fm_lock(&lock);
	for (int i = 0; i < KEPT; i++) {
		struct kept *k = &kept[i];

		if (!k->len || k->dev != st->st_dev || k->ino != st->st_ino)
			continue;
		if (!unchanged(k, st)) {
			unmap_cache_cut(k, 0);
		} else if (!found && k->len == len && k->pgoff == m->pgoff &&
			   k->shared == m->shared) {
			*ret = *k;
			k->len = 0;
			found = true;
		}
	}
	fm_unlock(&lock);
	return found;
}

static int unmap_cache_place(struct fm_map *m, const struct kept *k, int prot)
{
	void *at = fm_map_addr(m, 0);
	int err;

	fm_sys_madvise(k->mem, k->len, MADV_DODUMP);
	if ((void *)fm_sys5(SYS_mremap, k->mem, k->len, k->len,
			    MREMAP_MAYMOVE | MREMAP_FIXED, at) != at) {
		fm_sys_munmap(k->mem, k->len);
		return -ENOMEM;
	}
	err = fm_uffd_take_in(at, k->len);
	return err ? err : fm_sys_mprotect(at, k->len, prot);
}

/* A unit of 2 MiB is still one when it stands where it stood, and its first
 * page, which has the entry in the queue, is there. */
static void page_back(struct fm_map *m, uint64_t i, uint8_t was)
{
	uint64_t in = ((uintptr_t)fm_map_addr(m, i) >> FM_PAGE_SHIFT) %
		      FM_HUGE_PAGES;
	bool huge = (was & PM_HUGE) && in <= i && fm_huge_fits(m, i - in) &&
		    (!in || (fm_mode(m, i - in) & PM_HUGE));

	fm_map_touch(m, i);
	if (fm_mode_lazy(was)) { /* or gone: it is registered again */
		fm_mode_set(m, i, PM_PRESENT | PM_LAZY);
		fm_cache_requeue(m, i);
		return;
	}
	if (!huge) {
		fm_mode_set(m, i, PM_PRESENT);
		fm_cache_insert(m, i);
		return;
	}
	fm_mode_set(m, i, PM_PRESENT | PM_HUGE | PM_QUEUED |
			  (was & PM_MAIN));
	if (!in)
		fm_cache_enqueue(m, i, was & PM_MAIN, FM_ENTRY_UNIT);
}

/* Returns how many of them are in use again. */
static uint64_t pages_back(struct fm_map *m, const struct kept *k)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < k->rest; i++) {
		_Atomic uint8_t *p;

		if (!k->mode[i])
			continue;
		p = fm_file_page(m->file, m->pgoff + i);
		fm_page_lock(p);
		if (fm_page_state(p) & (FP_DIRTY | FP_WB | FP_AHEAD)) {
			fm_uffd_drop(fm_map_addr(m, i), FM_PAGE);
			fm_cache_uncharge(m->file,
					  fm_mode_charged(k->mode[i]));
		} else {
			page_back(m, i, k->mode[i]);
			n += fm_mode_charged(k->mode[i]);
		}
		fm_page_unlock(p);
	}
	return n;
}

static void unmap_cache_forget_page(struct fm_map *m, uint64_t i, void *arg)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);

	fm_page_lock(p);
	if (fm_mode(m, i) & PM_PRESENT)
		fm_cache_drop(m, i, 1);
	fm_page_unlock(p);
}

int fm_unmap_cache_take(struct fm_map *m, int prot)
{
	struct kept k = { 0 };
	struct stat st;
	uint64_t n;
	int err;

	if (!atomic_load(&pages) ||
	    fm_map_pages(m) < fm_tune.unmap_cache_least >> FM_PAGE_SHIFT ||
	    fm_sys_fstat(m->file->io->path, &st) ||
	    !unmap_cache_find(m, &st, &k))
		return 0;
	n = unmap_cache_held(&k, 0);
	atomic_fetch_sub(&pages, (int64_t)n);
	fm_cache_assign(m->file, n);
	err = atomic_load(&m->aliased) ? -EBUSY
				       : unmap_cache_place(m, &k, prot);
	if (err) {
		if (err == -EBUSY) /* nothing has been done yet */
			fm_sys_munmap(k.mem, k.len);
		fm_cache_uncharge(m->file, n);
	} else {
		fm_count(&m->file->st->hits_kept, pages_back(m, &k));
		if (fm_sys_fstat(m->file->io->path, &st) || !unchanged(&k, &st))
			fm_map_each(m, 0, fm_map_pages(m),
				    unmap_cache_forget_page, NULL);
	}
	fm_sys_munmap(k.mode, k.len >> FM_PAGE_SHIFT);
	return err == -EBUSY ? 0 : err;
}

void fm_unmap_cache_drop(void)
{
	struct kept *k;

	fm_lock(&lock);
	while ((k = unmap_cache_oldest()) != NULL)
		unmap_cache_cut(k, 0);
	fm_unlock(&lock);
}

/* The memory has not come along, the records have. */
static void unmap_cache_reset(void)
{
	for (int i = 0; i < KEPT; i++) {
		if (kept[i].len)
			fm_sys_munmap(kept[i].mode,
				      kept[i].len >> FM_PAGE_SHIFT);
		kept[i].len = 0;
	}
	fm_lock_reset(&lock);
	atomic_store(&pages, 0);
}

FM_LIFE(unmap_cache, .level = FM_LIFE_HELPERS, .reset = unmap_cache_reset)
