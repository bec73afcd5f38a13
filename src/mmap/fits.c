/* SPDX-License-Identifier: MIT */
#include "fits.h"

#include "advise/advise.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "file/file.h"
#include "fits_rule.h"
#include "lost.h"
#include "map/map.h"
#include "memory.h"
#include "policy.h"
#include "vm/vm.h"

#define PART 16
/* What is shorter, of all that this process may use, fits into what the least
 * cache begins with, or is no more than the half of what is mapped. */
#define SMALL 32
#define GROWS ((uint64_t)1 << 20)
#define BLOCK 512u

/* A part says nothing of what else of the file is going to be mapped. */
static bool is_whole(uint64_t size, uint64_t off, uint64_t len)
{
	return off < size && fm_least(size - off, len) >= size - size / PART;
}

/* A database in the making: it is mapped beyond its end, or has few of its
 * blocks yet. */
static bool is_to_grow(const struct stat *st, uint64_t off, uint64_t len)
{
	const uint64_t size = (uint64_t)st->st_size;

	return off + len > size + GROWS ||
	       (uint64_t)st->st_blocks * BLOCK < size - size / PART;
}

static uint64_t engines(void)
{
	struct fm_file *f;
	uint64_t sum = 0;

	fm_for_each_file(f, id)
		if (atomic_load(&f->maps) && !fm_kernel_serves(f))
			sum += (uint64_t)fm_file_size(f);
	return sum;
}

/* The cache begins with half of what others leave (budget.c): the other half is
 * for who takes memory at once. */
static uint64_t begins_with(const struct fm_cache_size *size, uint64_t left)
{
	return fm_least(fm_cache_bytes(size), left / 2);
}

/* What costs least is asked first: nearly all files are smaller. */
bool fm_fits_only(const struct stat *st, uint64_t off, uint64_t len,
		  bool grows, const struct fm_policy *p)
{
	const struct fm_cache_size *size = &fm_settings()->cache;
	const uint64_t bytes = (uint64_t)st->st_size;
	struct fm_fits f = { .file = bytes };

	if (!size->automatic || p->serve != FM_SERVE_AUTO ||
	    p->warm != FM_WARM_AUTO || !is_whole(bytes, off, len) ||
	    (grows && is_to_grow(st, off, len)) ||
	    bytes < fm_memory_limit() / SMALL)
		return false;
	f.left = fm_memory_left("") + fm_cache_resident() * FM_PAGE;
	f.cache = begins_with(size, f.left);
	f.engines = engines();
	f.kernels = fm_krange_bytes();
	return fm_fits_kernel(&f);
}

/* ---- while it is mapped ------------------------------------------------ */

static bool may_go(struct fm_file *f)
{
	return atomic_load(&f->maps) && !fm_kernel_serves(f) &&
	       f->policy->serve == FM_SERVE_AUTO &&
	       f->policy->warm == FM_WARM_AUTO && !f->load.sparse &&
	       f->choice.spent_lately_ns >= FM_LOST_MUCH * 1000000ull &&
	       fm_demote_may_return(f, FM_WHY_FITS);
}

/* fits: of all that is mapped, but for the file. */
static bool goes(struct fm_file *f, uint64_t fits)
{
	struct fm_fits all = *(const struct fm_fits *)(uintptr_t)fits;

	all.file = fm_map_bytes(f);
	all.engines -= all.file;
	return may_go(f) && fm_fits_kernel(&all);
}

/* What has just been mapped may not be all. */
static bool is_settled(uint64_t mapped)
{
	static uint64_t last;
	const bool is = mapped == last;

	last = mapped;
	return is;
}

void fm_fits_second(void)
{
	struct fm_fits f = { .left = fm_mem_monitor_all(),
			     .cache = fm_mem_monitor_target(),
			     .kernels = fm_krange_bytes() };
	struct fm_file *file;
	uint64_t old;

	if (!fm_settings()->cache.automatic || !fm_settings()->take_back_ms ||
	    !f.left)
		return;
	fm_space_lock(&old);
	fm_for_each_file(file, id)
		if (!fm_kernel_serves(file))
			f.engines += fm_map_bytes(file);
	if (is_settled(f.engines + f.kernels))
		fm_demote_where(goes, (uint64_t)(uintptr_t)&f, FM_WHY_FITS);
	fm_space_unlock(&old);
}
