/* SPDX-License-Identifier: MIT */
#include "beside.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "engine.h"
#include "file.h"
#include "fork.h"
#include "map.h"
#include "policy.h"
#include "residue.h"
#include "sys.h"
#include "warm.h"

#define SURE 16   /* cached windows in a row, then */
#define GRANT 7   /* so many are not looked at */

static _Atomic bool any; /* grants have been made */

bool fm_beside_may(struct fm_file *f, bool stores, int fd,
		   const struct stat *st, off_t off, size_t len)
{
	bool may = atomic_load(&f->windows) && !f->writable && !stores &&
		   len <= FM_SMALL_WINDOW &&
		   fm_settings()->mode == FM_MODE_ON &&
		   fm_warm_window(fd, st, (uint64_t)off, len, f->policy);

	f->cached_windows = may ? f->cached_windows + 1 : 0;
	return may;
}

unsigned fm_beside_note(struct fm_file *f, const struct stat *st)
{
	bool sure = f->cached_windows >= SURE &&
		    !atomic_load(&f->stores_wanted);
	uint32_t left = atomic_exchange(&f->grants, sure ? GRANT : 0);
	unsigned used = f->granted - left;

	f->granted = sure ? GRANT : 0;
	f->beside = true;
	fm_residue_add(st);
	if (sure)
		atomic_store(&any, true);
	return used + 1;
}

/* The flag first, then the look: who maps with a grant maps first and then
 * looks at the flag, so one of the two sees the other. */
bool fm_beside_ends(struct fm_file *f, const struct stat *st)
{
	atomic_store(&f->stores_wanted, true);
	return f->beside && fm_residue_has(st);
}

static bool take_grant(struct fm_file *f)
{
	uint32_t n = atomic_load(&f->grants);

	while (n)
		if (atomic_compare_exchange_weak(&f->grants, &n, n - 1))
			return true;
	return false;
}

/* What is mapped shows what ours show, now and later. */
static bool still_true(struct fm_file *f)
{
	return !atomic_load(&f->stores_wanted) && !atomic_load(&f->demoted);
}

static void *map_beside(struct fm_file *f, void *addr, size_t len, int flags,
			int fd, off_t off)
{
	void *p;

	if (!still_true(f) || !take_grant(f))
		return NULL;
	p = fm_sys_mmap(addr, len, PROT_READ, flags, fd, off);
	if (fm_is_err(p))
		return NULL;
	if (still_true(f))
		return p;
	fm_sys_munmap(p, len);
	return NULL;
}

/* mprotect(2) may make a shared one writable unless the descriptor is not. */
static bool never_stored(int flags, int fd)
{
	return flags == MAP_PRIVATE ||
	       (flags == MAP_SHARED &&
		(fm_sys3(SYS_fcntl, fd, F_GETFL, 0) & (O_ACCMODE | O_PATH)) ==
			O_RDONLY);
}

void *fm_mmap_window(void *addr, size_t len, int prot, int flags, int fd,
		     off_t off)
{
	struct fm_file *f;
	struct stat st;
	void *p = NULL;

	if (!atomic_load_explicit(&any, memory_order_relaxed) ||
	    prot != PROT_READ || !len || len > FM_SMALL_WINDOW || fd < 0 ||
	    (flags & ~MAP_TYPE) || atomic_load(&fm_fork_touch_file) ||
	    fm_sys_fstat(fd, &st) || !S_ISREG(st.st_mode))
		return NULL;
	f = fm_file_find(st.st_dev, st.st_ino);
	if (!f)
		return NULL;
	if (atomic_load(&f->grants) && never_stored(flags, fd))
		p = map_beside(f, addr, len, flags, fd, off);
	fm_file_put(f);
	return p;
}
