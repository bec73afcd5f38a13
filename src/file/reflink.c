/* SPDX-License-Identifier: MIT */
#include "reflink.h"

#include <linux/fiemap.h>
#include <linux/fs.h>

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

#define EXTENTS 64

/* Is one of the extents from *at on shared? Looks at some of them. *at: where
 * to go on, or UINT64_MAX. */
static bool some_shared(int fd, uint64_t *at)
{
	union {
		struct fiemap map;
		char room[sizeof(struct fiemap) +
			  EXTENTS * sizeof(struct fiemap_extent)];
	} f = { .map = { .fm_start = *at, .fm_length = UINT64_MAX - *at,
			 .fm_extent_count = EXTENTS } };
	const struct fiemap_extent *e = f.map.fm_extents;
	uint32_t n;

	*at = UINT64_MAX;
	if (fm_sys_ioctl(fd, FS_IOC_FIEMAP, &f.map))
		return false;
	n = f.map.fm_mapped_extents;
	for (uint32_t k = 0; k < n; k++)
		if (e[k].fe_flags & FIEMAP_EXTENT_SHARED)
			return true;
	if (n == EXTENTS && !(e[n - 1].fe_flags & FIEMAP_EXTENT_LAST))
		*at = e[n - 1].fe_logical + e[n - 1].fe_length;
	return false;
}

static bool any_shared(int fd)
{
	uint64_t at = 0;

	for (int k = 0; k < fm_tune.reflink_looks; k++) {
		if (some_shared(fd, &at))
			return true;
		if (at == UINT64_MAX)
			return false;
	}
	return true;
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
