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
	m->len = len;
	m->took_ns = took_ns;
	m->from_ns = now_ns - took_ns;
}

bool fm_maps_is_window(size_t len)
{
	return len <= fm_tune.serve_window;
}

static void maps_judge(struct fm_maps *m, uint64_t now_ns)
{
	m->cost = (uint32_t)(m->lost_ns * 1000 / (m->mapped_ns + 1));
	m->most = fm_maps_is_window(m->longest) ?
			  fm_least(2 * m->longest, fm_tune.serve_window) :
			  m->longest;
	if (m->cost >= fm_tune.serve_lost_much)
		fm_hold_fail(&m->hold, ms(now_ns));
	else
		m->hold.failed = 0;
	m->lost_ns = m->mapped_ns = m->longest = m->n = 0;
}

static void maps_add(struct fm_maps *m, size_t len, uint64_t mapped_ns,
		     uint64_t lost_ns, uint64_t now_ns)
{
	m->longest = len > m->longest ? len : m->longest;
	m->mapped_ns += mapped_ns;
	m->lost_ns += lost_ns;
	if (++m->n == fm_tune.serve_enough)
		maps_judge(m, now_ns);
}

static bool is_read_once(const struct fm_maps *m, uint64_t read)
{
	return read >= m->len / 2 && read <= m->len;
}

static uint64_t lost_of(const struct fm_maps *m, uint64_t mapped,
			const struct fm_maps_use *use)
{
	const uint64_t lost = m->took_ns + use->again_ns;

	if (!fm_maps_is_window(m->len))
		return fm_least(mapped, lost - fm_least(lost, use->saved_ns));
	if (ms(mapped) < fm_tune.serve_short_ms)
		return mapped;
	return fm_least(mapped, is_read_once(m, use->read) ?
					m->took_ns + use->spent_ns : lost);
}

void fm_maps_end(struct fm_maps *m, struct fm_maps *alike,
		 const struct fm_maps_use *use, uint64_t now_ns)
{
	const uint64_t mapped = now_ns - m->from_ns;
	const uint64_t lost = lost_of(m, mapped, use);

	if (!m->from_ns)
		return;
	m->from_ns = 0;
	maps_add(m, m->len, mapped, lost, now_ns);
	if (alike && fm_maps_is_window(m->len))
		maps_add(alike, m->len, mapped, lost, now_ns);
}

void fm_maps_refused(struct fm_maps *m, size_t len, uint64_t took_ns,
		     uint64_t now_ns)
{
	fm_maps_begin(m, len, took_ns, now_ns);
	fm_maps_end(m, NULL, &(struct fm_maps_use){ 0 }, now_ns);
}

void fm_maps_lost(struct fm_maps *m, size_t len, uint32_t lost,
		  uint64_t now_ns)
{
	m->cost = lost > fm_tune.serve_lost_much ? lost :
						   fm_tune.serve_lost_much;
	m->most = len > m->most ? len : m->most;
	fm_hold_fail(&m->hold, ms(now_ns));
}

static uint32_t maps_cost(const struct fm_maps *m, size_t len, uint64_t now_ns)
{
	return m && len <= m->most && fm_holds(&m->hold, ms(now_ns)) ? m->cost :
								       0;
}

/* Four of its own mappings were worth what they took. */
static bool were_worth_it(const struct fm_maps *m)
{
	return m && m->most && !m->hold.failed;
}

uint32_t fm_maps_cost(const struct fm_maps *m, const struct fm_maps *alike,
		      size_t len, uint64_t now_ns)
{
	const uint32_t cost = maps_cost(m, len, now_ns);

	return cost || were_worth_it(m) ? cost : maps_cost(alike, len, now_ns);
}
