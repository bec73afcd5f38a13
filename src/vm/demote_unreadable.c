/* SPDX-License-Identifier: MIT */
/*
 * demote_unreadable.c - a page that cannot be read becomes the kernel's, whose
 * mapping can make the access fail: alone if nothing can be stored to the file,
 * or with all of the file.
 */
#include "base/sys.h"
#include "engine.h"
#include "fault/fault.h"
#include "file/file.h"
#include "io/io.h"
#include "map/map.h"
#include "mapops.h"
#include "tunables.h"

/* Lay the kernel's mapping over m, which has been cut to one page. */
static int lay_beside(struct fm_file *f, struct fm_map *m)
{
	int err;

	fm_map_hide(m, NULL);
	fm_map_lock(m, NULL);
	/* Somebody has been luckier meanwhile? */
	err = fm_mode(m, 0) & PM_PRESENT ? 0 : fm_demote_lay(f, m);
	if (err || (fm_mode(m, 0) & PM_PRESENT)) {
		fm_map_show_and_unlock(m, NULL);
		return err;
	}
	f->demote->unreadable++;
	fm_file_beside(f);
	fm_map_retire(m, NULL);
	return 0;
}

/* Nothing can be stored to the file by a mapping, so ours and the kernel's
 * agree (see kernel_windows.h). */
static int demote_page(struct fm_file *f, uintptr_t a)
{
	int err;

	if (f->io->writable ||
	    f->demote->unreadable == fm_tune.demote_unreadable)
		return -ENOTSUP;
	err = fm_range_cut(a, a + FM_PAGE);
	return err ? err : lay_beside(f, fm_space_find(a));
}

/* Can the kernel map the file at all? A demotion forgets what is resident:
 * where it could not succeed it must not begin. */
static int try_kernel(struct fm_file *f, struct fm_map *m)
{
	struct fm_kmap k = fm_kmap_of(m);
	void *p = fm_sys_far(FM_PAGE, PROT_NONE);
	int err;

	if (fm_is_err(p))
		return (int)(intptr_t)p;
	k.addr = p;
	k.len = FM_PAGE;
	err = fm_kernel_map(f, &k);
	fm_sys_munmap(p, FM_PAGE);
	return err;
}

/* Without the space lock. The page at a: the kernel's from now on, alone if it
 * may be. */
static int demote_unreadable(struct fm_file *f, uintptr_t a,
			     enum fm_server_reason why)
{
	struct fm_map *m;
	int err = 0;

	if (fm_only_engine(f))
		return -EOPNOTSUPP; /* the kernel knows no better */
	FM_HOLD_SPACE();
	m = fm_space_find(a);
	if (m && m->file == f && demote_page(f, a)) {
		err = try_kernel(f, m);
		if (err)
			fm_say_not_demoted(f, why, err);
		else
			err = fm_server_change(f, FM_SERVER_KERNEL, why);
	}
	return err;
}

/* A handler thread's (fault.h). */
static int take_unservable(struct fm_file *f, uintptr_t addr, bool beyond)
{
	return beyond ? fm_file_demote(f, FM_WHY_BEYOND) :
			demote_unreadable(f, addr, FM_WHY_UNREADABLE);
}

FM_UP(fault_unservable, take_unservable)
