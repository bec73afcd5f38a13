/* SPDX-License-Identifier: MIT */
/* stats_served.c - the statistics of who served a file, and for how long. */
#include <time.h>

#include "base/json.h"
#include "base/sys.h"
#include "file/file.h"
#include "mmap/mmap.h"
#include "serve/serve.h"
#include "stats_priv.h"

static void change_json(struct fm_json *o, const struct fm_served_change *c)
{
	struct timespec t;
	uint64_t now;

	fm_clock(CLOCK_REALTIME, &t);
	now = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
	fm_json_open(o, NULL, '{');
	fm_json_milli(o, "time", now - (fm_now_ms() - c->at_ms));
	fm_json_text(o, "from", fm_served_text(c->from));
	fm_json_text(o, "to", fm_served_text(c->to));
	fm_json_text(o, "why", fm_server_reason_text(c->why));
	fm_json_uint(o, "engine_cost_ns", c->cost_ns[FM_SERVER_ENGINE]);
	fm_json_uint(o, "kernel_cost_ns", c->cost_ns[FM_SERVER_KERNEL]);
	fm_json_close(o, '}');
}

/* Oldest first. */
static void changes_json(struct fm_json *o, const struct fm_served *s)
{
	const uint32_t n = s->changes, most = FM_SERVED_CHANGES;

	fm_json_open(o, "changes", '[');
	for (uint32_t i = n < most ? 0 : n - most; i < n; i++)
		change_json(o, &s->change[i % most]);
	fm_json_close(o, ']');
}

/* Nobody: nothing of it is open, or another list has it. */
static void by_json(struct fm_json *o, const struct fm_served *now)
{
	fm_json_text(o, "by", now->by ? fm_served_text(now->by) : NULL);
	fm_json_uint(o, "by_ms", now->by ? now->since_ms - now->by_since_ms : 0);
}

void fm_stats_served(struct fm_json *o, const struct fm_served *s,
		     bool changes)
{
	struct fm_served now;

	fm_served_read(s, &now);
	fm_json_open(o, "served", '{');
	fm_json_uint(o, "engine_ms", now.ms[FM_BY_ENGINE]);
	fm_json_uint(o, "advised_ms", now.ms[FM_BY_ADVISED]);
	fm_json_uint(o, "kernel_ms", now.ms[FM_BY_KERNEL]);
	if (changes) {
		by_json(o, &now);
		changes_json(o, &now);
	}
	fm_json_close(o, '}');
}

void fm_stats_engine_trial(struct fm_json *o, const struct fm_file *f)
{
	fm_json_milli(o, "kernel_loses", atomic_load(&f->choice->kernel));
	fm_json_milli(o, "engine_loses", atomic_load(&f->choice->engine));
}

void fm_stats_choice(struct fm_json *o)
{
	struct fm_trial_counts c;

	fm_trial_counts(&c);
	fm_json_open(o, "choice", '{');
	fm_json_uint(o, "trials", c.begun);
	fm_json_uint(o, "kept", c.kept);
	fm_json_milli(o, "engine_loses", c.engine);
	fm_json_milli(o, "kernel_loses", c.kernel);
	fm_json_close(o, '}');
}
