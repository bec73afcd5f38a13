/* SPDX-License-Identifier: MIT */
#include "rewrite.h"

#include "engine.h"
#include "file.h"
#include "mapops.h"
#include "page.h"
#include "ring.h"
#include "space.h"
#include "sys.h"
#include "uffd.h"

static int mem = -1; /* /proc/self/mem */
static struct stat id; /* of it: the number may become another's */
static int owner;
static _Atomic bool off;

static bool put(void *to, const void *from, size_t len)
{
	return fm_sys_pwrite(mem, from, len, (off_t)(uintptr_t)to) ==
	       (ssize_t)len;
}

void fm_rewrite_start(void)
{
	static volatile char to, from = 1;
	int fd;

	if (mem >= 0 || fm_delivery() != FM_DELIVERY_SIGNAL)
		return;
	fd = fm_sys_open("/proc/self/mem", O_RDWR, 0);
	if (fd < 0)
		return;
	mem = fm_fd_raise(fd);
	owner = fm_sys_getpid();
	to = 0;
	/* Another's /proc shows us under a number that is somebody else's. */
	atomic_store(&off, fm_sys_look(mem, &id) ||
			   !put((void *)&to, (void *)&from, 1) || to != from);
}

void fm_rewrite_reset(void)
{
	fm_fd_drop(mem);
	mem = -1;
	atomic_store(&off, false);
}

bool fm_rewrite_on(void)
{
	/* A child that was made past us has the parent's memory there. */
	return mem >= 0 && !atomic_load(&off) && !fm_sys_confined() &&
	       fm_sys_getpid() == owner &&
	       fm_sys_is_file(mem, id.st_dev, id.st_ino);
}

bool fm_rewrite(struct fm_map *m, uint64_t i, const void *src, uint64_t n)
{
	void *to = fm_map_addr(m, i);
	size_t len = n << FM_PAGE_SHIFT;

	if (atomic_load(&m->modes->bare) && put(to, src, len))
		return true;
	/* Said before the first of them is, for who looks after it has had
	 * their locks. */
	atomic_store(&m->modes->bare, true);
	if (fm_uffd_protect(to, len, false))
		return false;
	if (put(to, src, len))
		return true;
	atomic_store(&off, true); /* not on this kernel, or not any more */
	return false;
}

/* ---- whose memory it is ------------------------------------------------- */

static void cover_page(struct fm_map *m, uint64_t i, void *arg)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);
	int err = 0;

	fm_page_lock(p);
	if ((fm_mode(m, i) & (PM_PRESENT | PM_WRITABLE)) == PM_PRESENT)
		err = fm_uffd_protect(fm_map_addr(m, i), FM_PAGE, true);
	fm_page_unlock(p);
	if (err)
		*(int *)arg = err;
}

int fm_rewrite_cover(struct fm_map *m, void *arg)
{
	int err = 0;

	(void)arg;
	if (m->shared && atomic_load(&m->modes->bare))
		fm_map_each(m, 0, fm_map_pages(m), cover_page, &err);
	return err;
}

void fm_rewrite_tighten(struct fm_file *f)
{
	struct fm_map *m;
	uint64_t old;

	fm_space_lock(&old);
	for (m = atomic_load(&f->maps); m; m = atomic_load(&m->file_next))
		if (m->shared && atomic_load(&m->prot) == PROT_READ &&
		    !atomic_load(&m->vma_prot))
			fm_map_reopen(m, NULL);
	fm_space_unlock(&old);
}
