/* SPDX-License-Identifier: MIT */
#include "device.h"

#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "ring.h"
#include "store.h"
#include "tunables.h"

#define POINTS 2 /* unit: of which a line is made */
#define MOST_EVEN 4096 /* size: pages, 16 MiB: nobody reads more in one piece */
#define DEVICES 32 /* size: the last one is shared by all that come later */

/* Sums over the reads, each weighted by its age. */
struct line {
	double w, n, nn, t, nt, tt;
	double fixed, page; /* ns */
};

/* Reads that have ended, and the time in which one was under way. */
struct group {
	uint64_t last; /* ns, when the one before ended; 0: nothing was left */
	uint64_t busy; /* ns */
	uint64_t pages;
	uint32_t reads;
};

struct fm_device {
	_Atomic uint64_t dev; /* 0: free */
	_Atomic uint32_t inflight;
	struct fm_lock lock;
	struct line alone, among;
	struct line kernel; /* a wait for the kernel */
	struct group group;
	uint64_t spent, price; /* ns: since the last group of other sizes, */
	_Atomic bool other;    /* and of that; is this one such a group? */
	_Atomic uint32_t even, even_among; /* pages; 0: not known */
	_Atomic uint64_t fixed, page; /* ns, of reads that are alone */
	double least; /* ns, of the first of them, but for their pages */
	_Atomic uint64_t each, each_page; /* ... and among others */
	_Atomic uint64_t room; /* ns, to ask for a block; 0: not known */
	double rule_n, rule_t; /* pages and ns of one, as a rule */
	_Atomic uint64_t memory_ns; /* that, if its pages take hardly less */
};

static struct fm_device devices[DEVICES];

struct fm_device *fm_device_of(dev_t dev)
{
	for (unsigned i = 0; i < DEVICES - 1; i++) {
		uint64_t was = 0;

		if (atomic_compare_exchange_strong(&devices[i].dev, &was,
						   dev) || was == dev)
			return &devices[i];
	}
	return &devices[DEVICES - 1];
}

/* ---- the line ---------------------------------------------------------- */

/*
 * A disk, or one that is held back, takes 0.1 ms for one read and 100 ms for
 * the next of the same size: a line of least squares alone would make much of
 * that a matter of sizes. So the slope is what is seen, weighed by how far the
 * reads are from the line, and what is assumed (the mean of a normal
 * distribution with a normal prior); reads of one size say nothing of it.
 */
static FM_FAULT void device_fit(struct line *l)
{
	const double prior = 1 / (fm_tune.device_page_spread_ns *
				  fm_tune.device_page_spread_ns);
	double n = l->n / l->w, t = l->t / l->w;
	double var = l->nn / l->w - n * n, with = l->nt / l->w - n * t;
	double rest = l->tt / l->w - t * t, seen = 0, told = 0;

	if (var > 0) {
		rest -= with * with / var;
		if (rest < fm_tune.device_clock_ns * fm_tune.device_clock_ns)
			rest = fm_tune.device_clock_ns *
			       fm_tune.device_clock_ns;
		seen = l->w * var / rest;
		told = l->w * with / rest;
	}
	l->page = (told + prior * fm_tune.device_page_ns) / (seen + prior);
	if (l->page < fm_tune.device_least_page_ns)
		l->page = fm_tune.device_least_page_ns;
	l->fixed = t - n * l->page;
	if (l->fixed < 0)
		l->fixed = 0;
}

static FM_FAULT void device_add(struct line *l, double n, double t)
{
	double keep = 1 - 1 / fm_tune.device_memory;

	if (t > fm_tune.device_longest_ns)
		t = fm_tune.device_longest_ns;
	l->w = l->w * keep + 1;
	l->n = l->n * keep + n;
	l->nn = l->nn * keep + n * n;
	l->t = l->t * keep + t;
	l->nt = l->nt * keep + n * t;
	l->tt = l->tt * keep + t * t;
	device_fit(l);
}

/* Memory is no slower than a common disk, which in turns of 0.1 ms, as one that
 * is held back, would take for 25 pages. */
static FM_FAULT double memory_page_ns(const struct fm_device *d)
{
	return d->alone.page < fm_tune.device_page_ns ? d->alone.page :
							fm_tune.device_page_ns;
}

/* The median, whatever the others took: those waited for a processor. Of reads
 * no longer than what comes with a fault: of a long one its pages take nearly
 * all on any device. */
static FM_FAULT void add_to_rule(struct fm_device *d, double n, double t)
{
	const double step = d->rule_t / fm_tune.sample_enough;
	bool by_pages;

	d->rule_n += d->rule_n ? (n - d->rule_n) / fm_tune.sample_enough : n;
	d->rule_t += !d->rule_t ? t : t > d->rule_t ? step : -step;
	by_pages = d->alone.w >= fm_tune.device_enough &&
		   d->rule_t < (d->rule_n + 2) * memory_page_ns(d);
	atomic_store_explicit(&d->memory_ns,
			      by_pages ? (uint64_t)d->rule_t + 1 : 0,
			      memory_order_relaxed);
}

static FM_FAULT uint32_t even_of(const struct line *l, double enough)
{
	double n = l->fixed / l->page;

	if (l->w < enough)
		return 0;
	return n < 1 ? 1 :
	       n > MOST_EVEN ?
		       (uint32_t)MOST_EVEN :
		       (uint32_t)n;
}

/* As few have told: a stall, or a processor that comes late, says nothing of
 * the device, so the least of them, and what is assumed counts as one more. */
static FM_FAULT double device_early(const struct fm_device *d)
{
	return (fm_tune.device_fixed_ns + d->alone.w * d->least) /
	       (1 + d->alone.w);
}

static FM_FAULT void publish_alone(struct fm_device *d)
{
	const bool early = d->alone.w < fm_tune.device_enough;

	if (!d->alone.w)
		return;
	atomic_store_explicit(&d->fixed,
			      (uint64_t)(early ? device_early(d) :
						 d->alone.fixed),
			      memory_order_relaxed);
	atomic_store_explicit(&d->page,
			      (uint64_t)(early ? fm_tune.device_page_ns :
						 d->alone.page),
			      memory_order_relaxed);
}

static FM_FAULT void device_publish(struct fm_device *d)
{
	publish_alone(d);
	atomic_store_explicit(&d->even,
			      even_of(&d->alone, fm_tune.device_enough),
			      memory_order_relaxed);
	atomic_store_explicit(&d->even_among,
			      even_of(&d->among, POINTS),
			      memory_order_relaxed);
	if (d->among.w >= POINTS) {
		atomic_store_explicit(&d->each, (uint64_t)d->among.fixed,
				      memory_order_relaxed);
		atomic_store_explicit(&d->each_page, (uint64_t)d->among.page,
				      memory_order_relaxed);
	}
}

/* Reads of one size tell no slope, and what was true once need not stay so: now
 * and then a group of other sizes, for a small part of the time. */
static FM_FAULT void take_turns(struct fm_device *d, uint64_t busy)
{
	bool was = atomic_load(&d->other);

	d->price = was ? busy : d->price;
	d->spent = was ? 0 : d->spent + busy;
	atomic_store_explicit(&d->other,
			      !was && d->spent > fm_tune.device_other_part *
							 d->price,
			      memory_order_relaxed);
}

/* One more of a group, begun at began, has ended at now, others are left. */
static FM_FAULT void add_to_group(struct fm_device *d, double n, uint64_t began,
				  uint64_t now, bool left)
{
	struct group *g = &d->group;
	uint64_t from = g->last ? g->last : began;

	if (now > from) /* who looked at the clock first may come second */
		g->busy += now - from;
	g->last = left ? now : 0;
	g->pages += (uint64_t)n;
	if (++g->reads < (uint32_t)fm_tune.device_enough)
		return;
	device_add(&d->among, (double)g->pages / fm_tune.device_enough,
		   (double)g->busy / fm_tune.device_enough);
	take_turns(d, g->busy);
	*g = (struct group){ .last = g->last };
}

static FM_FAULT void note_least(struct fm_device *d, double n, double t)
{
	const double fixed = t - n * fm_tune.device_page_ns;

	if (!d->alone.w || fixed < d->least)
		d->least = fixed > 0 ? fixed : 0;
}

static FM_FAULT void add_alone(struct fm_device *d, double n, double t)
{
	note_least(d, n, t);
	device_add(&d->alone, n, t);
	if (n <= fm_tune.fault_around_group)
		add_to_rule(d, n, t);
}

/* ---- reads ------------------------------------------------------------- */

FM_FAULT void fm_device_begin(struct fm_io *io)
{
	struct fm_device *d = io->file->io->device;

	if (io->began) /* it is submitted once more, to another ring */
		return;
	if (!d || io->op != FM_READ || io->buffered ||
	    !fm_store_of(io->file)->direct)
		return;
	io->company = atomic_fetch_add_explicit(&d->inflight, 1,
						memory_order_relaxed);
	io->began = fm_now_ns();
}

/* What failed or came short says nothing of the device. Where two end at once
 * one of them is enough. */
FM_FAULT void fm_device_end(struct fm_io *io)
{
	struct fm_device *d = io->file->io->device;
	uint64_t now, began = io->began;
	double n = (double)(io->len >> FM_PAGE_SHIFT);
	uint32_t with;

	if (!began)
		return;
	now = fm_now_ns();
	io->began = 0;
	with = atomic_fetch_sub_explicit(&d->inflight, 1,
					 memory_order_relaxed) - 1;
	if (io->res != (int32_t)io->len || !fm_trylock(&d->lock))
		return;
	if (!with && !io->company)
		add_alone(d, n, (double)(now - began));
	else
		add_to_group(d, n, began, now, with);
	device_publish(d);
	fm_unlock(&d->lock);
}

/* ---- questions --------------------------------------------------------- */

static FM_FAULT uint32_t even_assumed(void)
{
	return (uint32_t)(fm_tune.device_fixed_ns / fm_tune.device_page_ns);
}

FM_FAULT uint32_t fm_device_even(const struct fm_file *f)
{
	const struct fm_device *d = f->io->device;
	uint32_t n = 0;

	if (d)
		n = atomic_load_explicit(&d->even, memory_order_relaxed);
	if (d && !n)
		n = atomic_load_explicit(&d->even_among, memory_order_relaxed);
	return n ? n : even_assumed();
}

static FM_FAULT uint32_t device_hides(const struct fm_device *d)
{
	const uint64_t page =
		atomic_load_explicit(&d->page, memory_order_relaxed);
	uint32_t n = atomic_load_explicit(&d->even, memory_order_relaxed);

	if (!n && page)
		n = (uint32_t)fm_least(
			MOST_EVEN, atomic_load_explicit(&d->fixed,
							memory_order_relaxed) /
					   page);
	if (!n)
		n = atomic_load_explicit(&d->even_among, memory_order_relaxed);
	return n ? n : even_assumed();
}

FM_FAULT uint32_t fm_device_hides(const struct fm_file *f)
{
	return f->io->device ? device_hides(f->io->device) : even_assumed();
}

FM_FAULT uint32_t fm_device_even_among(const struct fm_file *f)
{
	const struct fm_device *d = f->io->device;

	return d ? atomic_load_explicit(&d->even_among, memory_order_relaxed) :
		   0;
}

FM_FAULT bool fm_device_known(const struct fm_file *f)
{
	const struct fm_device *d = f->io->device;

	return d && atomic_load_explicit(&d->even, memory_order_relaxed);
}

FM_FAULT uint64_t fm_device_memory_ns(const struct fm_file *f)
{
	const struct fm_device *d = f->io->device;

	return d ? atomic_load_explicit(&d->memory_ns, memory_order_relaxed) :
		   0;
}

/* Among others, of which nothing is known yet, it is as if alone on a common
 * disk: at a depth that hides what a read takes, pages cost what they take. */
FM_FAULT uint32_t fm_device_even_now(const struct fm_file *f)
{
	const struct fm_device *d = f->io->device;
	uint32_t n;

	if (!d || !atomic_load_explicit(&d->inflight, memory_order_relaxed))
		return fm_device_even(f);
	n = atomic_load_explicit(&d->even_among, memory_order_relaxed);
	return n ? n :
		   (uint32_t)(fm_tune.device_fixed_ns / fm_tune.device_page_ns);
}

FM_FAULT bool fm_device_wants_other(const struct fm_file *f)
{
	const struct fm_device *d = f->io->device;

	return d && atomic_load_explicit(&d->other, memory_order_relaxed);
}

static FM_FAULT uint64_t alone_ns(const struct fm_device *d, uint64_t n)
{
	uint64_t page = d ? atomic_load_explicit(&d->page,
						 memory_order_relaxed) : 0;

	if (!page)
		return (uint64_t)fm_tune.device_fixed_ns +
		       n * (uint64_t)fm_tune.device_page_ns;
	return atomic_load_explicit(&d->fixed, memory_order_relaxed) + n * page;
}

FM_FAULT uint64_t fm_device_ns(const struct fm_file *f, uint64_t n)
{
	return alone_ns(f->io->device, n);
}

/* Between two that end. Where nothing tells it is a matter of bandwidth. */
static FM_FAULT uint64_t each_ns(const struct fm_device *d, uint64_t n)
{
	uint64_t page = d ? atomic_load_explicit(&d->each_page,
						 memory_order_relaxed) : 0;

	if (page)
		return atomic_load_explicit(&d->each, memory_order_relaxed) +
		       n * page;
	page = d ? atomic_load_explicit(&d->page, memory_order_relaxed) : 0;
	return n * (page ? page : (uint64_t)fm_tune.device_page_ns);
}

FM_FAULT uint64_t fm_device_each_ns(const struct fm_file *f, uint64_t n)
{
	return each_ns(f->io->device, n);
}

/* Little's law, twice: what has been seen is the rate at the depth that there
 * was. */
FM_FAULT uint64_t fm_device_depth(const struct fm_device *d, uint64_t n,
				  uint64_t late)
{
	return 2 * (alone_ns(d, n) + late) / (each_ns(d, n) + 1) + 2;
}

static struct fm_device_price price_of(const struct line *l)
{
	return (struct fm_device_price){ (uint64_t)(l->fixed + l->page),
					 (uint64_t)l->page };
}

/* Waits of about one size do not tell a read from its pages. */
static bool tells_both(const struct line *l)
{
	const double n = l->n / l->w, var = l->nn / l->w - n * n;

	return l->w >= POINTS && 4 * var > n * n;
}

/* Where threads wait for the kernel less than is assumed it costs other things
 * than waiting. */
static struct fm_device_price no_less(struct fm_device_price p,
				      struct fm_device_price than)
{
	return (struct fm_device_price){
		p.read > than.read ? p.read : than.read,
		p.page > than.page ? p.page : than.page,
	};
}

struct fm_device_price fm_device_price(dev_t dev)
{
	struct fm_device *d = fm_device_of(dev);
	const struct line none = { .fixed = fm_tune.device_fixed_ns,
				   .page = fm_tune.device_page_ns };
	struct fm_device_price p = price_of(&none);

	fm_lock(&d->lock);
	if (d->kernel.w && tells_both(&d->kernel))
		p = no_less(price_of(&d->kernel), p);
	else if (d->alone.w >= fm_tune.device_enough)
		p = price_of(&d->alone);
	fm_unlock(&d->lock);
	return p;
}

bool fm_device_has_told(dev_t dev)
{
	struct fm_device *d = fm_device_of(dev);

	FM_HOLD(&d->lock);
	return d->alone.w > 1 || d->among.w > 0;
}

bool fm_device_is_known(dev_t dev)
{
	return atomic_load(&fm_device_of(dev)->even);
}

uint64_t fm_device_hidden(dev_t dev)
{
	return (uint64_t)device_hides(fm_device_of(dev)) << FM_PAGE_SHIFT;
}

uint64_t fm_device_late_ns(dev_t dev)
{
	return alone_ns(fm_device_of(dev), 0);
}

void fm_device_took(dev_t dev, uint64_t pages, uint64_t ns)
{
	struct fm_device *d = fm_device_of(dev);

	FM_HOLD(&d->lock);
	note_least(d, (double)pages, (double)ns);
	device_add(&d->alone, (double)pages, (double)ns);
	device_publish(d);
}

void fm_device_waited(dev_t dev, uint64_t pages, uint64_t ns)
{
	struct fm_device *d = fm_device_of(dev);

	fm_lock(&d->lock);
	device_add(&d->kernel, (double)pages, (double)ns);
	fm_unlock(&d->lock);
}

/* Two threads at once: one of them is enough. */
FM_FAULT void fm_device_made_room(struct fm_device *d, uint64_t ns)
{
	double t = (double)ns, was;

	if (!d)
		return;
	was = (double)fm_device_room_ns(d);
	if (t > fm_tune.device_longest_ns)
		t = fm_tune.device_longest_ns;
	t = was + (t - was) / fm_tune.sample_enough;
	atomic_store_explicit(&d->room, (uint64_t)t + 1, memory_order_relaxed);
}

FM_FAULT uint64_t fm_device_room_ns(const struct fm_device *d)
{
	const uint64_t ns = d ? atomic_load_explicit(&d->room,
						     memory_order_relaxed) : 0;

	return ns ? ns : (uint64_t)fm_tune.device_room_ns;
}

void fm_device_figures(const struct fm_file *f, struct fm_device_figures *ret)
{
	struct fm_device *d = f->io->device;

	*ret = (struct fm_device_figures){ 0 };
	if (!d)
		return;
	fm_lock(&d->lock);
	*ret = (struct fm_device_figures){
		.fixed = (uint64_t)d->alone.fixed,
		.page = (uint64_t)d->alone.page,
		.reads = (uint64_t)d->alone.w,
		.among_fixed = (uint64_t)d->among.fixed,
		.among_page = (uint64_t)d->among.page,
		.among_reads = (uint64_t)d->among.w,
	};
	fm_unlock(&d->lock);
}

/* Reads of the parent's are not in flight here; its figures stay. */
static void device_reset(void)
{
	for (unsigned i = 0; i < DEVICES; i++) {
		atomic_store(&devices[i].inflight, 0);
		fm_lock_reset(&devices[i].lock);
	}
}

FM_LIFE(device, .level = FM_LIFE_IO, .reset = device_reset)
