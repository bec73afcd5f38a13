/* SPDX-License-Identifier: MIT */
#include "reflink.h"

#include "base/extents.h"
#include "base/sys.h"
#include "engine.h"
#include "file.h"
#include "tunables.h"

#define XFS_MAGIC 0x58465342
#define OVERLAYFS_MAGIC 0x794c7630
#define OCFS2_MAGIC 0x7461636f
#define BCACHEFS_MAGIC 0xca451a4e

static bool may_share(int fd)
{
	const long fs = fm_sys_fs_type(fd);

	return fs == XFS_MAGIC || fs == OVERLAYFS_MAGIC ||
	       fs == OCFS2_MAGIC || fs == BCACHEFS_MAGIC;
}

static bool is_shared(const struct fiemap_extent *e, void *arg)
{
	return e->fe_flags & FIEMAP_EXTENT_SHARED;
}

static bool any_shared(int fd)
{
	const int err = fm_extents_find(fd, 0, UINT64_MAX,
					(int)fm_tune.reflink_looks, is_shared,
					NULL);

	return err == 1 || err == -E2BIG;
}

static void reflink_set(struct fm_file *f, enum fm_unshare how)
{
	atomic_store(&f->load->unshare, how);
	f->load->sparse = true; /* stores ask for room */
}

void fm_shared_look(struct fm_file *f, int fd)
{
	if (f->load->shared_looked)
		return;
	f->load->shared_looked = true;
	if (!may_share(fd))
		return;
	atomic_store(&f->load->unshare, FM_UNSHARE_MAYBE);
	if (any_shared(fd))
		reflink_set(f, FM_UNSHARE_ONCE);
}

void fm_file_shares(struct fm_file *f)
{
	fm_shared_maybe(f);
}

void fm_shared_maybe(struct fm_file *f)
{
	if (atomic_load(&f->load->unshare) != FM_UNSHARE_NEVER)
		reflink_set(f, FM_UNSHARE_ALWAYS);
}
