/* SPDX-License-Identifier: MIT */
/*
 * stable_writes.c - stores go on while a page is written back directly. Who
 * makes checksums of what is submitted (btrfs until Linux 6.14; dm-integrity,
 * DIF, digests of iSCSI and nvme-tcp) would keep a block that nobody can read
 * after a power failure, where there was a good one before. The page cache
 * holds such stores up: write through it.
 */
#include "stable_writes.h"

#include <linux/magic.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "base/sys.h"

#define ZFS_MAGIC 0x2fc12fc1

static bool has_sums(int fd)
{
	const long fs = fm_sys_fs_type(fd);

	return fs == BTRFS_SUPER_MAGIC || fs == ZFS_MAGIC;
}

/* A partition has no queue, the disk above it has. */
static bool device_asks(dev_t dev)
{
	static const char *const where[] = { "", "../" };
	char path[80], c = '0';

	for (int k = 0; k < 2; k++) {
		int fd;

		snprintf(path, sizeof(path),
			 "/sys/dev/block/%u:%u/%squeue/stable_writes",
			 major(dev), minor(dev), where[k]);
		fd = fm_sys_open(path, O_RDONLY, 0);
		if (fd < 0)
			continue;
		fm_sys3(SYS_read, fd, &c, 1);
		fm_sys_close(fd);
		break;
	}
	return c == '1';
}

bool fm_wants_stable(int fd, dev_t dev)
{
	return has_sums(fd) || device_asks(dev);
}
