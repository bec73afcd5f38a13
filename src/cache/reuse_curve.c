/* SPDX-License-Identifier: MIT */
/*
 * reuse_curve.c - loads of a cache of another size, from the samples.
 *
 * A page stays r and is away a, on average, so it is loaded every r + a. In a
 * cache of another size every page stays s times as long; s is the one with
 * which the pages fill that cache. What then follows a stay depends on the
 * program: where touches come at random, the same a (a touch does not know when
 * the page was evicted), so it is loaded every s * r + a; where it goes round
 * in circles of r + a, the next touch that comes after the stay, at the end of
 * the circle. How much the times away of a page differ says which it is.
 */
#include "reuse.h"
#include "tunables.h"

#define EVENT 16.0 /* unit: as reuse.c counts them */
#define ROUNDS 12 /* size: of the bisection */

struct page {
	double stay, away; /* each time */
	double span;       /* for which it was seen */
	double back;       /* loads after an eviction */
	double chance;     /* 1: touched at random, 0: in a circle */
	bool left;         /* evicted, once or more */
	bool idle;         /* no eviction: nothing is known of its touches */
};

#define MOST 4096 /* pages are looked at; where there are more, some */

static struct model {
	const struct fm_reuse *in;
	double chance; /* of the average page */
	double stay;   /* average, where it has ended */
	struct page page[MOST];
	size_t n;
} model;

static double reuse_curve_least(double a, double b)
{
	return a < b ? a : b;
}

static double reuse_curve_most(double a, double b)
{
	return a > b ? a : b;
}

static double reuse_curve_since(const struct fm_reuse *r,
				const struct fm_sample *s)
{
	return s->state > FM_SAMPLE_DEAD ? (double)(r->now - s->since) : 0;
}

/* Spread of the times away: the square of their coefficient of variation, 1 for
 * touches at random. Of n times that are exponential it is n / (n + 1). */
static double spread_of(const struct fm_sample *s, double n)
{
	const double mean = s->away / n;
	const double var = (s->away2 - n * mean * mean) / (n - 1);

	return mean >= 1
		       ? reuse_curve_most(var / (mean * mean), 0) * (n + 1) / n
		       : 1;
}

static double chance_of(const struct fm_sample *s, double usual)
{
	const double n = s->back / EVENT;

	if (n < 2)
		return usual;
	return reuse_curve_least(
		((n - 1) * spread_of(s, n) + fm_tune.reuse_prior * usual) /
			(n - 1 + fm_tune.reuse_prior),
		1);
}

static struct page reuse_curve_page_of(const struct model *m,
				       const struct fm_sample *s)
{
	const double open = reuse_curve_since(m->in, s), back = s->back / EVENT;
	const bool resident = s->state == FM_SAMPLE_RESIDENT;
	const double stay = s->stay + (resident ? open : 0);
	const double away = s->away + (resident ? 0 : open);

	return (struct page){
		.stay = s->left ? s->stay / (s->left / EVENT) : stay,
		.away = back > 0 ? away / back : away,
		.span = stay + away,
		.back = back,
		.chance = chance_of(s, m->chance),
		.left = s->left,
		.idle = !s->left && stay > fm_tune.reuse_long * m->stay,
	};
}

static void reuse_curve_collect(struct model *m, size_t known)
{
	const size_t step = known / MOST + 1;

	m->n = 0;
	for (size_t i = 0, k = 0; i < m->in->n; i++) {
		const struct fm_sample *s = &m->in->sample[i];

		if (s->state == FM_SAMPLE_FREE || k++ % step)
			continue;
		m->page[m->n] = reuse_curve_page_of(m, s);
		m->n += m->page[m->n].span > 0 && m->n < MOST - 1;
	}
}

/* From load to load with stays that are s times as long. */
static double cycle(const struct page *p, double s)
{
	const double stay = s * p->stay;

	return p->chance * (stay + p->away) +
	       (1 - p->chance) * reuse_curve_most(stay, p->stay + p->away);
}

static double reuse_curve_resident(const struct page *p, double s)
{
	if (p->idle)
		return p->span;
	if (p->back > 0)
		return p->span *
		       reuse_curve_least(s * p->stay / cycle(p, s), 1);
	return reuse_curve_least(s * p->stay, p->span);
}

static double total_resident(const struct model *m, double s)
{
	double sum = 0;

	for (size_t i = 0; i < m->n; i++)
		sum += reuse_curve_resident(&m->page[i], s);
	return sum;
}

static double idle_resident(const struct model *m)
{
	double sum = 0;

	for (size_t i = 0; i < m->n; i++)
		sum += m->page[i].idle ? m->page[i].span : 0;
	return sum;
}

/* Of the loads after an eviction, how many are left with stays that are s times
 * as long. */
static double part_again(const struct model *m, double s)
{
	double sum = 0, all = 0, span = 0, seen = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct page *p = &m->page[i];

		span += p->idle ? 0 : p->span;
		seen += p->left ? p->span : 0;
		if (p->back <= 0)
			continue;
		all += p->back;
		sum += p->back * cycle(p, 1) / cycle(p, s);
	}
	if (all <= 0)
		return 0;
	/* Those that have not been evicted yet would be, in a smaller one. */
	return s < 1 ? 1 + (sum / all - 1) * span / seen : sum / all;
}

/* How much longer pages stay in a cache that is k times as large. */
static double stretch(const struct model *m, double k)
{
	const double want = k * total_resident(m, 1);
	double low = 1, high = 1;

	while (total_resident(m, low) > want && low > 1e-4)
		low /= 2;
	while (total_resident(m, high) < want && high < 1e4)
		high *= 2;
	for (int i = 0; i < ROUNDS; i++) {
		const double s = (low + high) / 2;

		if (total_resident(m, s) < want)
			low = s;
		else
			high = s;
	}
	return high;
}

/* ---- averages ---------------------------------------------------------- */

static void usual_stay(struct model *m)
{
	double sum = 0, n = 0;

	for (size_t i = 0; i < m->in->n; i++) {
		sum += m->in->sample[i].stay;
		n += m->in->sample[i].left / EVENT;
	}
	m->stay = n > 0 ? sum / n : 0;
}

static void usual_chance(struct model *m)
{
	double sum = 1, n = 1;

	for (size_t i = 0; i < m->in->n; i++) {
		const struct fm_sample *s = &m->in->sample[i];
		const double back = s->back / EVENT;

		if (back < 2)
			continue;
		sum += (back - 1) * spread_of(s, back);
		n += back - 1;
	}
	m->chance = reuse_curve_least(sum / n, 1);
}

static double reuse_curve_count(const struct fm_reuse *r, struct fm_curve *ret)
{
	double back = 0;

	for (size_t i = 0; i < r->n; i++) {
		ret->samples += r->sample[i].state != FM_SAMPLE_FREE;
		back += r->sample[i].back / EVENT;
	}
	ret->cold = (uint64_t)(r->cold / EVENT);
	ret->loads = ret->cold + (uint64_t)back;
	return back;
}

static void reuse_curve_prepare(struct model *m, const struct fm_reuse *r,
				size_t known)
{
	m->in = r;
	usual_stay(m);
	usual_chance(m);
	reuse_curve_collect(m, known);
}

void fm_reuse_curve(const struct fm_reuse *r, struct fm_curve *ret)
{
	static const double sizes[] = { 0.25, 0.5, 2, 4 };
	struct model *m = &model;
	double back, cold = (double)r->cold / EVENT, all, idle;

	*ret = (struct fm_curve){ 0 };
	back = reuse_curve_count(r, ret);
	reuse_curve_prepare(m, r, ret->samples);
	all = total_resident(m, 1);
	idle = idle_resident(m);
	for (int i = 0; i < FM_CURVE_SIZES; i++) {
		double again;

		ret->part[i] = FM_CURVE_UNKNOWN;
		if (back < fm_tune.sample_enough ||
		    idle > fm_tune.reuse_spare_percent / 100.0 * sizes[i] * all)
			continue;
		again = back * part_again(m, stretch(m, sizes[i]));
		ret->part[i] = (uint64_t)(1000 * (cold + again) /
					  (cold + back));
	}
}
