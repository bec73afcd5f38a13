/* SPDX-License-Identifier: MIT */
#include "maps.h"

#include "base/sys.h"
#include "tunables.h"

static uint64_t ms(uint64_t ns)
{
	return ns / 1000000;
}

void fm_maps_begin(struct fm_maps *m, size_t len, uint64_t took_ns,
		   uint64_t now_ns)
{
	if (len > fm_tune.serve_window)
		return;
	m->longest = len > m->longest ? len : m->longest;
	m->took_ns = took_ns;
	m->from_ns = now_ns - took_ns;
}

static void maps_judge(struct fm_maps *m, uint64_t now_ns)
{
	m->cost = (uint32_t)(m->lost_ns * 1000 / (m->mapped_ns + 1));
	m->most = fm_least(2 * m->longest, fm_tune.serve_window);
	if (m->cost >= fm_tune.serve_lost_much)
		fm_hold_fail(&m->hold, ms(now_ns));
	else
		m->hold.failed = 0;
	m->lost_ns = m->mapped_ns = m->longest = m->n = 0;
}

void fm_maps_end(struct fm_maps *m, uint64_t now_ns)
{
	const uint64_t mapped = now_ns - m->from_ns;

	if (!m->from_ns)
		return;
	m->from_ns = 0;
	m->mapped_ns += mapped;
	m->lost_ns += ms(mapped) < fm_tune.serve_short_ms ? mapped :
							    m->took_ns;
	if (++m->n == fm_tune.serve_enough)
		maps_judge(m, now_ns);
}

void fm_maps_refused(struct fm_maps *m, size_t len, uint64_t took_ns,
		     uint64_t now_ns)
{
	fm_maps_begin(m, len, took_ns, now_ns);
	fm_maps_end(m, now_ns);
}

uint32_t fm_maps_cost(const struct fm_maps *m, size_t len, uint64_t now_ns)
{
	return len <= m->most && fm_holds(&m->hold, ms(now_ns)) ? m->cost : 0;
}
