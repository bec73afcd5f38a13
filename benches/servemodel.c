/* SPDX-License-Identifier: MIT */
/*
 * servemodel.c - the engine's model of who serves (src/serve/), over what was
 * recorded: benches/servesim writes a line for each second, and reads who
 * serves in the next one. What mmap/at_map.c, judge.c and engine_trial.c count
 * in a process, the line has.
 *
 *   new BYTES MEMORY              a file is mapped, so many bytes of it
 *   cached                        the same, of one that is in the page cache
 *   second NAME=NUMBER ...        of the columns of serve_trace.def; totals are
 *                                 those of that second alone
 *
 * Whether pages come back is not recorded: of what fits none do, of the rest
 * all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/serve.h"
#include "tunables.h"

struct fm_tunables fm_tune = {
#define FM_TUNABLE(room, name, value, unit, least, most, reason, measured) \
	.name = value,
#include "tunables.def"
};

#define RECORDED_CPUS 2 /* of the machine that the corpus is from */

/* Which column is which number. */
struct second {
	uint64_t ms, major, read_bytes, spent, faults, loads, sampled, missing;
	uint64_t read_ns, page_ns, mapped, left, limit, cached, cpu_ms;
};

static const struct {
	const char *name;
	size_t at;
} columns[] = {
#define COLUMN(name) { #name, offsetof(struct second, name) }
	COLUMN(ms), COLUMN(major), COLUMN(read_bytes), COLUMN(spent),
	COLUMN(faults), COLUMN(loads), COLUMN(sampled), COLUMN(missing),
	COLUMN(read_ns), COLUMN(page_ns), COLUMN(mapped), COLUMN(left),
	COLUMN(limit), COLUMN(cached), COLUMN(cpu_ms),
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static struct fm_trial of_kernel, of_engine;
static bool engine, on_trial;
static uint64_t now_ms, read_bytes, mapped_before, waited_ns;

static void read_column(const char *word, struct second *s)
{
	const char *is = strchr(word, '=');

	for (size_t i = 0; is && i < COLUMNS; i++)
		if (strlen(columns[i].name) == (size_t)(is - word) &&
		    !strncmp(columns[i].name, word, (size_t)(is - word)))
			*(uint64_t *)((char *)s + columns[i].at) =
				strtoull(is + 1, NULL, 10);
}

static struct fm_costs costs(uint64_t bytes, uint64_t memory, uint64_t cache,
			     struct fm_cost_facts *f)
{
	f->engines = f->all = bytes;
	f->memory = memory;
	f->cache = cache;
	return fm_cost(f);
}

/* When it is mapped nothing says who would hold more of what does not fit. */
static struct fm_costs costs_at_map(uint64_t bytes, uint64_t memory)
{
	struct fm_cost_facts f = { .all = bytes, .memory = memory };

	return costs(bytes, fm_cost_fits(&f) ? memory : UINT64_MAX, memory / 2,
		     &f);
}

static void reset(void)
{
	of_kernel = of_engine = (struct fm_trial){ 0 };
	now_ms = 1000;
	read_bytes = mapped_before = waited_ns = 0;
	on_trial = engine = false;
}

static void begin(const char *line)
{
	uint64_t bytes = 0, memory = 0;
	struct fm_costs c;

	sscanf(line, "new %lu %lu", &bytes, &memory);
	reset();
	c = costs_at_map(bytes, memory);
	engine = !fm_cost_kernel_less(&c);
}

static struct fm_rate rate_of(const struct second *s)
{
	const struct fm_totals zero = { 0 };
	struct fm_totals t = {
		.ms = s->ms, .cpu_ms = s->cpu_ms / RECORDED_CPUS,
		.major = s->major, .read_bytes = s->read_bytes,
		.spent_ns = s->spent, .faults = s->faults, .loads = s->loads,
		.read_ns = s->read_ns, .page_ns = s->page_ns,
	};

	if (s->sampled)
		t.missing = (uint32_t)(s->missing * 1000 / s->sampled);
	if (on_trial && t.read_ns < of_kernel.before.fault_ns)
		t.read_ns = of_kernel.before.fault_ns;
	return fm_rate_between(&zero, &t);
}

/* As io/device.c says it: a read is hardly longer than its pages. */
static bool is_memory(const struct second *s)
{
	return s->read_ns && s->read_ns < 2 * s->page_ns;
}

static void add_waited(const struct second *s)
{
	const uint64_t part_ns = 1000000;
	const uint64_t ns = s->spent < 1000 * part_ns ? s->spent :
							 1000 * part_ns;

	waited_ns = ns < fm_tune.serve_lost_much * part_ns ? 0 : waited_ns + ns;
}

static uint64_t reread_ns(const struct second *s)
{
	return s->mapped / 4096 *
	       (s->page_ns ? s->page_ns : (uint64_t)fm_tune.device_page_ns);
}

/* The cache may become most of memory. */
static uint64_t cache_of(const struct second *s, uint64_t memory)
{
	const uint64_t most = memory - memory / fm_tune.budget_margin;

	return most > s->limit ? most : s->limit;
}

static struct fm_costs costs_of(const struct second *s, const struct fm_rate *r,
				struct fm_cost_facts *f)
{
	const uint64_t memory = s->left + s->cached;

	*f = (struct fm_cost_facts){
		.all = s->mapped,
		.memory = memory,
		.engine_ns = r->fault_ns,
		.cpu = fm_rate_in_order(r) ?
			       0 : fm_rate_cpu_wanted(r, RECORDED_CPUS),
		.kernel_ns = is_memory(s) ? s->read_ns + s->page_ns : 0,
		.waited_ns = waited_ns,
		.reread_ns = reread_ns(s),
	};
	return costs(s->mapped, memory, cache_of(s, memory), f);
}

/* Returns what the kernel is hoped to save; what fits is handed over. */
static uint32_t weigh(const struct second *s, const struct fm_rate *r)
{
	const bool settled = s->mapped == mapped_before;
	struct fm_cost_facts f;
	const struct fm_costs c = costs_of(s, r, &f);

	mapped_before = s->mapped;
	if (r->engine < fm_tune.serve_lost_much || !fm_cost_kernel_less(&c) ||
	    (fm_cost_fits(&f) && !fm_cost_rereads(&f)))
		return 0;
	if (settled && fm_cost_fits(&f))
		engine = false;
	return engine ? fm_cost_kernel_saves(&c) : 0;
}

static void act_on_kernel(enum fm_trial_act act)
{
	if (act == FM_TRIAL_BEGIN)
		on_trial = true;
	if (act == FM_TRIAL_END)
		on_trial = false;
	if (act == FM_TRIAL_BEGIN || act == FM_TRIAL_END)
		engine = act == FM_TRIAL_END;
}

static void step_kernel(const struct second *s, struct fm_trial_second *now)
{
	if (engine && !on_trial)
		now->hope = weigh(s, &now->rate);
	if (engine || on_trial)
		act_on_kernel(fm_trial_step(&fm_trial_of_kernel, &of_kernel,
					    now));
}

/* The kernel has it, and is not on trial; or the engine is. */
static void step_engine(struct fm_trial_second *now)
{
	enum fm_trial_act act;

	if (engine && of_engine.state != FM_TRIAL_RUNS)
		return;
	now->hope = engine ? 0 : fm_tune.serve_lost_much;
	act = fm_trial_step(&fm_trial_of_engine, &of_engine, now);
	if (act == FM_TRIAL_BEGIN || act == FM_TRIAL_END)
		engine = act == FM_TRIAL_BEGIN;
}

static void second(char *line)
{
	struct fm_trial_second now = { 0 };
	struct second s = { 0 };
	char *rest = NULL;

	for (char *w = strtok_r(line, " \n", &rest); w;
	     w = strtok_r(NULL, " \n", &rest))
		read_column(w, &s);
	add_waited(&s);
	now_ms += s.ms;
	read_bytes += s.read_bytes;
	now.ms = now_ms;
	now.read_bytes = read_bytes;
	now.room = s.left < s.mapped ? s.left : s.mapped;
	now.rate = rate_of(&s);
	if (engine ? of_engine.state != FM_TRIAL_RUNS : on_trial)
		step_kernel(&s, &now);
	else
		step_engine(&now);
}

int main(void)
{
	char line[4096];

	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, "new", 3))
			begin(line);
		else if (!strncmp(line, "cached", 6))
			reset();
		else
			second(line);
		puts(engine ? "engine" : "advised");
		fflush(stdout);
	}
	return 0;
}
