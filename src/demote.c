/* SPDX-License-Identifier: MIT */
/*
 * demote.c - hand a file back to the kernel while threads go on using it.
 *
 *  1. freeze: faults on the file wait (file->frozen);
 *  2. pass through every touched page lock: nobody is inside any more;
 *  3. write back: every page ends clean and write-protected, so no store can
 *     happen that is not seen, and those who try wait in the fault path;
 *  4. lay the kernel's mapping over ours, in one step per mapping;
 *  5. forget the mappings and let the waiters run their access again.
 */
#include <string.h>
#include <time.h>

#include "ahead.h"
#include "alloc.h"
#include "bounce.h"
#include "cache.h"
#include "chunk.h"
#include "ending.h"
#include "engine.h"
#include "epoch.h"
#include "file.h"
#include "handed.h"
#include "lazy.h"
#include "log.h"
#include "map.h"
#include "mapops.h"
#include "page.h"
#include "peers.h"
#include "pin.h"
#include "room.h"
#include "space.h"
#include "uffd.h"
#include "unsaid.h"
#include "wb.h"
#include "why.h"

/* ---- steps ------------------------------------------------------------- */

static void pass_through(struct fm_map *m, uint64_t i, void *arg)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);

	(void)arg;
	fm_page_lock_idle(p);
	fm_page_unlock(p);
}

void fm_pass_through(struct fm_map *m)
{
	fm_map_each(m, 0, fm_map_pages(m), pass_through, NULL);
}

static struct fm_list maps_of(struct fm_file *f)
{
	struct fm_list l = { NULL, 0 };
	struct fm_map *m = atomic_load(&f->maps);

	l.v = fm_alloc((atomic_load(&f->nmaps) + 1) * sizeof(*l.v));
	for (; l.v && m; m = atomic_load(&m->file_next))
		l.v[l.n++] = m;
	return l;
}

/* A system call that is storing into the mapping keeps its page writable. None
 * does that for long, but its thread may have to wait for a CPU: on a busy machine
 * a tenth of a second was too little once, for a fork. */
#define PATIENCE 1000 /* milliseconds */

static int write_back_all(struct fm_file *f)
{
	struct timespec ms = { 0, 1000000 };
	int err = 0;

	if (f->direct && !f->null_store)
		fm_handed_write(f);
	for (int tries = 0; tries < PATIENCE; tries++) {
		err = fm_wb_range(f, 0, FM_MAX_FILE_PAGES, true);
		if (err && err != -EFAULT && atomic_load(&f->warm))
			return err;
		/* A device that does not write: the page cache takes it, as it
		 * would have without us, and its mapping shows it. */
		if (err && err != -EFAULT)
			fm_file_mixed(f);
		if (fm_dirty_next(f, 0, FM_MAX_FILE_PAGES) >=
		    FM_MAX_FILE_PAGES)
			return 0;
		fm_sys_sleep(&ms);
	}
	return err ? err : -EBUSY;
}

struct fm_kmap fm_kmap_of(struct fm_map *m)
{
	struct fm_kmap k = {
		.addr = (void *)atomic_load(&m->start),
		.len = atomic_load(&m->end) - atomic_load(&m->start),
		.prot = atomic_load(&m->prot),
		.flags = (m->shared ? MAP_SHARED : MAP_PRIVATE) |
			 (m->noreserve ? MAP_NORESERVE : 0),
		.off = (off_t)(m->pgoff << FM_PAGE_SHIFT),
		.write = m->shared && m->maywrite,
		.fd = m->fd,
	};

	return k;
}

#define UNBACKED 64

struct copy_out {
	char *base;
	uint64_t unbacked[UNBACKED]; /* pages, ascending */
	unsigned n;
	int err;
};

static bool close_own(struct fm_map *m, uint64_t i)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);
	uint8_t mode;
	bool ok;

	fm_page_lock(p);
	mode = fm_mode(m, i);
	ok = fm_pin_shut(m, i) &&
	     !fm_uffd_protect(fm_map_addr(m, i), FM_PAGE, true);
	if (!ok)
		fm_mode_set(m, i, mode);
	fm_page_unlock(p);
	return ok;
}

/* A store that says EFAULT where the page cannot be had. MADV_POPULATE_WRITE tries for ever
 * then, before Linux 6.9. */
static bool can_store(char *to)
{
	return !fm_sys2(SYS_clock_gettime, CLOCK_MONOTONIC, to);
}

/* Who cuts a file takes private copies with it. */
static bool is_beyond(struct fm_map *m, uint64_t i)
{
	return (m->pgoff + i) << FM_PAGE_SHIFT >=
	       (uint64_t)fm_file_size_now(m->file);
}

/* The kernel reads the file's page before it copies it. If it cannot (and
 * would signal it to us, who have no use for it), the program's bytes go to
 * a page without a file. False: it is gone, or there is an error. */
static bool make_room(struct copy_out *c, struct fm_map *m, uint64_t i)
{
	char *to = c->base + (i << FM_PAGE_SHIFT);
	void *p;

	if (can_store(to))
		return true;
	if (is_beyond(m, i))
		return false;
	p = (void *)(intptr_t)-EIO;
	if (c->n < UNBACKED)
		p = fm_sys_mmap(to, FM_PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (fm_is_err(p))
		c->err = (int)(intptr_t)p;
	else
		c->unbacked[c->n++] = i;
	return !c->err;
}

/* Not by loads and stores: another process may cut the file meanwhile, and what is
 * beyond its end signals. */
static bool copy_page(char *to, char *from)
{
	struct iovec dst = { to, FM_PAGE }, src = { from, FM_PAGE };
	long n = fm_sys6(SYS_process_vm_readv, fm_sys_getpid(), (long)&dst, 1,
			 (long)&src, 1, 0);

	if (n == -EPERM || n == -ENOSYS) { /* a sandbox */
		memcpy(to, from, FM_PAGE);
		n = FM_PAGE;
	}
	return n == FM_PAGE;
}

/* The program's own pages of a private mapping, into the kernel's. Stores
 * are held up by write protection and the freeze meanwhile. */
static void copy_own(struct fm_map *m, uint64_t i, void *arg)
{
	const struct timespec ms = { 0, 1000000 };
	struct copy_out *c = arg;

	if (!(fm_mode(m, i) & PM_OWN) || c->err || !make_room(c, m, i))
		return;
	/* In a child of fork nobody else is here, and nothing is registered. */
	for (int tries = 0; !c->err && fm_uffd_fd() >= 0 && !close_own(m, i);
	     tries++) {
		if (tries == PATIENCE)
			c->err = -EBUSY;
		fm_sys_sleep(&ms);
	}
	if (!c->err && !copy_page(c->base + (i << FM_PAGE_SHIFT),
				  fm_map_addr(m, i)) && !is_beyond(m, i))
		c->err = -EFAULT;
}

#define TRIES 20

/* Where memory is short the target may have been unmapped already; what is to come
 * there is still where it was. */
static int move_pages(const struct copy_out *c, char *to, uint64_t first,
		      uint64_t end)
{
	const struct timespec rest = { 0, 5000000 };
	size_t at = first << FM_PAGE_SHIFT, len = (end - first) << FM_PAGE_SHIFT;
	long err = len ? -ENOMEM : 0;

	for (int tries = 0; err == -ENOMEM && tries < TRIES; tries++) {
		if (tries)
			fm_sys_sleep(&rest);
		err = fm_sys5(SYS_mremap, c->base + at, len, len,
			      MREMAP_MAYMOVE | MREMAP_FIXED, to + at);
	}
	return fm_is_err((void *)err) ? (int)err : 0;
}

/* In one step, or in one for each vma: several do not move by one call, and
 * it would have unmapped the target before it says so. */
static int move_over(const struct copy_out *c, char *to, uint64_t end)
{
	uint64_t at = 0;
	int err = 0;

	for (unsigned k = 0; k < c->n && !err; k++) {
		err = move_pages(c, to, at, c->unbacked[k]);
		at = c->unbacked[k] + 1;
		if (!err)
			err = move_pages(c, to, at - 1, at);
	}
	return err ? err : move_pages(c, to, at, end);
}

static int lay_private(struct fm_file *f, struct fm_map *m)
{
	struct fm_kmap k = fm_kmap_of(m);
	void *target = k.addr, *p;
	struct copy_out c = { .n = 0 };
	int err, prot = k.prot;

	p = fm_sys_far(k.len, PROT_NONE);
	if (fm_is_err(p))
		return (int)(intptr_t)p;
	c.base = k.addr = p;
	k.prot = PROT_READ | PROT_WRITE;
	err = fm_kernel_map(f, &k, 1);
	if (!err) {
		/* Readable for the copy. Who may store still may: write protection
		 * holds him up, where a denial would reach him as SIGSEGV. */
		if (!(prot & PROT_READ))
			fm_sys_mprotect(target, k.len, prot | PROT_READ);
		fm_sys_madvise(p, k.len, MADV_RANDOM); /* for these pages */
		fm_map_each(m, 0, fm_map_pages(m), copy_own, &c);
		fm_sys_mprotect(p, k.len, prot);
		err = c.err ? c.err : move_over(&c, target, fm_map_pages(m));
	}
	if (err) {
		fm_sys_mprotect(target, k.len, prot);
		fm_sys_munmap(c.base, k.len);
	} else {
		fm_sys_madvise(target, k.len, MADV_NORMAL);
	}
	return err;
}

int fm_demote_lay(struct fm_file *f, struct fm_map *m)
{
	struct fm_kmap k = fm_kmap_of(m);
	int err = m->shared ? fm_kernel_map(f, &k, 1) : lay_private(f, m);

	if (!err)
		fm_map_tell(m, NULL);
	return err;
}

static void clear_modes(struct fm_map *m, uint64_t i, void *arg)
{
	uint8_t mode = fm_mode(m, i);

	(void)arg;
	if (fm_mode_charged(mode))
		fm_cache_uncharge(1);
	fm_mode_set(m, i, 0);
}

/* Evictors must not touch the range once the kernel has it: what they drop of
 * a private mapping would be lost. They look at the mode under the lock. */
static void clear_locked(struct fm_map *m, uint64_t i, void *arg)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);

	fm_page_lock(p);
	if (!(fm_mode(m, i) & PM_OWN))
		clear_modes(m, i, arg);
	fm_page_unlock(p);
}

/* It stays with us after all: what clear_locked forgot is still there. */
static void drop_forgotten(struct fm_map *m)
{
	for (uint64_t i = 0; i < fm_map_pages(m); i++) {
		_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);
		uint64_t at = m->mbase + i;

		if (!atomic_load(&m->modes->touched[at >> FM_TOUCH_SHIFT])) {
			i = (at | (FM_TOUCH_PAGES - 1)) - m->mbase;
			continue;
		}
		fm_page_lock(p);
		if (!fm_mode(m, i))
			fm_uffd_drop(fm_map_addr(m, i), FM_PAGE);
		fm_page_unlock(p);
	}
}

#define LAY_TRIES 200
#define LAY_MS 5

/* Once others have been laid it has to succeed, or the file would be the kernel's and
 * ours: memory, or a process for the helper, may be there soon. */
static int lay_one(struct fm_file *f, struct fm_map *m, bool must)
{
	const struct timespec pause = { 0, LAY_MS * 1000000 };
	int err = fm_demote_lay(f, m);

	for (int t = 0; err && must && t < LAY_TRIES; t++) {
		fm_sys_sleep(&pause);
		err = fm_demote_lay(f, m);
	}
	return err;
}

/* Those with pages of their own need more, and fail sooner. */
static void private_first(struct fm_list *l)
{
	for (size_t k = 0, to = 0; k < l->n; k++)
		if (!l->v[k]->shared) {
			struct fm_map *m = l->v[k];

			l->v[k] = l->v[to];
			l->v[to++] = m;
		}
}

static int lay_all(struct fm_file *f, struct fm_list *l, size_t *ret_n)
{
	int err = 0;

	private_first(l);
	for (size_t k = 0; k < l->n && !err; k++) {
		fm_map_each(l->v[k], 0, fm_map_pages(l->v[k]), clear_locked,
			    NULL);
		err = lay_one(f, l->v[k], k > 0);
		if (err)
			drop_forgotten(l->v[k]);
		*ret_n = k + !err;
	}
	return err;
}

static _Atomic unsigned demotions;

unsigned fm_demote_count(void)
{
	return atomic_load(&demotions);
}

/* Ours until all is laid: who unmaps or replaces a part meanwhile waits. */
static int replace(struct fm_file *f, struct fm_list *l)
{
	struct fm_pieces pieces;
	size_t n = 0;
	int err;

	fm_pieces_note(f, &pieces);
	err = lay_all(f, l, &n);
	fm_pieces_join(f, &pieces, !err);
	atomic_fetch_add(&demotions, 1); /* who reads it from now on asks the kernel */
	for (size_t k = 0; k < n; k++) {
		struct fm_map *m = l->v[k];

		fm_map_each(m, 0, fm_map_pages(m), clear_modes, NULL);
		fm_space_set(atomic_load(&m->start), atomic_load(&m->end),
			     NULL);
		fm_map_unlink(m);
	}
	return err;
}

/* Said once: it may be tried for each page. */
void fm_stays(struct fm_file *f, const char *why, int err)
{
	if (!atomic_exchange(&f->stays_since_ms, fm_now_ms()))
		fm_log(FM_LOG_ERROR,
		       "%s: cannot hand the mapping to the kernel (%s), errno "
		       "%d: it stays with fastmap", f->path, why, -err);
}

/* Not where memory is so short that it is handed over for that, nor at the end. */
static void bring(struct fm_file *f, struct fm_handed *h, int err)
{
	if (err || f->null_store || fm_room_short() || atomic_load(&fm_is_ending))
		fm_handed_forget(h);
	else
		fm_handed_bring(h);
}

int fm_demote_locked(struct fm_file *f, const char *why)
{
	struct fm_handed handed;
	struct fm_list l;
	int err;

	if (atomic_load(&f->demoted) || !atomic_load(&f->maps))
		return 0;
	l = maps_of(f);
	if (!l.v)
		return -ENOMEM;
	fm_file_get(f); /* for as long as the process lives: see engine.h */
	fm_file_get(f); /* by the last of these it is hollow, see file.c */
	fm_freeze(f);
	for (size_t k = 0; k < l.n; k++) {
		fm_ahead_forget(l.v[k]);
		fm_pass_through(l.v[k]);
	}
	fm_handed_note(f, &handed);
	err = write_back_all(f);
	if (!err)
		err = replace(f, &l);
	if (err) {
		fm_stays(f, why, err);
	} else {
		atomic_store(&f->st.demote_why, why);
		atomic_fetch_add(&f->st.demotions, 1);
		atomic_store(&f->demoted, true);
		fm_unsaid_note(f); /* who syncs it asks there from now on */
		atomic_store(&f->wb_err, 0);
		fm_why_handed(f->path, f->dev, f->ino, why);
	}
	fm_thaw(f);
	bring(f, &handed, err);
	if (err)
		fm_file_put_locked(f);
	fm_file_put_locked(f);
	fm_free(l.v);
	return err;
}

int fm_file_demote(struct fm_file *f, const char *why)
{
	uint64_t old;
	int err;

	fm_space_lock(&old);
	err = fm_demote_locked(f, why);
	fm_space_unlock(&old);
	return err;
}

/* ---- from threads that cannot do it --------------------------------------- */

/* A fault cannot take the space lock while it is asked for by others who wait
 * for pages; it waits a moment and runs again, until the write-back thread
 * has done it. */
static _Atomic uint32_t pending; /* file id + 1 */
static _Atomic(const char *) pending_why;
static _Atomic(const char *) pending_shared; /* of all files, why */

FM_FAULT void fm_demote_later(struct fm_file *f, const char *why)
{
	struct timespec ms = { 0, 200000 };

	atomic_store(&pending_why, why);
	atomic_store(&pending, f->id + 1);
	fm_wb_kick();
	fm_sys_sleep(&ms);
}

int fm_demote_where(bool (*which)(struct fm_file *f, uint64_t arg), uint64_t arg,
		    const char *why)
{
	int first = 0;

	for (uint32_t id = 0; id < fm_file_top(); id++) {
		struct fm_file *f = fm_file_at(id);
		bool yes = f && (!which || which(f, arg));
		int err = yes ? fm_demote_locked(f, why) : 0;

		if (!first)
			first = err;
	}
	return first;
}

static bool only_shared(struct fm_file *f, uint64_t arg)
{
	struct fm_map *m = atomic_load(&f->maps);

	(void)arg;
	for (; m && m->shared; m = atomic_load(&m->file_next))
		;
	return !m;
}

#define AGAIN_MS 5000 /* new files, and those that could not be written */

/* Mappings of the kernel can use all memory that is left, and give it back at
 * once. */
static void demote_shared(const char *why)
{
	static _Atomic uint64_t not_before;
	static bool told;
	uint64_t old;

	if (fm_now_ms() < atomic_load(&not_before))
		return;
	atomic_store(&not_before, fm_now_ms() + AGAIN_MS);
	if (!told)
		fm_log(FM_LOG_WARN, "memory is too short for a cache: mapped "
		       "files are handed to the kernel (raise the limit of "
		       "the control group)");
	told = true;
	fm_space_lock(&old);
	fm_demote_where(only_shared, 0, why);
	fm_space_unlock(&old);
}

void fm_demote_shared_later(const char *why)
{
	atomic_store(&pending_shared, why);
	fm_wb_kick();
}

void fm_demote_pending(void)
{
	const char *shared = atomic_exchange(&pending_shared, NULL);
	uint32_t id = atomic_exchange(&pending, 0);
	struct fm_file *f;
	uint64_t old;

	if (shared) {
		demote_shared(shared);
		fm_bounce_trim();
		fm_chunk_trim();
	}
	if (!id)
		return;
	fm_space_lock(&old);
	f = fm_file_at(id - 1);
	if (f)
		fm_demote_locked(f, atomic_load(&pending_why));
	fm_space_unlock(&old);
}
