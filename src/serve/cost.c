/* SPDX-License-Identifier: MIT */
#include "cost.h"

#include "base/types.h"
#include "tunables.h"

#define UNKNOWN_NS 1000u /* unit: only how the two compare counts then */
#define THOUSAND 1000u   /* unit: of misses, or of a cost */

/* Of a thousand accesses. */
static uint64_t misses(uint64_t used, uint64_t memory)
{
	return used > memory ? (used - memory) / (used / THOUSAND + 1) : 0;
}

bool fm_cost_fits(const struct fm_cost_facts *f)
{
	return f->memory != UINT64_MAX &&
	       f->all <= f->memory + f->memory / fm_tune.serve_nearly;
}

bool fm_cost_rereads(const struct fm_cost_facts *f)
{
	return f->waited_ns && f->waited_ns >= f->reread_ns;
}

static uint64_t misses_of_kernel(const struct fm_cost_facts *f)
{
	if (f->cached)
		return 0;
	if (f->memory == UINT64_MAX)
		return misses(f->engines, f->cache);
	return fm_cost_fits(f) ?
		       0 : misses(f->all, f->memory - f->memory /
						  fm_tune.serve_kernel_lacks);
}

static uint64_t misses_of_engine(const struct fm_cost_facts *f)
{
	return f->cached ? THOUSAND : misses(f->engines, f->cache);
}

uint64_t fm_cost_counts(uint32_t lost)
{
	return lost >= fm_tune.serve_lost_much ? lost : 0;
}

/* ns an access. */
static uint64_t access_ns(uint64_t misses, uint32_t left, uint64_t ns)
{
	return misses * (left ? left : FM_MISS_ALL) / FM_MISS_ALL * ns /
	       THOUSAND;
}

/* In bytes, of which a common disk reads one a nanosecond. */
static uint64_t saved_reads(uint64_t bytes, uint64_t ahead, uint64_t read_ns)
{
	const uint64_t waits = ahead ? bytes / ahead / 2 : 0;

	return waits > fm_tune.serve_start_reads ?
		       (waits - fm_tune.serve_start_reads) * read_ns : 0;
}

uint32_t fm_cost_start(uint64_t bytes, uint64_t ahead, uint64_t read_ns)
{
	const uint64_t saved = saved_reads(bytes, ahead, read_ns);
	const uint64_t start = fm_tune.serve_start;
	const uint64_t lost = start > saved ? start - saved : 0;

	return lost ? (uint32_t)(THOUSAND * lost / (lost + bytes)) : 0;
}

uint32_t fm_cost_holes(uint64_t mapped, uint64_t written,
		       const struct fm_hole_price *p)
{
	const double asks = written < mapped ? (double)(mapped - written) *
					       (double)p->room : 0;
	const double reads = (double)written * (double)p->read;

	return asks > 0 ? (uint32_t)(THOUSAND * asks / (asks + reads)) : 0;
}

uint64_t fm_cost_holes_end(uint64_t mapped, const struct fm_hole_price *p)
{
	const double left = THOUSAND > fm_tune.serve_lost_much ?
				    THOUSAND - fm_tune.serve_lost_much : 0;
	const double asks = (double)p->room * left;
	const double reads = (double)p->read * fm_tune.serve_lost_much;

	return (uint64_t)((double)(mapped / FM_PAGE) * asks /
			  (asks + reads)) * FM_PAGE;
}

bool fm_cost_too_small(uint64_t bytes)
{
	return fm_cost_counts(fm_cost_start(bytes, 0, 0));
}

static uint64_t miss_of_kernel_ns(const struct fm_cost_facts *f, uint64_t ns)
{
	if (f->kernel_ns)
		return f->kernel_ns;
	ns = fm_miss_kernel_ns(&f->miss, ns);
	return ns - ns * f->cpu / THOUSAND *
			    (THOUSAND - fm_tune.serve_cpu_kernel) / THOUSAND;
}

static uint64_t kernel_cost(const struct fm_cost_facts *f, uint64_t ns)
{
	const uint64_t misses = misses_of_kernel(f);
	const uint64_t waits = access_ns(misses, fm_miss_left_kernel(&f->miss),
					 miss_of_kernel_ns(f, ns));
	const uint64_t bytes = access_ns(misses, FM_MISS_ALL, f->page_ns);

	return waits > bytes ? waits : bytes;
}

struct fm_costs fm_cost(const struct fm_cost_facts *f)
{
	const uint64_t ns = f->engine_ns ? f->engine_ns : UNKNOWN_NS;

	return (struct fm_costs){
		.engine = access_ns(misses_of_engine(f),
				    fm_miss_left_engine(&f->miss), ns) +
			  fm_cost_counts(f->maps) + fm_cost_counts(f->peers) +
			  fm_cost_counts(f->start) + fm_cost_counts(f->holes),
		.kernel = kernel_cost(f, ns),
	};
}

uint32_t fm_cost_kernel_saves(const struct fm_costs *c)
{
	return c->kernel < c->engine ?
		       (uint32_t)((c->engine - c->kernel) * THOUSAND /
				  c->engine) : 0;
}

bool fm_cost_kernel_less(const struct fm_costs *c)
{
	return fm_cost_kernel_saves(c) > fm_tune.serve_lost_much;
}
