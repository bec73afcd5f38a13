/* SPDX-License-Identifier: MIT */
#include "vetoes.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "advise/advise.h"
#include "base/alloc.h"
#include "base/life.h"
#include "base/sys.h"
#include "base/tables.h"
#include "cache/cache.h"
#include "engine.h"
#include "file/file.h"
#include "io/io.h"
#include "peers/peers.h"
#include "rw/rw.h"
#include "vm/vm.h"

/* Who says that there is one says when it is over. */
#define SAID (FM_VETO_GIVEN | FM_VETO_KERNEL | FM_VETO_INFLIGHT | \
	      FM_VETO_SETTING | FM_VETO_ASKED)

static bool is_used(const struct fm_krange *r)
{
	return r->kept || r->nofork || (r->prot & PROT_EXEC) ||
	       (r->said && r->said != MADV_RANDOM &&
		r->said != MADV_SEQUENTIAL);
}

static uint32_t of_ranges(const struct fm_krange_all *all)
{
	uint32_t v = all->n ? 0 : FM_VETO_UNMAPPED;

	for (unsigned k = 0; k < all->n; k++)
		v |= (all->at[k].shared ? 0 : FM_VETO_PRIVATE) |
		     (is_used(&all->at[k]) ? FM_VETO_USE : 0);
	return v;
}

/* They count what is mapped beside for a moment, and what is written. */
static bool is_limited(struct fm_file *f, const struct fm_krange_all *all)
{
	uint64_t end = (uint64_t)fm_file_size(f);
	struct rlimit as = { 0, 0 };
	bool stores = false;

	for (unsigned k = 0; k < all->n; k++) {
		const struct fm_krange *r = &all->at[k];

		if (end < (r->pgoff << FM_PAGE_SHIFT) + r->end - r->start)
			end = (r->pgoff << FM_PAGE_SHIFT) + r->end - r->start;
		stores |= r->maywrite;
	}
	return (stores && fm_beyond_fsize(end)) ||
	       fm_sys4(SYS_prlimit64, 0, RLIMIT_AS, NULL, &as) ||
	       as.rlim_cur != RLIM_INFINITY;
}

static bool vetoes_is(struct fm_file *f, uint32_t veto,
		      const struct fm_krange_all *all)
{
	switch (veto) {
	case FM_VETO_OTHERS:
		return fm_peers_others(f);
	case FM_VETO_LOCKED:
		return fm_memory_look();
	case FM_VETO_RINGS:
		return atomic_load(&fm_async);
	case FM_VETO_RECORDS:
		return !fm_rings_uring() && fm_posix_locks_held(f->ino);
	case FM_VETO_LIMITS:
		return is_limited(f, all);
	case FM_VETO_TABLES:
		return atomic_load(&fm_tables_split);
	case FM_VETO_MEMORY:
		return fm_mem_monitor_short();
	case FM_VETO_MEANS:
		return fm_life_refused() || fm_sys_confined() ||
		       !fm_krange_complete();
	default:
		return of_ranges(all) & veto;
	}
}

uint32_t fm_vetoes(struct fm_file *f, uint32_t which,
		   const struct fm_krange_all *all)
{
	const uint32_t ranges = FM_VETO_RANGES | FM_VETO_LIMITS;
	const struct fm_file_id id = { f->dev, f->ino };
	struct fm_krange_all own = { NULL, 0 };
	uint32_t ask = which & ~(uint32_t)SAID;

	if (!all && (ask & ranges) && fm_krange_all(&id, &own))
		ask &= ~ranges;
	for (; ask; ask &= ask - 1)
		fm_veto_put(f->serve, ask & -ask,
			    vetoes_is(f, ask & -ask, all ? all : &own));
	fm_free(own.at);
	return atomic_load(&f->serve->vetoes) & which;
}
