/* SPDX-License-Identifier: MIT */
#include "served.h"

#include "base/file_part.h"
#include "base/life.h"
#include "base/lock.h"
#include "policy.h"
#include "serve/serve.h"
#include "server.h"

FM_FILE_PART(st)

static struct fm_lock lock = FM_LOCK(FM_RANK_LEAF);

enum fm_served_by fm_served_beside_engine(const struct fm_policy *p)
{
	return p->serve == FM_SERVE_AUTO || p->serve == FM_SERVE_ADVISED ?
		       FM_BY_ADVISED : FM_BY_KERNEL;
}

/* Under the lock. */
static void stop_clock(struct fm_served *s, uint64_t now)
{
	if (s->by)
		s->ms[s->by] += now - s->since_ms;
	s->since_ms = now;
}

/* To c->to at c->at_ms; from whom is known here. */
static void served_begin(struct fm_served *s, struct fm_served_change *c)
{
	FM_HOLD(&lock);
	stop_clock(s, c->at_ms);
	c->from = s->by;
	if (c->from && c->to && c->from != c->to)
		s->change[s->changes++ % FM_SERVED_CHANGES] = *c;
	if (s->by != c->to)
		s->by_since_ms = c->at_ms;
	s->by = c->to;
}

void fm_served_begin(struct fm_served *s, enum fm_served_by by,
		     enum fm_server_reason why)
{
	struct fm_served_change c = { .at_ms = fm_now_ms(), .to = (uint8_t)by,
				      .why = (uint8_t)why };

	served_begin(s, &c);
}

void fm_served_file(struct fm_file *f, enum fm_served_by by,
		    enum fm_server_reason why)
{
	struct fm_served_change c = { .at_ms = fm_now_ms(), .to = (uint8_t)by,
				      .why = (uint8_t)why };

	for (unsigned i = 0; i < FM_SERVERS; i++)
		c.cost_ns[i] = atomic_load(&f->choice->cost_ns[i]);
	served_begin(&f->st->served, &c);
}

void fm_served_read(const struct fm_served *s, struct fm_served *ret)
{
	uint64_t mask;

	fm_block_signals(&mask);
	fm_lock(&lock);
	*ret = *s;
	fm_unlock(&lock);
	fm_restore_signals(&mask);
	stop_clock(ret, fm_now_ms());
}

void fm_served_add(struct fm_served *to, const struct fm_served *from)
{
	struct fm_served now;

	fm_served_read(from, &now);
	for (unsigned by = 0; by < FM_BYS; by++)
		to->ms[by] += now.ms[by];
}

const char *fm_served_text(enum fm_served_by by)
{
	static const char *const text[FM_BYS] = { "", "engine", "advised",
						  "kernel" };

	return text[by];
}

void fm_served_unlock(void)
{
	fm_lock_reset(&lock);
}

FM_LIFE(served, .level = FM_LIFE_MEMORY, .forked = fm_served_unlock)
