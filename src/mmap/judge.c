/* SPDX-License-Identifier: MIT */
#include "judge.h"

#include "advise/advise.h"
#include "base/life.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/thread.h"
#include "cache/cache.h"
#include "engine.h"
#include "fault/fault.h"
#include "file/file.h"
#include "io/io.h"
#include "engine_trial.h"
#include "map/map.h"
#include "nonresident.h"
#include "policy.h"
#include "readahead/readahead.h"
#include "serve/serve.h"
#include "tunables.h"
#include "vm/vm.h"

static struct fm_trial trial;
static struct fm_totals last;
static uint64_t last_waits;
static _Atomic bool lost, busy;
static _Atomic uint64_t begun, kept;
static struct fm_miss miss; /* of what was waited for most with the engine */
static uint64_t waited_ns; /* for the engine, in a row of seconds */
static _Atomic uint32_t in_engine, in_kernel; /* lost time, when compared */

bool fm_judge_tries(const struct fm_file *f)
{
	const unsigned why = atomic_load(&f->st->demote_why);

	return fm_kernel_serves(f) &&
	       (why == FM_WHY_TRIED || why == FM_WHY_MEASURED);
}

bool fm_judge_returns(void)
{
	return atomic_load(&lost);
}

/* ---- what is counted ---------------------------------------------------- */

struct look {
	struct fm_totals totals;
	struct fm_rate rate;
	uint64_t lost_ns; /* with the engine, since the last one */
	uint64_t most_ns; /* of that the file that lost most */
	uint64_t engines; /* bytes in its mappings */
	uint64_t waits;   /* for what it did not have, total */
	uint64_t reread_ns; /* that the kernel takes for these */
	uint64_t each_ns;   /* a page takes, of many in large reads */
	uint64_t memory_ns; /* of the file that is waited for most: device.h */
	dev_t dev;          /* and its device; 0: none is */
};

static void judge_add(struct fm_file *f, struct look *l)
{
	const uint64_t spent = atomic_load(&f->st->spent_ns);

	f->choice->spent_lately_ns = spent - f->choice->spent_seen_ns;
	f->choice->spent_seen_ns = spent;
	l->lost_ns += f->choice->spent_lately_ns;
	if (l->most_ns < f->choice->spent_lately_ns)
		l->most_ns = f->choice->spent_lately_ns;
	l->totals.loads += atomic_load(&f->st->loads);
	l->totals.load_bytes += atomic_load(&f->st->load_bytes);
	l->totals.used += atomic_load(&f->nearby->used) / FM_MISS_ALL;
	l->waits += atomic_load(&f->nearby->waits);
	if (!fm_kernel_serves(f))
		l->engines += fm_map_bytes(f);
}

static void judge_ask_device(const struct fm_file *f, struct look *l)
{
	l->totals.read_ns = fm_device_ns(f, 1);
	l->totals.page_ns = fm_device_ns(f, 2) - l->totals.read_ns;
	l->reread_ns = (l->engines >> FM_PAGE_SHIFT) * l->totals.page_ns;
	l->each_ns = fm_device_each_ns(f, FM_HUGE_PAGES) / FM_HUGE_PAGES;
	l->memory_ns = fm_device_memory_ns(f);
	if (!f->choice->spent_lately_ns)
		return;
	l->dev = f->dev;
	miss.fixed = fm_device_even_now(f);
	fm_nearby_counts(f, &miss.counts);
	fm_nearby_all(f, &miss.all);
}

/* What a wait takes tells the device of the file that is waited for most. What
 * is handed over is brought at once, in large pieces (vm/demote.c). */
static void look_at_files(struct look *l)
{
	const struct fm_file *most = NULL;
	struct fm_file *f;

	FM_HOLD_SPACE();
	fm_for_each_file(f, id) {
		judge_add(f, l);
		fm_holes_weigh(f);
		if (!most || f->choice->spent_lately_ns >
				     most->choice->spent_lately_ns)
			most = f;
	}
	if (most)
		judge_ask_device(most, l);
}

/* The kernel has it now, or is tried. */
static bool kernel_has(const struct look *l)
{
	return trial.state != FM_TRIAL_NONE || !l->dev;
}

/* How the engine was waited for since the last look. */
static void look_at_waits(const struct look *l)
{
	const uint64_t waits = l->waits - last_waits;
	const uint64_t used = l->totals.used - last.used;
	const uint64_t bytes = l->totals.load_bytes - last.load_bytes;

	if (l->waits <= last_waits || l->totals.used <= last.used ||
	    l->totals.load_bytes < last.load_bytes)
		return;
	miss.waits = (uint32_t)(waits * FM_MISS_ALL / used);
	miss.pages = (uint32_t)(bytes / FM_PAGE / waits);
}

static void look_at_misses(struct look *l)
{
	if (l->dev)
		miss.kernel = (uint32_t)(fm_readahead_known(l->dev) >>
					 FM_PAGE_SHIFT);
	look_at_waits(l);
	last_waits = l->waits;
	if (kernel_has(l)) {
		l->totals.left = fm_miss_left_kernel(&miss);
		l->totals.worth = fm_miss_worth_kernel(&miss);
	}
}

/* However many threads wait, it is for one second. What is less than is worth a
 * change begins the row anew. */
static void add_waited(const struct look *l)
{
	const uint64_t part_ns = FM_SECOND_MS * 1000;
	const uint64_t ns = fm_least(l->lost_ns, 1000 * part_ns);

	waited_ns = ns < fm_tune.serve_lost_much * part_ns ? 0 : waited_ns + ns;
}

/* A wait of the kernel's is as long as one of the engine was, or as the device
 * takes. */
static void measure(struct look *l)
{
	fm_totals_of_kernel(&l->totals);
	l->totals.spent_ns = fm_latency_spent(&l->totals.faults);
	look_at_files(l);
	look_at_misses(l);
	add_waited(l);
	if (trial.state != FM_TRIAL_NONE) {
		l->totals.waiting = fm_threads_waiting();
		if (l->totals.read_ns < trial.before.fault_ns)
			l->totals.read_ns = trial.before.fault_ns;
	}
	l->rate = fm_rate_between(&last, &l->totals);
}

/* ---- what it would cost ------------------------------------------------- */

/* Who reads ahead works for nobody who waits: of who reads in order nothing is
 * known by that, unless it was counted what comes along. */
static uint32_t cpu_wanted(const struct fm_rate *r)
{
	return fm_rate_in_order(r) && !fm_miss_left_kernel(&miss) ?
		       0 : fm_rate_cpu_wanted(r, fm_cpus());
}

/* All that wait have what the device brings together, and of what the kernel
 * reads a part is for nothing. */
static uint64_t page_least_ns(const struct look *l)
{
	const uint32_t worth = fm_miss_worth_kernel(&miss);

	return worth ? l->each_ns * l->rate.engine / 1000 * FM_MISS_ALL / worth
		     : 0;
}

/* The memory of a cache whose size was given would be the kernel's, no more.
 * Until pages come back to a cache that has grown into what others leave
 * nothing says that ours is too small. On a device as fast as memory the call
 * that reads copies: with the kernel nobody waits for longer than that.
 * Elsewhere threads wait for each other's reads. */
static struct fm_cost_facts judge_facts_of(const struct look *l,
					   enum fm_loops loops, bool back)
{
	struct fm_cost_facts c = {
		.engines = l->engines,
		.all = l->engines + fm_krange_in_use(),
		.cache = back && fm_mem_monitor_grown() ?
				 fm_mem_monitor_target() :
				 fm_mem_monitor_most(),
		.memory = fm_settings()->cache.automatic &&
			  fm_mem_monitor_all() ? fm_mem_monitor_all() :
						 UINT64_MAX,
		.engine_ns = l->rate.fault_ns,
		.kernel_ns = l->memory_ns,
		.page_ns = page_least_ns(l),
		.cpu = cpu_wanted(&l->rate),
		.waited_ns = waited_ns,
		.reread_ns = l->reread_ns,
		.miss = miss,
	};

	/* What is in use is less than what is mapped, and fits. */
	if (loops)
		c.engines = c.all = fm_least(c.all, c.memory);
	return c;
}

static void note_costs(const struct fm_costs *c)
{
	struct fm_file *f;

	FM_HOLD_SPACE();
	fm_for_each_file(f, id) {
		atomic_store(&f->choice->cost_ns[FM_SERVER_ENGINE], c->engine);
		atomic_store(&f->choice->cost_ns[FM_SERVER_KERNEL], c->kernel);
	}
}

/* ---- which files -------------------------------------------------------- */

/* Only what can come back, and is a cause of it, where the file that has lost
 * most has lost `most`, in ns. */
static bool may_be_tried(struct fm_file *f, uint64_t most)
{
	return atomic_load(&f->maps) && !fm_kernel_serves(f) &&
	       fm_trial_to_blame(f->choice->spent_lately_ns, most) &&
	       fm_may_change(f) &&
	       fm_demote_may_return(f, FM_WHY_TRIED);
}

static bool may_go(struct fm_file *f, uint64_t most)
{
	return f->policy->warm == FM_WARM_AUTO && !f->load->sparse &&
	       may_be_tried(f, most);
}

/* What leaves the cache comes back at once: it need not return. */
static bool must_go(struct fm_file *f, uint64_t none)
{
	return fm_may_change(f) && fm_only_shared(f, none);
}

static unsigned tried(enum fm_server_reason now)
{
	struct fm_file *f;
	unsigned n = 0;

	fm_for_each_file(f, id) {
		if (!fm_judge_tries(f) || !f->demote->passes)
			continue;
		n++;
		if (now)
			atomic_store(&f->st->demote_why, (uint8_t)now);
	}
	return n;
}

/* Of the files that are on trial, or would be. */
static uint32_t nonresident_now(uint64_t most)
{
	struct fm_file *f;
	uint64_t old;

	fm_nonresident_begin();
	fm_space_lock(&old);
	fm_for_each_file(f, id)
		if (trial.state == FM_TRIAL_NONE ?
			    may_be_tried(f, most) :
			    fm_judge_tries(f) && f->demote->passes)
			fm_nonresident_add(f);
	fm_space_unlock(&old);
	return fm_nonresident_look();
}

/* Nothing is left that could come back. */
static void look_whether_any(void)
{
	uint64_t old;
	unsigned n;

	if (trial.state == FM_TRIAL_NONE)
		return;
	fm_space_lock(&old);
	n = tried(FM_WHY_NONE);
	fm_space_unlock(&old);
	if (!n)
		trial.state = FM_TRIAL_NONE;
}

/* ---- what is done ------------------------------------------------------- */

static unsigned judge_begin(uint64_t most)
{
	unsigned n;
	uint64_t old;

	atomic_store(&lost, false);
	fm_space_lock(&old);
	fm_demote_where(may_be_tried, most, FM_WHY_TRIED);
	n = tried(FM_WHY_NONE);
	fm_space_unlock(&old);
	if (n)
		atomic_fetch_add(&begun, 1);
	else
		fm_trial_refused(&trial, fm_now_ms());
	return n;
}

static void judge_keep(void)
{
	uint64_t old;

	fm_space_lock(&old);
	tried(FM_WHY_MEASURED);
	fm_space_unlock(&old);
	atomic_fetch_add(&kept, 1);
}

/* They may come back at once. */
static void judge_end(void)
{
	struct fm_file *f;
	uint64_t old;

	fm_space_lock(&old);
	fm_for_each_file(f, id)
		if (fm_judge_tries(f))
			f->choice->back.until_ms = fm_now_ms();
	fm_space_unlock(&old);
	atomic_store(&lost, true);
}

static void judge_say(enum fm_trial_act act, const struct fm_rate *now)
{
	atomic_store(&in_engine, trial.before.engine);
	atomic_store(&in_kernel, now->kernel);
	fm_log(FM_LOG_INFO, "%s: of a thread's time %u thousandths were lost "
	       "in faults with the engine (%lu accesses a second), %u with "
	       "the kernel; of what is mapped %u are not in memory",
	       act == FM_TRIAL_BEGIN ? "the kernel is tried" :
	       act == FM_TRIAL_KEEP ? "the kernel goes on" :
				      "the engine goes on",
	       trial.before.engine,
	       (unsigned long)fm_rate_reached(&trial.before), now->kernel,
	       now->missing);
}

static void act_on(enum fm_trial_act act, const struct look *l)
{
	if (act == FM_TRIAL_BEGIN && !judge_begin(l->most_ns))
		return;
	if (act == FM_TRIAL_KEEP)
		judge_keep();
	if (act == FM_TRIAL_END)
		judge_end();
	if (act != FM_TRIAL_NOTHING)
		judge_say(act, &l->rate);
}

/* What fits, all of it, needs no trial. */
static void judge_hand_over(const struct look *l, bool surely)
{
	FM_HOLD_SPACE();
	fm_demote_where(surely ? must_go : may_go, l->most_ns, FM_WHY_FITS);
}

/* Since the last time: what was never there has to be read with either. */
static bool judge_comes_back(void)
{
	static uint64_t before;
	const uint64_t now = fm_ghost_came_back();
	const bool any = now != before;

	before = now;
	return any;
}

/* Returns what the kernel may save, where that is not sure. */
static uint32_t judge_weigh(const struct look *l, bool settled)
{
	const enum fm_loops loops = fm_mem_monitor_loops();
	const bool back = judge_comes_back();
	const struct fm_cost_facts f = judge_facts_of(l, loops, back);
	const struct fm_costs c = fm_cost(&f);
	const bool paid = fm_cost_fits(&f) ? fm_cost_rereads(&f) : back;
	const bool less = paid && fm_cost_kernel_less(&c);
	const bool surely = loops == FM_LOOPS_SURELY;

	note_costs(&c);
	if (!less || loops == FM_LOOPS_PERHAPS || !fm_cost_fits(&f) ||
	    !(surely || settled))
		return less ? fm_cost_kernel_saves(&c) : 0;
	judge_hand_over(l, surely);
	return 0;
}

/* What has just been mapped may not be all. */
static bool is_settled(uint64_t mapped)
{
	static uint64_t before;
	const bool is = mapped == before;

	before = mapped;
	return is;
}

static uint32_t hope(const struct look *l, bool settled)
{
	return trial.state == FM_TRIAL_NONE &&
			       l->rate.engine >= fm_tune.serve_lost_much ?
		       judge_weigh(l, settled) : 0;
}

/* Neither server is on trial, and nothing faulted or was read: no call tells
 * more. What is counted until the next look is not one second's: from there on
 * it is compared again. */
static bool judge_is_idle(void)
{
	uint64_t faults;

	fm_latency_spent(&faults);
	if (faults != last.faults || trial.state != FM_TRIAL_NONE ||
	    fm_engine_trial_runs() ||
	    (fm_krange_any() && !fm_kernel_monitor_idle()))
		return false;
	last.ms = 0;
	return true;
}

static void act_in(struct look *l, bool settled)
{
	const uint32_t hoped = hope(l, settled);
	struct fm_trial_second now;

	if (hoped || trial.state != FM_TRIAL_NONE)
		l->rate.missing = nonresident_now(l->most_ns);
	now = (struct fm_trial_second){
		l->totals.ms, l->totals.read_bytes, fm_mem_monitor_room(),
		l->rate, hoped,
	};
	act_on(fm_trial_step(&fm_trial_of_kernel, &trial, &now), l);
	fm_engine_trial_second(&l->rate);
	fm_engine_trial_look(&l->rate);
}

/* The thread that looks each second ran already when the engine began. */
static bool began_just_now(void)
{
	return last.ms && fm_now_ms() - last.ms < FM_SECOND_MS / 2;
}

static void second(void)
{
	struct look l = { .lost_ns = 0 };
	bool settled;

	look_whether_any();
	if (began_just_now() || judge_is_idle())
		return;
	fm_mem_monitor_wake();
	measure(&l);
	settled = is_settled(l.engines);
	if (last.ms)
		act_in(&l, settled);
	last = l.totals;
}

/* The thread that watches while there is no engine may still be at it. */
void fm_judge_second(void)
{
	if (atomic_exchange(&busy, true))
		return;
	second();
	atomic_store(&busy, false);
}

static void beside_engine(void)
{
	if (!fm_life_running())
		fm_judge_second();
}

/* What is counted from here on is the first second's: who waits for pages when
 * it starts is no worse off for it. With the space lock. */
static void count_from_now(void)
{
	struct fm_file *f;

	fm_totals_of_kernel(&last);
	last.spent_ns = fm_latency_spent(&last.faults);
	fm_for_each_file(f, id) {
		last.loads += atomic_load(&f->st->loads);
		last.load_bytes += atomic_load(&f->st->load_bytes);
	}
}

static int engine_runs(void)
{
	fm_kernel_monitor_wake();
	if (atomic_exchange(&busy, true))
		return 0;
	if (!last.ms)
		count_from_now();
	atomic_store(&busy, false);
	return 0;
}

FM_UP(kernel_monitor, beside_engine)

void fm_trial_counts(struct fm_trial_counts *ret)
{
	ret->begun = atomic_load(&begun);
	ret->kept = atomic_load(&kept);
	ret->engine = atomic_load(&in_engine);
	ret->kernel = atomic_load(&in_kernel);
}

/* What is the kernel's in a child of fork stays so. */
static void judge_forked(void)
{
	trial = (struct fm_trial){ 0 };
	last = (struct fm_totals){ 0 };
	last_waits = 0;
	miss = (struct fm_miss){ 0 };
	waited_ns = 0;
	atomic_store(&busy, false);
	atomic_store(&lost, false);
	atomic_store(&begun, 0);
	atomic_store(&kept, 0);
}

FM_LIFE(judge, .level = FM_LIFE_RUNNING, .start = engine_runs,
	.forked = judge_forked)
