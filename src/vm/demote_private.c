/* SPDX-License-Identifier: MIT */
/*
 * demote_private.c - the kernel's private mapping in the place of ours, with
 * the pages that are the program's own. It is made elsewhere and then moves: in
 * between nobody stores (freeze), and what is ours has not changed.
 */
#include <string.h>

#include "base/pause.h"
#include "base/sys.h"
#include "file/file.h"
#include "map/map.h"
#include "mapops.h"
#include "tunables.h"

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

/* A store that says EFAULT where the page cannot be had. MADV_POPULATE_WRITE
 * tries for ever then, before Linux 6.9. */
static bool can_store(char *to)
{
	return !fm_sys2(SYS_clock_gettime, CLOCK_MONOTONIC, to);
}

/* Who cuts a file takes private copies with it. */
static bool demote_private_is_beyond(struct fm_map *m, uint64_t i)
{
	return (m->pgoff + i) << FM_PAGE_SHIFT >=
	       (uint64_t)fm_file_size_now(m->file);
}

/* The kernel reads the file's page before it copies it. If it cannot (and
 * would signal it to us, who have no use for it), the program's bytes go to
 * a page without a file. False: it is gone, or there is an error. */
static bool demote_private_make_room(struct fm_own *c, struct fm_map *m,
				     uint64_t i)
{
	char *to = c->base + (i << FM_PAGE_SHIFT);
	void *p;

	if (can_store(to))
		return true;
	if (demote_private_is_beyond(m, i))
		return false;
	p = (void *)(intptr_t)-EIO;
	if (c->n < FM_UNBACKED)
		p = fm_sys_mmap(to, FM_PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (fm_is_err(p))
		c->err = (int)(intptr_t)p;
	else
		c->unbacked[c->n++] = i;
	return !c->err;
}

/* Not by loads and stores: another process may cut the file meanwhile, and what
 * is beyond its end signals. */
static bool copy_page(char *to, char *from)
{
	long n = fm_sys_vm_copy(SYS_process_vm_readv, to, from, FM_PAGE);

	if (n == -EPERM || n == -ENOSYS) { /* a sandbox */
		memcpy(to, from, FM_PAGE);
		n = FM_PAGE;
	}
	return n == FM_PAGE;
}

/* In a child of fork nobody else is here, and nothing is registered. */
static int close_in_time(struct fm_map *m, uint64_t i)
{
	const struct fm_wait w = fm_wait_for(fm_tune.moment_ms);

	while (fm_uffd_fd() >= 0 && !close_own(m, i))
		if (!fm_wait_on(&w))
			return -EBUSY;
	return 0;
}

/* The program's own pages of a private mapping, into the kernel's. Stores
 * are held up by write protection and the freeze meanwhile. */
static void copy_own(struct fm_map *m, uint64_t i, void *arg)
{
	struct fm_own *c = arg;

	if (!(fm_mode(m, i) & PM_COW) || c->err ||
	    !demote_private_make_room(c, m, i))
		return;
	if (!c->err)
		c->err = close_in_time(m, i);
	if (!c->err &&
	    !copy_page(c->base + (i << FM_PAGE_SHIFT), fm_map_addr(m, i)) &&
	    !demote_private_is_beyond(m, i))
		c->err = -EFAULT;
}

static int move_pages(const struct fm_own *c, char *to, uint64_t first,
		      uint64_t end, struct fm_vma_room *room)
{
	size_t at = first << FM_PAGE_SHIFT, len = (end - first)
						  << FM_PAGE_SHIFT;

	return len ? fm_kmap_move(c->base + at, to + at, len, room) : 0;
}

/* In one step, or in one for each vma: several do not move by one call, and
 * it would have unmapped the target before it says so. */
static int move_over(const struct fm_own *c, char *to, uint64_t end,
		     struct fm_vma_room *room)
{
	uint64_t at = 0;
	int err = 0;

	for (unsigned k = 0; k < c->n && !err; k++) {
		err = move_pages(c, to, at, c->unbacked[k], room);
		at = c->unbacked[k] + 1;
		if (!err)
			err = move_pages(c, to, at - 1, at, room);
	}
	return err ? err : move_pages(c, to, at, end, room);
}

/* Readable for the copy. Who may store still may: write protection holds him
 * up, where a denial would reach him as SIGSEGV. */
static int copy_own_all(struct fm_map *m, struct fm_own *c,
			const struct fm_kmap *k)
{
	if (!(c->prot & PROT_READ))
		fm_sys_mprotect((void *)atomic_load(&m->start), k->len,
				c->prot | PROT_READ);
	fm_sys_madvise(k->addr, k->len, MADV_RANDOM); /* for these pages */
	fm_map_each(m, 0, fm_map_pages(m), copy_own, c);
	fm_sys_mprotect(k->addr, k->len, c->prot);
	return c->err;
}

int fm_own_make(struct fm_file *f, struct fm_map *m, struct fm_own *ret)
{
	struct fm_kmap k = fm_kmap_of(m);
	void *p = fm_sys_far(k.len, PROT_NONE);
	int err;

	*ret = (struct fm_own){ .prot = k.prot };
	if (fm_is_err(p))
		return (int)(intptr_t)p;
	ret->base = k.addr = p;
	k.prot = PROT_READ | PROT_WRITE;
	err = fm_kernel_map(f, &k);
	if (!err)
		err = copy_own_all(m, ret, &k);
	if (err)
		fm_own_forget(ret, m);
	return err;
}

int fm_own_lay(struct fm_own *own, struct fm_map *m, struct fm_vma_room *room)
{
	char *to = (char *)atomic_load(&m->start);
	int err = move_over(own, to, fm_map_pages(m), room);

	if (err) {
		fm_own_forget(own, m);
		return err;
	}
	fm_sys_madvise(to, fm_map_pages(m) << FM_PAGE_SHIFT, MADV_NORMAL);
	own->base = NULL;
	return 0;
}

void fm_own_forget(struct fm_own *own, struct fm_map *m)
{
	const size_t len = fm_map_pages(m) << FM_PAGE_SHIFT;

	if (!own->base)
		return;
	fm_sys_mprotect((void *)atomic_load(&m->start), len, own->prot);
	atomic_store(&m->vma_prot, true);
	fm_sys_munmap(own->base, len);
	own->base = NULL;
}
