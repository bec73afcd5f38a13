/* SPDX-License-Identifier: MIT */
#include "fits.h"

#include "advise/advise.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "file/file.h"
#include "memory.h"
#include "policy.h"
#include "serve/serve.h"

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

static bool kernel_costs_less(const struct fm_cost_facts *facts)
{
	const struct fm_costs c = fm_cost(facts);

	return fm_cost_kernel_less(&c);
}

/* Of many files the first are the engine's before it is known that the rest is
 * coming. It keeps them, and gets the rest, unless this one is larger.
 * What costs least is asked first: nearly all files are smaller. */
bool fm_fits_only(const struct stat *st, uint64_t off, uint64_t len,
		  bool grows, const struct fm_policy *p)
{
	const struct fm_cache_size *size = &fm_settings()->cache;
	const uint64_t bytes = (uint64_t)st->st_size;
	struct fm_cost_facts c = { .engines = bytes };
	uint64_t others;

	if (!size->automatic || p->serve != FM_SERVE_AUTO ||
	    p->warm != FM_WARM_AUTO || !is_whole(bytes, off, len) ||
	    (grows && is_to_grow(st, off, len)) ||
	    bytes < fm_memory_limit() / SMALL)
		return false;
	c.memory = fm_memory_left("");
	if (c.memory == UINT64_MAX)
		return false;
	c.memory += fm_cache_resident() * FM_PAGE;
	c.cache = begins_with(size, c.memory);
	others = engines();
	c.engines += others;
	c.all = c.engines + fm_krange_bytes();
	return bytes >= others && kernel_costs_less(&c);
}
