/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/epoch.h"
#include "base/fds.h"
#include "base/file_part.h"
#include "base/life.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/sys.h"
#include "cache_account.h"
#include "engine.h"
#include "io/io.h"
#include "policy.h"
#include "serve/serve.h"
#include "served.h"
#include "space_lock.h"
#include "wb_errseq.h"

FM_FILE_PART(load)

static _Atomic(struct fm_file *) table[FM_MAX_FILES];
static _Atomic uint32_t table_top;
FM_INODE_TABLE(files_by_inode, 10);
static uint32_t next_gen = 1;
static _Atomic uint32_t published;
_Atomic int64_t fm_dirty_total;
_Atomic int64_t fm_dirty_heap;
_Atomic uint8_t fm_placeholders;

FM_FAULT struct fm_file *fm_file_at(uint32_t id)
{
	return id < FM_MAX_FILES ? atomic_load(&table[id]) : NULL;
}

FM_FAULT uint32_t fm_file_top(void)
{
	return atomic_load(&table_top);
}

bool fm_files_any(void)
{
	return atomic_load(&published) != 0;
}

void fm_file_get(struct fm_file *f)
{
	atomic_fetch_add(&f->refs, 1);
}

static bool get_unless_dead(struct fm_file *f)
{
	uint32_t n = atomic_load(&f->refs);

	while (n)
		if (atomic_compare_exchange_weak(&f->refs, &n, n + 1))
			return true;
	return false;
}

struct fm_file *fm_file_find(dev_t dev, ino_t ino)
{
	struct fm_by_inode *l;
	unsigned e;

	if (!fm_inode_any(&files_by_inode, dev, ino))
		return NULL;
	e = fm_epoch_enter();
	l = fm_inode_first(&files_by_inode, dev, ino);
	while (l && !get_unless_dead(FM_INODE_OF(l, struct fm_file)))
		l = fm_inode_next(l);
	fm_epoch_leave(e);
	return l ? FM_INODE_OF(l, struct fm_file) : NULL;
}

/* ---- leaves and the dirty index --------------------------------------- */

#ifdef FM_LOCK_CHECK
/* Aligned, so that a page's state byte leads to its leaf. */
static struct fm_leaf *leaf_new(struct fm_file *f, uint64_t number)
{
	size_t len = fm_page_up(sizeof(struct fm_leaf));
	char *p = fm_sys_anon(2 * FM_LEAF_ALIGN), *at = p;
	struct fm_leaf *l;

	if (!p)
		return NULL;
	at += -(uintptr_t)p & (FM_LEAF_ALIGN - 1);
	if (at > p)
		fm_sys_munmap(p, (size_t)(at - p));
	fm_sys_munmap(at + len, (size_t)(p + 2 * FM_LEAF_ALIGN - at) - len);
	l = (struct fm_leaf *)at;
	l->file = f;
	l->number = number;
	return l;
}
#else
static struct fm_leaf *leaf_new(struct fm_file *f, uint64_t number)
{
	return fm_sys_anon(sizeof(struct fm_leaf));
}
#endif

int fm_file_grow_leaves(struct fm_file *f, uint64_t first, uint64_t count)
{
	uint64_t l = first >> FM_LEAF_SHIFT;
	uint64_t last = (first + (count ? count - 1 : 0)) >> FM_LEAF_SHIFT;

	if (last >= FM_LEAVES)
		return -EFBIG;
	for (; l <= last; l++) {
		struct fm_leaf *new, *none = NULL;

		if (atomic_load(&f->leaf[l]))
			continue;
		new = leaf_new(f, l);
		if (!new)
			return -ENOMEM;
		if (!atomic_compare_exchange_strong(&f->leaf[l], &none, new))
			fm_sys_munmap(new, sizeof(*new));
	}
	fm_raise_to(&f->leaf_hi, last + 1);
	return 0;
}

static FM_FAULT void dirty_add(const struct fm_file *f, int64_t n)
{
	atomic_fetch_add_explicit(&fm_dirty_total, n, memory_order_relaxed);
	if (f->ephemeral)
		atomic_fetch_add_explicit(&fm_dirty_heap, n,
					  memory_order_relaxed);
}

/* Counters first, bit second: the index never claims less than the truth. */
FM_FAULT void fm_dirty_set(struct fm_file *f, uint64_t page)
{
	struct fm_leaf *l = fm_leaf_of(f, page);
	uint64_t i = page & (FM_LEAF_PAGES - 1);
	uint64_t bit = 1ull << (i & 63);

	if (!atomic_load(&f->calls->stored))
		fm_inflight_stored(f);
	if (atomic_load_explicit(&l->dirty[i / 64], memory_order_relaxed) & bit)
		return;
	atomic_fetch_add(&l->ndirty, 1);
	dirty_add(f, 1);
	atomic_fetch_or(&l->dirty[i / 64], bit);
	if (!atomic_load_explicit(&f->wb->dirty_since_ms, memory_order_relaxed))
		atomic_store(&f->wb->dirty_since_ms, fm_now_ms());
}

FM_FAULT void fm_dirty_clear(struct fm_file *f, uint64_t page)
{
	struct fm_leaf *l = fm_leaf_of(f, page);
	uint64_t i = page & (FM_LEAF_PAGES - 1);
	uint64_t bit = 1ull << (i & 63);

	if (!(atomic_fetch_and(&l->dirty[i / 64], ~bit) & bit))
		return;
	atomic_fetch_sub(&l->ndirty, 1);
	dirty_add(f, -1);
}

static uint64_t next_in_leaf(struct fm_leaf *l, uint64_t i, uint64_t end)
{
	while (i < end) {
		uint64_t w = atomic_load(&l->dirty[i / 64]) >> (i & 63);

		if (w) {
			i += (uint64_t)__builtin_ctzll(w);
			return i < end ? i : end;
		}
		i = (i | 63) + 1;
	}
	return end;
}

uint64_t fm_dirty_next(struct fm_file *f, uint64_t page, uint64_t end)
{
	uint64_t hi = atomic_load(&f->leaf_hi) << FM_LEAF_SHIFT;
	uint64_t stop = end < hi ? end : hi;

	while (page < stop) {
		uint64_t base = page & ~(FM_LEAF_PAGES - 1);
		uint64_t lim = stop - base;
		struct fm_leaf *l = fm_leaf_of(f, page);
		uint64_t i;

		if (lim > FM_LEAF_PAGES)
			lim = FM_LEAF_PAGES;
		if (l && atomic_load(&l->ndirty) > 0) {
			i = next_in_leaf(l, page - base, lim);
			if (i < lim)
				return base + i;
		}
		page = base + FM_LEAF_PAGES;
	}
	return end;
}

int64_t fm_dirty_count(struct fm_file *f)
{
	uint64_t hi = atomic_load(&f->leaf_hi);
	int64_t n = 0;

	for (uint64_t i = 0; i < hi; i++) {
		struct fm_leaf *l = atomic_load(&f->leaf[i]);

		if (l)
			n += atomic_load(&l->ndirty);
	}
	return n;
}

/* ---- open and close --------------------------------------------------- */

/* The kernel's mmap sets the access time when it maps, not when it reads. Only
 * the owner may ask for that. */
static int open_slot(struct fm_file *f, int fd, int flags, bool buffered)
{
	const struct fm_store *s = fm_store_of(f);
	int err = s->open(f, fd, flags | O_NOATIME, buffered);

	return err == -EPERM ? s->open(f, fd, flags, buffered) : err;
}

static int open_slots(struct fm_file *f, int fd, bool write)
{
	int acc = write ? O_RDWR : O_RDONLY;
	int err = open_slot(f, fd, acc, true);

	if (err)
		return err;
	if (fm_store_of(f)->direct && open_slot(f, fd, acc | O_DIRECT, false))
		fm_store_use_pagecache(f);
	return 0;
}

/* Would a write to f through the page cache make it longer although its witness
 * has gone? */
static bool witness_useless(const struct fm_file *f)
{
	return !fm_store_of(f)->direct && fm_sys_since(6, 15) &&
	       fm_sys_fs_type(f->io->path) == EXT4_SUPER_MAGIC;
}

/* A file that is written back from now on: through the page cache
 * (fm_file_mixed) if so, and nothing is dirty or in flight yet. */
static void now_writable(struct fm_file *f, const struct stat *st)
{
	f->io->writable = true;
	f->wb->mapped = witness_useless(f);
	if (fm_wants_stable(f->io->path, st->st_dev)) {
		atomic_store(&f->wb->buffered, true);
		atomic_store(&f->wb->mixed, true);
	}
}

/* A file first mapped read-only gets its write descriptors when the first
 * writable mapping comes. A new generation makes the pool rings fetch them. */
static int upgrade(struct fm_file *f, int fd, const struct stat *st)
{
	int err;

	/* Opened over the old ones: reads in flight must not find a hole. */
	err = open_slots(f, fd, true);
	atomic_store(&f->gen, next_gen++);
	if (!err)
		now_writable(f, st);
	return err;
}

static uint32_t free_slot(void)
{
	uint32_t max = fm_rings_max_files(), found = UINT32_MAX, open = 0;

	if (max > FM_MAX_FILES)
		max = FM_MAX_FILES;
	for (uint32_t i = max; i-- > 0;) {
		const struct fm_file *f = atomic_load(&table[i]);

		if (!f)
			found = i;
		else /* not what was demoted */
			open += f->io->path >= 0 && !f->demote->shut;
	}
	return open < fm_rings_most_open() ? found : UINT32_MAX;
}

static void free_file(struct fm_file *f)
{
	fm_free(f->choice);
	fm_free(f);
}

/* Nothing forbids it. */
static struct fm_serve_entry *file_entry_of(struct fm_file *f)
{
	struct fm_serve_entry *c = fm_serve_of(f->dev, f->ino);

	if (!c)
		c = &f->choice->alone;
	atomic_store(&c->vetoes, 0);
	return c;
}

static int file_new(const struct stat *st, const char *path,
		    const struct fm_policy *policy, struct fm_file **ret)
{
	uint32_t id = free_slot();
	struct fm_file *f;

	if (id == UINT32_MAX)
		return -EMFILE;
	f = fm_file_alloc();
	if (!f)
		return -ENOMEM;
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->choice = fm_alloc(sizeof(*f->choice));
	f->leaf = f->choice ? fm_sys_anon(FM_LEAVES * sizeof(*f->leaf)) : NULL;
	if (f->leaf)
		f->serve = file_entry_of(f);
	if (!f->leaf) {
		free_file(f);
		return -ENOMEM;
	}
	f->id = id;
	f->policy = policy;
	f->io->path = f->io->direct = f->io->buffered = f->io->kept = -1;
	f->io->was[0] = f->io->was[1] = -1;
	f->load->sparse = fm_is_sparse(st);
	fm_heap_opened(f, (uint64_t)st->st_size >> FM_PAGE_SHIFT);
	atomic_init(&f->gen, next_gen++);
	atomic_init(&f->refs, 1);
	atomic_init(&f->size, st->st_size);
	atomic_init(&f->barrier->from, UINT64_MAX);
	snprintf(f->path, sizeof(f->path), "%s", path);
	*ret = f;
	return 0;
}

static void file_publish(struct fm_file *f)
{
	atomic_fetch_add(&published, 1);
	fm_inode_add(&files_by_inode, &f->link);
	atomic_store(&table[f->id], f);
	if (f->id >= atomic_load(&table_top))
		atomic_store(&table_top, f->id + 1);
}

static int open_path_fd(int fd)
{
	char path[FM_PROC_FD];
	int p;

	/* O_PATH: fstat and reopen work, and closing it drops no lock. */
	p = fm_sys_open(fm_proc_fd(path, fd), O_PATH, 0);
	return p < 0 ? p : fm_fd_raise(p);
}

/* Each page that was counted as cached has been taken off again. */
static void check_account(const struct fm_file *f)
{
#ifdef FM_LOCK_CHECK
	if (!fm_cache_of(f))
		return;
	fm_log(FM_LOG_ERROR, "%s: closed, and %ld pages of it are cached",
	       f->path, (long)fm_cache_of(f));
	__builtin_trap();
#endif
}

static void file_free(void *obj)
{
	struct fm_file *f = obj;
	uint64_t hi = atomic_load(&f->leaf_hi);

	check_account(f);
	for (uint64_t i = 0; i < hi; i++)
		if (atomic_load(&f->leaf[i]))
			fm_sys_munmap(atomic_load(&f->leaf[i]),
				      sizeof(struct fm_leaf));
	fm_sys_munmap((void *)f->leaf, FM_LEAVES * sizeof(*f->leaf));
	free_file(f);
}

static void file_unpublish(struct fm_file *f)
{
	fm_inode_remove(&files_by_inode, &f->link);
	atomic_store(&table[f->id], NULL);
	atomic_fetch_sub(&published, 1);
}

/* Without a descriptor of ours the inode may have gone, and its number be
 * another file's by now. */
static bool is_another(const struct fm_file *f, int fd)
{
	uint64_t born = f->io->path < 0 && f->born ? fm_sys_birth(fd) : 0;

	return born && born != f->born;
}

struct fm_file *fm_file_find_fd(const struct stat *st, int fd, bool locked)
{
	struct fm_file *f = fm_file_find(st->st_dev, st->st_ino);

	if (!f || !is_another(f, fd))
		return f;
	if (locked)
		fm_file_put_locked(f);
	else
		fm_file_put(f);
	return NULL;
}

int fm_file_open(int fd, const struct stat *st, const char *path,
		 const struct fm_policy *policy, bool write,
		 struct fm_file **ret)
{
	struct fm_file *f = fm_file_find(st->st_dev, st->st_ino);
	int err;

	if (f && is_another(f, fd)) {
		fm_inode_remove(&files_by_inode, &f->link);
		fm_file_put_locked(f);
		f = NULL;
	}
	if (f) {
		err = write && !f->io->writable ? upgrade(f, fd, st) : 0;
		if (err)
			fm_file_put_locked(f);
		else
			*ret = f;
		return err;
	}
	err = file_new(st, path, policy, &f);
	if (err)
		return err;
	f->born = fm_sys_birth(fd);
	f->io->path = open_path_fd(fd);
	atomic_init(&f->io->store, fm_store_choose(f, fd, st));
	err = f->io->path < 0 ? f->io->path : open_slots(f, fd, write);
	if (err) {
		fm_store_of(f)->close(f);
		fm_fd_drop(f->io->path);
		file_free(f);
		return err;
	}
	if (fm_only_engine(f))
		fm_file_size_now(f);
	fm_errseq_back(f);
	fm_served_file(f, FM_BY_ENGINE, FM_WHY_NONE);
	file_publish(f);
	if (write)
		now_writable(f, st);
	*ret = f;
	return 0;
}

int fm_file_adopt(int path_fd, const struct stat *st, const char *path,
		  const struct fm_policy *policy, enum fm_server_reason why,
		  struct fm_file **ret)
{
	struct fm_file *f;
	int err = file_new(st, path, policy, &f);

	if (err)
		return err;
	f->born = fm_sys_birth(path_fd);
	f->io->path = path_fd;
	f->demote->shut = true;
	atomic_init(&f->io->store, fm_store_choose(f, path_fd, st));
	atomic_init(&f->server, FM_SERVER_KERNEL);
	atomic_store(&f->st->demote_why, (uint8_t)why);
	atomic_store(&f->serve->vetoes, fm_server_reason_veto(why));
	fm_served_file(f, fm_served_beside_engine(policy), why);
	file_publish(f);
	*ret = f;
	return 0;
}

static void drop_path(struct fm_file *f)
{
	/* Else the program has closed it, and the number may be its now. */
	if (fm_sys_is_file(f->io->path, f->dev, f->ino))
		fm_fd_drop(f->io->path);
	else
		fm_fd_forget(f->io->path);
	f->io->path = -1;
}

/* What is left holds up neither a lease nor an execve. */
static void file_shut(struct fm_file *f)
{
	if (f->demote->shut)
		return;
	fm_backup_drop(f);
	fm_store_of(f)->close(f);
	f->demote->shut = true;
}

/* The last reference: nothing is mapped, nothing is dirty. */
static void close_descriptors(struct fm_file *f)
{
	file_shut(f);
	drop_path(f);
}

static void file_close(struct fm_file *f)
{
	FM_UP_EACH(file_closing, tell)
		tell(f);
	file_unpublish(f);
	fm_errseq_note(f);
	close_descriptors(f);
	fm_inflight_forget(f);
	FM_UP_EACH(file_closed, tell)
		tell(f);
	fm_epoch_retire(f, file_free);
	fm_epoch_reclaim(true);
}

/* Handed to the kernel, and nobody has it but who remembers that: no descriptor
 * must keep a deleted file's blocks. While it may come back its mappings do. */
static void hollow(struct fm_file *f)
{
	if (!fm_kernel_serves(f) || atomic_load(&f->maps) ||
	    f->io->path < 0 || f->demote->shut)
		return;
	FM_UP_EACH(file_hollow, tell)
		tell(f);
	if (f->demote->passes)
		file_shut(f);
	else
		close_descriptors(f);
}

void fm_file_stays_kernels(struct fm_file *f)
{
	if (f->demote->shut && f->io->path >= 0)
		drop_path(f);
}

/* What has been known of it is not true any more, whoever had it. */
static void forget_state(struct fm_file *f, const struct stat *st)
{
	atomic_store(&f->size, st->st_size);
	atomic_store(&f->wb->buffered, false);
	atomic_store(&f->wb->mixed, false);
	atomic_store(&f->wb->sheds, false);
	atomic_store(&f->calls->reads_over, false);
	f->load->sparse = fm_is_sparse(st);
	fm_heap_shared(f);
	f->load->shared_looked = false;
	/* Windows of it are read through the page cache, beside which nothing
	 * may be written directly: whoever finds them again says so again. */
	atomic_store(&f->by_pieces, false);
	FM_UP_EACH(file_again, tell)
		tell(f);
	for (uint64_t fp = 0; fp < atomic_load(&f->barrier->touched_hi); fp++) {
		_Atomic uint8_t *p = fm_file_page(f, fp);

		if (!p)
			fp |= FM_LEAF_PAGES - 1;
		else if (atomic_load_explicit(p, memory_order_relaxed))
			atomic_fetch_and(p, (uint8_t)~(FP_ALLOC | FP_CACHED));
	}
}

int fm_file_open_again(struct fm_file *f, bool write)
{
	struct stat st;
	int err;

	if (!f->demote->shut || fm_dirty_count(f) > 0)
		return -EBUSY;
	if (!fm_sys_is_file(f->io->path, f->dev, f->ino) ||
	    fm_sys_fstat(f->io->path, &st))
		return -EBADF;
	forget_state(f, &st);
	f->io->writable = false;
	err = open_slots(f, f->io->path, write);
	atomic_store(&f->gen, next_gen++);
	f->demote->shut = false;
	if (err) {
		file_shut(f);
		return err;
	}
	if (write) {
		now_writable(f, &st);
		fm_shared_look(f, f->io->path);
	}
	fm_errseq_back(f);
	return 0;
}

void fm_file_beside(struct fm_file *f)
{
	FM_UP_EACH(file_beside, tell)
		tell(f);
	fm_serve_kernel(f->dev, f->ino);
}

void fm_file_put_locked(struct fm_file *f)
{
	uint32_t n = atomic_fetch_sub(&f->refs, 1);

	if (n == 1)
		file_close(f);
	else if (n == 2)
		hollow(f);
}

void fm_file_put(struct fm_file *f)
{
	uint32_t n = atomic_load(&f->refs);
	uint64_t old;

	while (n > 2 || (n == 2 && !fm_kernel_serves(f)))
		if (atomic_compare_exchange_weak(&f->refs, &n, n - 1))
			return;
	/* Perhaps the last: decide under the space lock. */
	fm_space_lock(&old);
	fm_file_put_locked(f);
	fm_space_unlock(&old);
}

/* Without io_uring these are numbers of the child, too. It has no record locks
 * that closing one would drop. */
static void drop_data_fds(const struct fm_file *f)
{
	const int fds[] = { f->io->direct, f->io->buffered, f->io->was[0],
			    f->io->was[1] };

	for (size_t k = 0; k < sizeof(fds) / sizeof(*fds); k++)
		if (fds[k] >= 0 && fm_sys_is_file(fds[k], f->dev, f->ino))
			fm_fd_drop(fds[k]);
		else
			fm_fd_forget(fds[k]);
}

static void file_reset(void)
{
	for (uint32_t id = 0; id < fm_file_top(); id++) {
		struct fm_file *f = fm_file_at(id);

		if (f) {
			fm_fd_drop(f->io->path);
			drop_data_fds(f);
		}
		/* the structs are the parent's */
		atomic_store(&table[id], NULL);
	}
	fm_inode_clear(&files_by_inode);
	atomic_store(&published, 0);
	atomic_store(&table_top, 0);
}

bool fm_inflight_look(void)
{
	return fm_inflight_any_stored() || fm_placeholders_left();
}

void fm_fork_touch_file(dev_t dev, ino_t ino)
{
	if (fm_placeholders_left())
		FM_UP_EACH(fork_touch_file, touch)
			touch(dev, ino);
}

struct fm_file *fm_file_by_stat(const struct stat *st)
{
	struct fm_file *f;

	if (!fm_active() || !S_ISREG(st->st_mode))
		return NULL;
	fm_fork_touch_file(st->st_dev, st->st_ino);
	f = fm_file_find(st->st_dev, st->st_ino);
	if (f && !atomic_load(&f->maps)) { /* demoted: the kernel's alone */
		fm_file_put(f);
		f = NULL;
	}
	return f;
}

/* What a number was when it was last looked at: no more than what is asked
 * first now. */
static _Atomic uint64_t streams[16]; /* a bit a number: a socket, a pipe ... */
#define STREAMS (sizeof(streams) * CHAR_BIT)

static bool was_stream(int fd)
{
	const unsigned n = (unsigned)fd;

	return n < STREAMS &&
	       atomic_load_explicit(&streams[n / 64], memory_order_relaxed) &
		       1ull << n % 64;
}

static void note_stream(int fd, bool is)
{
	const unsigned n = (unsigned)fd;

	if (n >= STREAMS || was_stream(fd) == is)
		return;
	if (is)
		atomic_fetch_or(&streams[n / 64], 1ull << n % 64);
	else
		atomic_fetch_and(&streams[n / 64], ~(1ull << n % 64));
}

struct fm_file *fm_file_by_fd(int fd)
{
	struct stat st;

	if (!fm_active() || (was_stream(fd) && fm_sys_is_stream(fd)) ||
	    fm_sys_stat_notimes(fd, &st))
		return NULL;
	note_stream(fd, !S_ISREG(st.st_mode));
	return fm_file_by_stat(&st);
}

FM_LIFE(files, .level = FM_LIFE_MEMORY, .reset = file_reset)
