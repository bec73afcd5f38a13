/* SPDX-License-Identifier: MIT */
/*
 * mlock.c - mlock and its relatives. Locked memory refuses MADV_DONTNEED, so
 * nothing could be evicted from it: what is to be locked is the kernel's. And
 * what else is said of all memory, or must be true of it ever after.
 */
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/sys.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "mapops.h"
#include "unmap_cache.h"

#ifndef MCL_ONFAULT
#define MCL_ONFAULT 4 /* ABI: Linux 4.4 */
#endif

int fm_mlock(const void *addr, size_t len, unsigned flags)
{
	int err = 0;

	/* The kernel marks memory as locked even where it then cannot bring in
	 * the pages, and what is marked cannot be evicted. */
	if (fm_overlaps(addr, len))
		err = fm_demote_range(addr, len, FM_WHY_MLOCK);
	if (err)
		return err == -EOPNOTSUPP ? err : -ENOMEM;
	if (flags)
		return (int)fm_sys3(SYS_mlock2, addr, len, flags);
	return (int)fm_sys2(SYS_mlock, addr, len);
}

int fm_munlock(const void *addr, size_t len)
{
	return (int)fm_sys2(SYS_munlock, addr, len);
}

/* ---- everything -------------------------------------------------------- */

static bool may_lock(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	fm_sys2(SYS_capget, &h, d);
	return d[0].effective >> CAP_IPC_LOCK & 1;
}

/* Pages of the whole address space, as the kernel counts them here. */
static uint64_t total_pages(void)
{
	char buf[32];
	uint64_t n = 0;
	int fd = fm_sys_open("/proc/self/statm", O_RDONLY, 0);
	long len = fd < 0 ? 0 : fm_sys3(SYS_read, fd, buf, sizeof(buf));

	if (fd >= 0)
		fm_sys_close(fd);
	for (long i = 0; i < len && buf[i] >= '0' && buf[i] <= '9'; i++)
		n = n * 10 + (uint64_t)(buf[i] - '0');
	return n;
}

/* Programs that may not lock try it all the same: they keep the engine. */
static bool will_be_refused(int flags)
{
	struct rlimit rl = { 0, 0 };

	if (!flags || (flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)) ||
	    flags == MCL_ONFAULT)
		return true;
	if (may_lock())
		return false;
	fm_sys4(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &rl);
	return !rl.rlim_cur || ((flags & MCL_CURRENT) &&
				total_pages() > rl.rlim_cur / FM_PAGE);
}

static int demote_everything(enum fm_server_reason why)
{
	fm_unmap_cache_drop();
	fm_window_drop();
	return fm_demote_where(NULL, 0, why);
}

int fm_mlockall(int flags)
{
	int err;

	if (will_be_refused(flags))
		return (int)fm_sys1(SYS_mlockall, flags);
	FM_HOLD_SPACE();
	/* For MCL_FUTURE too: a file is demoted by new mappings. */
	err = demote_everything(FM_WHY_MLOCKALL);
	if (!err)
		err = (int)fm_sys1(SYS_mlockall, flags);
	else
		err = -EAGAIN;
	/* Each call replaces what the last one said about the future. */
	if (!err)
		fm_memory_lock(flags & MCL_FUTURE);
	if (!err)
		fm_krange_locked(NULL, SIZE_MAX & ~FM_PAGE_MASK);
	return err;
}

int fm_munlockall(void)
{
	int err = (int)fm_sys0(SYS_munlockall);

	if (!err)
		fm_memory_lock(false);
	if (!err)
		fm_krange_unlocked(NULL, SIZE_MAX & ~FM_PAGE_MASK);
	return err;
}

/* ---- the same bytes, one page ------------------------------------------- */

/* The kernel forgets of a page that it merges with others (KSM) that it is
 * write-protected: a store would go unnoticed. What is mapped later says no for
 * itself (fm_uffd_lay). */
int fm_memory_merge(unsigned long on)
{
	int err = 0;

	FM_HOLD_SPACE();
	if (on && !fm_sys5(SYS_prctl, PR_GET_MEMORY_MERGE, 0, 0, 0, 0))
		err = demote_everything(FM_WHY_MERGE) ? -ENOMEM : 0;
	if (!err)
		err = (int)fm_sys5(SYS_prctl, PR_SET_MEMORY_MERGE, on, 0, 0, 0);
	return err;
}
