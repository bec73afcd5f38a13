/* SPDX-License-Identifier: MIT */
/*
 * shm.c - segments of System V shared memory that are laid over what is there.
 */
#include "mm.h"

#include <sys/shm.h>

FM_NEXT_PATCHED(shmat)
FM_NEXT_PATCHED(shmdt)

/*
 * Over what is managed it is moved from elsewhere: one step for other threads,
 * and what is there stays where the segment may not be attached.
 */
static void *attach_over(bool raw, int id, void *addr, int flags, size_t size)
{
	void *p, *to;
	int saved;

	p = FM_PASS_VIA(raw, shmat, SYS_shmat, id, NULL,
			flags & ~(SHM_REMAP | SHM_RND));
	if (p == MAP_FAILED)
		return p;
	to = fm_do_mremap(raw, p, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
			  addr);
	if (to != MAP_FAILED)
		return to;
	saved = errno;
	FM_PASS_VIA(raw, shmdt, SYS_shmdt, p);
	errno = saved;
	return to;
}

static size_t segment_size(int id, const void *addr)
{
	struct shmid_ds ds;

	if (!addr || (!fm_active() && !fm_krange_any()) ||
	    fm_syscall(SYS_shmctl, id, IPC_STAT, &ds))
		return 0;
	return (ds.shm_segsz + 4095) & ~(size_t)4095;
}

/* An address that is not a page's is for the kernel to refuse. */
void *fm_do_shmat(bool raw, int id, const void *addr, int flags)
{
	const uintptr_t off = (uintptr_t)addr & 4095;
	char *at = (char *)(uintptr_t)addr - (flags & SHM_RND ? off : 0);
	size_t size;

	if (!(flags & SHM_REMAP))
		return FM_PASS_VIA(raw, shmat, SYS_shmat, id, addr, flags);
	size = segment_size(id, addr);
	if (size && (!off || (flags & SHM_RND)) && managed(at, size))
		return attach_over(raw, id, at, flags, size);
	return TAKES_PAGES(FM_TAKES_RANGE(
		at, size, is_mapped,
		FM_PASS_VIA(raw, shmat, SYS_shmat, id, addr, flags)));
}

int fm_do_shmdt(bool raw, const void *addr)
{
	return TAKES_PAGES(FM_PASS_VIA(raw, shmdt, SYS_shmdt, addr));
}
