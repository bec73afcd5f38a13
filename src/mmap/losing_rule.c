/* SPDX-License-Identifier: MIT */
#include "losing_rule.h"

#include "lost.h"

#define LITTLE 125u
#define MOST UINT32_MAX

static uint32_t a_second(uint64_t n, uint64_t ms)
{
	const uint64_t v = ms ? n * 1000 / ms : 0;

	return v < MOST ? (uint32_t)v : MOST;
}

struct fm_losing_rate fm_losing_rate(const struct fm_losing_totals *a,
				     const struct fm_losing_totals *b)
{
	const uint64_t ms = b->ms - a->ms, major = b->major - a->major;
	const uint64_t bytes = b->read_bytes - a->read_bytes;

	return (struct fm_losing_rate){
		.kernel = fm_lost_in_kernel(major, FM_LOST_FAULT_NS,
					    major ? bytes : 0, ms),
		.engine = fm_lost_in_engine(b->spent_ns - a->spent_ns, ms),
		.waits = a_second(major + b->loads - a->loads, ms),
		.kib = a_second(bytes >> 10, ms),
	};
}

bool fm_losing_much(const struct fm_losing_rate *r)
{
	return r->kernel >= FM_LOST_MUCH;
}

/* Where nearly nothing is missing each wait counts for many accesses. */
static uint64_t progress(uint64_t n, const struct fm_losing_rate *r)
{
	return n * 1000 / (r->missing ? r->missing : 1);
}

/* By more than what one second differs from the next: where both are as good
 * the file stays where it was. */
static bool is_more(uint64_t was, uint64_t is)
{
	return is >= was + was / 8;
}

bool fm_losing_better(const struct fm_losing_rate *kernel,
		      const struct fm_losing_rate *engine)
{
	return engine->engine + engine->kernel < LITTLE ||
	       is_more(progress(kernel->waits, kernel),
			  progress(engine->waits, engine)) ||
	       is_more(progress(kernel->kib, kernel),
			  progress(engine->kib, engine));
}
