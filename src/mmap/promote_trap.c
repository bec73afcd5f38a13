/* SPDX-License-Identifier: MIT */
#include "promote_trap.h"

#include <sys/mman.h>

#include "base/pause.h"
#include "base/sys.h"
#include "base/types.h"
#include "base/vma_room.h"
#include "engine.h"
#include "map/map.h"
#include "tunables.h"

#define STEP ((size_t)64 << 20) /* size: poisoned by one call */

static _Atomic uint64_t last_ms; /* one was laid */

/* [fault] On a kernel that knows of failing memory a poisoned page is told as
 * such. */
FM_FAULT bool fm_trapped(const void *addr)
{
	uint64_t last = atomic_load(&last_ms);

	return last && fm_now_ms() - last < fm_tune.patience_ms &&
	       fm_space_find((uintptr_t)addr);
}

static int promote_trap_poison(const struct fm_trap *t)
{
	for (size_t at = 0; at < t->len; at += STEP) {
		int err = fm_uffd_poison(t->at + at,
					 fm_least(STEP, t->len - at));

		if (err)
			return err;
	}
	return 0;
}

/* Where all that is new is locked it has pages from then on: before it is
 * registered, for nobody would serve a fault there. EINVAL says so. */
static int set_for_threads(const struct fm_trap *t, int prot)
{
	int err = fm_sys_mprotect(t->at, t->len, prot);

	if (!err)
		err = fm_uffd_register(t->at, t->len);
	return err ? err : fm_sys_madvise(t->at, t->len, MADV_DONTNEED);
}

static int set_for_signals(const struct fm_trap *t, int prot)
{
	int err = fm_uffd_register(t->at, t->len);

	if (!err)
		err = promote_trap_poison(t);
	/* Or it would become one with a neighbour of ours, which mremap then
	 * takes the registration from. */
	if (!err)
		err = fm_uffd_unregister(t->at, t->len);
	return err ? err : fm_sys_mprotect(t->at, t->len, prot);
}

static int promote_trap_set(const struct fm_trap *t, int prot)
{
	int err = fm_sys_madvise(t->at, t->len, MADV_DONTFORK);

	fm_sys_madvise(t->at, t->len, MADV_DONTDUMP);
	fm_sys_madvise(t->at, t->len, MADV_NOHUGEPAGE);
	if (err)
		return err;
	return fm_delivery() == FM_DELIVERY_THREAD ? set_for_threads(t, prot) :
						     set_for_signals(t, prot);
}

int fm_trap_make(struct fm_trap *t, uintptr_t for_addr, size_t len, int prot)
{
	/* In step with the target whole page tables move. */
	size_t room = len + FM_HUGE, skip;
	char *p = fm_sys_far(room, PROT_NONE);
	int err;

	*t = (struct fm_trap){ .len = len };
	if (fm_is_err(p))
		return (int)(intptr_t)p;
	skip = (for_addr - (uintptr_t)p) & (FM_HUGE - 1);
	if (skip)
		fm_sys_munmap(p, skip);
	fm_sys_munmap(p + skip + len, FM_HUGE - skip);
	t->at = p + skip;
	err = promote_trap_set(t, prot);
	if (err)
		fm_trap_free(t);
	return err;
}

void fm_trap_free(struct fm_trap *t)
{
	if (t->at)
		fm_sys_munmap(t->at, t->len);
	if (t->kept)
		fm_sys_munmap(t->kept, t->len);
	t->at = t->kept = NULL;
}

static void *trap_move(const void *from, size_t old_len, size_t len, void *to)
{
	return (void *)fm_sys5(SYS_mremap, from, old_len, len,
			       MREMAP_MAYMOVE | MREMAP_FIXED, to);
}

int fm_trap_keep(struct fm_trap *t, uintptr_t from)
{
	char *far = fm_sys_far(t->len, PROT_NONE);
	void *p;

	if (fm_is_err(far))
		return (int)(intptr_t)far;
	p = trap_move((void *)from, 0, t->len, far);
	if (fm_is_err(p)) {
		fm_sys_munmap(far, t->len);
		return (int)(intptr_t)p;
	}
	t->kept = far;
	return 0;
}

int fm_trap_lay(struct fm_trap *t, uintptr_t to)
{
	void *p;

	atomic_store(&last_ms, fm_now_ms());
	p = fm_uffd_mremap((uintptr_t)t->at, t->len, t->len,
			   MREMAP_MAYMOVE | MREMAP_FIXED, to);
	if (fm_is_err(p))
		return (int)(intptr_t)p;
	t->at = NULL;
	return fm_uffd_lay((void *)to, t->len);
}

int fm_trap_back(struct fm_trap *t, uintptr_t to, struct fm_vma_room *room)
{
	const struct fm_wait w = fm_wait_for(fm_tune.patience_ms);
	void *p;

	do
		p = trap_move(t->kept, t->len, t->len, (void *)to);
	while (fm_is_err(p) && (fm_vma_room_give(room) || fm_wait_on(&w)));
	if (fm_is_err(p))
		return (int)(intptr_t)p;
	t->kept = NULL;
	return 0;
}
