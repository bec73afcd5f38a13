/* SPDX-License-Identifier: MIT */
#include "rate.h"

#include "base/sys.h"
#include "base/types.h"
#include "miss.h"
#include "tunables.h"

static uint32_t rate_part(uint64_t lost_us, uint64_t ms)
{
	return ms ? (uint32_t)fm_least(lost_us / ms, UINT32_MAX) : 0;
}

static uint32_t a_second(uint64_t n, uint64_t ms)
{
	return ms ? (uint32_t)fm_least(n * 1000 / ms, UINT32_MAX) : 0;
}

static uint64_t kernel_us(const struct fm_totals *a, const struct fm_totals *b)
{
	const uint64_t major = b->major - a->major;
	const uint64_t pages = (b->read_bytes - a->read_bytes) / FM_PAGE;
	const uint64_t page = b->page_ns ? b->page_ns :
					   (uint64_t)fm_tune.device_page_ns;
	const uint64_t wait =
		b->read_ns ? b->read_ns :
			     (uint64_t)fm_tune.device_fixed_ns + page;

	return major ? (major * wait + pages * page) / 1000 : 0;
}

static uint32_t with_kernel(const struct fm_totals *a,
			    const struct fm_totals *b)
{
	const uint32_t counted = rate_part(kernel_us(a, b), b->ms - a->ms);
	const uint32_t seen = b->waiting * 1000;

	return counted > seen ? counted : seen;
}

/* Of a sum over files, of which one may be gone. */
static uint64_t more(uint64_t was, uint64_t is)
{
	return is > was ? is - was : 0;
}

static uint64_t kernels_bytes(const struct fm_totals *a,
			      const struct fm_totals *b)
{
	return more(more(a->load_bytes, b->load_bytes),
		    b->read_bytes - a->read_bytes);
}

/* Pages that were asked for. */
static uint64_t pages_used(const struct fm_totals *a, const struct fm_totals *b)
{
	const uint64_t waits =
		b->left ? (b->major - a->major) * FM_MISS_ALL / b->left : 0;
	const uint64_t read = kernels_bytes(a, b) / FM_PAGE * b->worth /
			      FM_MISS_ALL;

	return more(a->used, b->used) + (waits > read ? waits : read);
}

struct fm_rate fm_rate_between(const struct fm_totals *a,
			       const struct fm_totals *b)
{
	const uint64_t ms = b->ms - a->ms, spent = b->spent_ns - a->spent_ns;
	const uint64_t faults = b->faults - a->faults;

	return (struct fm_rate){
		.kernel = with_kernel(a, b),
		.engine = rate_part(spent / 1000, ms),
		.cpu = (uint32_t)fm_least(
			rate_part((b->cpu_ms - a->cpu_ms) * 1000, ms), 1000),
		.waits = a_second(b->major - a->major +
				  more(a->loads, b->loads), ms),
		.kib = a_second((b->read_bytes - a->read_bytes) >> 10, ms),
		.missing = b->missing,
		.used = a_second(pages_used(a, b), ms),
		.fault_ns = faults ? spent / faults : 0,
	};
}

/* With both together. */
static uint32_t rate_lost(const struct fm_rate *r)
{
	return (uint32_t)fm_least((uint64_t)r->kernel + r->engine, UINT32_MAX);
}

static uint64_t progress(uint64_t n, const struct fm_rate *r)
{
	return n * 1000 / (r->missing ? r->missing : 1);
}

uint64_t fm_rate_reached(const struct fm_rate *r)
{
	return r->missing ? progress(r->used ? r->used : r->waits, r) : 0;
}

bool fm_rate_in_order(const struct fm_rate *engine)
{
	return engine->kib >= fm_tune.serve_piece_kib * (uint64_t)engine->waits;
}

uint32_t fm_rate_cpu_wanted(const struct fm_rate *engine, unsigned cpus)
{
	const uint64_t all = (uint64_t)cpus * 1000;

	return (uint32_t)(engine->cpu * fm_least(engine->engine, all) / all);
}

struct both {
	uint64_t engine, kernel;
};

static struct both progress_of_both(const struct fm_rate *engine,
				    const struct fm_rate *kernel)
{
	struct both n = { engine->waits, kernel->waits };

	if (engine->used && kernel->used)
		n = (struct both){ engine->used, kernel->used };
	else if (fm_rate_in_order(engine))
		n = (struct both){ engine->kib, kernel->kib };
	return (struct both){ progress(n.engine, engine),
			      progress(n.kernel, kernel) };
}

/* By more than what one second differs from the next: where both are as good
 * the file stays where it was. */
static bool is_more(uint64_t was, uint64_t is)
{
	return is > was + was / 8;
}

/* Where it is not known how far the engine got nothing is further. */
bool fm_rate_kernel_better(const struct fm_rate *engine,
			   const struct fm_rate *kernel)
{
	const struct both n = progress_of_both(engine, kernel);

	return kernel->kernel < engine->engine / 4 ||
	       (engine->missing && kernel->missing &&
		is_more(n.engine, n.kernel));
}

bool fm_rate_engine_better(const struct fm_rate *kernel,
			   const struct fm_rate *engine)
{
	const struct both n = progress_of_both(engine, kernel);

	return rate_lost(engine) < fm_tune.serve_lost_much / 2 ||
	       is_more(n.kernel, n.engine);
}

bool fm_rate_kernel_worse(const struct fm_rate *engine,
			  const struct fm_rate *kernel)
{
	const struct both n = progress_of_both(engine, kernel);

	return kernel->kernel > engine->engine / 2 &&
	       (!engine->missing || n.kernel < n.engine);
}
