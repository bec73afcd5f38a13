/* SPDX-License-Identifier: MIT */
#include "uffd_poison.h"

#include "base/epoch.h"
#include "base/life.h"
#include "base/sys.h"
#include "drain.h"
#include "file/file.h"
#include "map/map.h"
#include "map_edit.h"
#include "readahead/readahead.h"
#include "tunables.h"

#define ENTRIES 512

/* By file and page: mappings move, and the page's state goes with them. Taken
 * out under the space lock. */
static struct fm_lock lock = FM_LOCK(FM_RANK_OF_TABLES);
static struct entry {
	uint32_t id;
	dev_t dev;
	ino_t ino;
	uint64_t fp, since_ms;
} entries[ENTRIES];
static unsigned first;
static _Atomic unsigned count;

bool fm_failing(void)
{
	return atomic_load(&count) != 0;
}

static void uffd_poison_reset(void)
{
	fm_lock_reset(&lock);
	atomic_store(&count, 0);
}

static bool is_missing(struct fm_map *m, uint64_t i)
{
	return !(fm_mode(m, i) & (PM_PRESENT | PM_COW | PM_LAZY));
}

/* In whatever mapping of the file it lies by now. */
static void lift(const struct entry *e)
{
	struct fm_file *f = fm_file_at(e->id);
	_Atomic uint8_t *p = f && f->dev == e->dev && f->ino == e->ino ?
				     fm_file_page(f, e->fp) : NULL;
	struct fm_map *m = p ? atomic_load(&f->maps) : NULL;

	for (; m; m = atomic_load(&m->file_next)) {
		uint64_t i = e->fp - m->pgoff;

		if (e->fp < m->pgoff || i >= fm_map_pages(m))
			continue;
		fm_page_lock(p);
		if (is_missing(m, i))
			fm_uffd_drop(fm_map_addr(m, i), FM_PAGE);
		fm_page_unlock(p);
	}
}

static void lift_first(void)
{
	struct entry e;

	fm_lock(&lock);
	e = entries[first];
	first = (first + 1) % ENTRIES;
	atomic_fetch_sub(&count, 1);
	fm_unlock(&lock);
	lift(&e);
}

static bool uffd_poison_is_due(uint64_t now)
{
	return atomic_load(&count) &&
	       now - entries[first].since_ms >= fm_tune.uffd_poison_fail_ms;
}

void fm_poison_tick(bool all)
{
	uint64_t mask;

	if (!fm_failing())
		return;
	if (all)
		fm_space_lock(&mask);
	else if (!fm_space_trylock(&mask))
		return; /* who asks has a fault to serve */
	while (all ? fm_failing() : uffd_poison_is_due(fm_now_ms()))
		lift_first();
	fm_space_unlock(&mask);
}

static void lift_all(void)
{
	fm_poison_tick(true);
}

FM_UP(file_resized, lift_all)

/* False: no room. */
static bool uffd_poison_note(struct fm_file *f, uint64_t fp)
{
	bool room;

	fm_lock(&lock);
	room = atomic_load(&count) < ENTRIES;
	if (room)
		entries[(first + atomic_fetch_add(&count, 1)) % ENTRIES] =
			(struct entry){ f->id, f->dev, f->ino, fp,
					fm_now_ms() };
	fm_unlock(&lock);
	return room;
}

/* What may be read there is not what was asked for: the store failed. */
static bool make_missing(struct fm_map *m, uint64_t i, _Atomic uint8_t *p)
{
	struct fm_zap_batch drop = { .stay_locked = true };
	uint8_t mode = fm_mode(m, i);

	if (is_missing(m, i))
		return true;
	if ((mode & (PM_COW | PM_WRITABLE)) || (fm_page_state(p) & FP_DIRTY) ||
	    fm_pinned(fm_map_addr(m, i), FM_PAGE))
		return false;
	fm_zap_page(&drop, m, i);
	fm_zap_now(&drop);
	return true;
}

/* Returns -EOPNOTSUPP where the kernel cannot. */
static int poison(struct fm_file *f, struct fm_map *m, uint64_t i)
{
	_Atomic uint8_t *p = fm_file_page(f, m->pgoff + i);
	int err = 0;

	fm_page_lock_idle(p);
	if (make_missing(m, i, p))
		err = fm_uffd_poison(fm_map_addr(m, i), FM_PAGE);
	fm_page_unlock(p);
	while (!err && !uffd_poison_note(f, m->pgoff + i))
		lift_first();
	return err;
}

int fm_poison_deadlock(struct fm_map *m, uintptr_t a)
{
	uint64_t i = (a - atomic_load(&m->start)) >> FM_PAGE_SHIFT;
	int err;

	if (!is_missing(m, i) || atomic_load(&count) == ENTRIES)
		return -EBUSY;
	/* Who fills it meanwhile has won: EEXIST. */
	err = fm_uffd_poison((void *)a, FM_PAGE);
	if (!err)
		uffd_poison_note(m->file, m->pgoff + i);
	return err;
}

/* Not ours any more, as if the kernel had it, which fails there. */
static void lay_empty(struct fm_map *m)
{
	int fd = (int)fm_sys2(SYS_memfd_create, "fastmap", 1 /* CLOEXEC */);
	int prot = atomic_load(&m->prot) & (PROT_READ | PROT_WRITE);
	bool missing;
	void *p = NULL;

	fm_map_touch(m, 0);
	fm_map_hide(m, NULL);
	fm_map_lock(m, NULL);
	missing = make_missing(m, 0, fm_file_page(m->file, m->pgoff));
	/* What drops a page forgets that it is locked, and it is still. */
	fm_mode_set(m, 0, fm_mode(m, 0) | PM_LOCKED);
	if (fd >= 0 && missing)
		p = fm_sys_mmap(fm_map_addr(m, 0), FM_PAGE, prot,
				MAP_SHARED | MAP_FIXED, fd, 0);
	if (fd >= 0)
		fm_sys_close(fd);
	if (!p || fm_is_err(p))
		fm_map_show_and_unlock(m, NULL);
	else
		fm_map_retire(m, NULL);
}

void fm_fail_access(struct fm_file *f, uintptr_t a)
{
	struct fm_map *m;

	FM_HOLD_SPACE();
	fm_range_drain(a, a + FM_PAGE, FM_DRAIN_LOCKS);
	m = fm_space_find(a);
	if (m && m->file == f) {
		uint64_t i = (a - atomic_load(&m->start)) >> FM_PAGE_SHIFT;
		unsigned e = fm_epoch_enter();

		fm_chunk_forget(f, m->pgoff + i, m->pgoff + i + 1);
		fm_epoch_leave(e);
		if (poison(f, m, i) == -EOPNOTSUPP &&
		    !fm_range_cut(a, a + FM_PAGE))
			lay_empty(fm_space_find(a));
	}
}

FM_LIFE(uffd_poison, .level = FM_LIFE_FAULTS, .reset = uffd_poison_reset)
