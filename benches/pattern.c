/* SPDX-License-Identifier: MIT */
/* pattern.c - access patterns. Every page number is below conf->pages. */
#include "pattern.h"
#include "content.h"

#include <math.h>
#include <string.h>

uint64_t rng_next(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15u;
	return mix64(*state);
}

/* Uniform below n without a division (n < 2^48 here). */
static uint64_t below(uint64_t *rng, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)rng_next(rng) * n) >> 64);
}

static uint64_t next_uniform(struct pattern *p)
{
	return below(&p->rng, p->conf->pages);
}

/* Gray et al., "Quickly generating billion-record synthetic databases". */
static void zipf_setup(struct zipf *z, uint64_t n, double theta)
{
	double zeta2 = 1 + pow(0.5, theta);

	z->n = n;
	z->theta = theta;
	z->zetan = 0;
	for (uint64_t i = 1; i <= n; i++)
		z->zetan += pow(1.0 / (double)i, theta);
	z->alpha = 1 / (1 - theta);
	z->eta = (1 - pow(2.0 / (double)n, 1 - theta)) / (1 - zeta2 / z->zetan);
	z->half = zeta2;
}

static uint64_t zipf_rank(const struct zipf *z, uint64_t *rng)
{
	double u = (double)(rng_next(rng) >> 11) * 0x1p-53, uz = u * z->zetan;
	uint64_t rank;

	if (uz < 1)
		return 0;
	if (uz < z->half)
		return 1;
	rank = (uint64_t)((double)z->n *
			  pow(z->eta * u - z->eta + 1, z->alpha));
	return rank < z->n ? rank : z->n - 1;
}

/* Popular pages are scattered over the file, as YCSB does. */
static uint64_t next_zipf(struct pattern *p)
{
	return mix64(zipf_rank(&p->conf->zipf, &p->rng) + 1) % p->conf->pages;
}

static uint64_t next_seq(struct pattern *p)
{
	uint64_t page = p->pos++;

	if (p->pos == p->conf->pages)
		p->pos = 0;
	return page;
}

static uint64_t next_back(struct pattern *p)
{
	if (!p->pos)
		p->pos = p->conf->pages;
	return --p->pos;
}

/* The next lap is shifted by a page, so that it meets other pages. */
static uint64_t next_stride(struct pattern *p)
{
	uint64_t page = p->pos;

	p->pos += p->conf->stride;
	if (p->pos >= p->conf->pages)
		p->pos = ++p->lap % p->conf->stride;
	return page;
}

static uint64_t next_streams(struct pattern *p)
{
	uint64_t *s = &p->stream[p->turn++ % p->conf->streams];
	uint64_t page = *s;

	*s = page + 1 == p->conf->pages ? 0 : page + 1;
	return page;
}

/* The hot set is the first hot_pages of the file; the scan runs over the
 * rest. */
static uint64_t next_scanhot(struct pattern *p)
{
	const struct pattern_conf *c = p->conf;
	uint64_t page;

	p->hot = below(&p->rng, 100) < c->hot_percent;
	if (p->hot)
		return below(&p->rng, c->hot_pages);
	page = p->pos < c->hot_pages ? c->hot_pages : p->pos;
	p->pos = page + 1 < c->pages ? page + 1 : c->hot_pages;
	return page;
}

/* One page of each piece of the file is hot, wherever in it. */
static uint64_t next_spread(struct pattern *p)
{
	const struct pattern_conf *c = p->conf;
	const uint64_t piece = c->pages / c->hot_pages;
	const uint64_t i = below(&p->rng, c->hot_pages);

	return i * piece + mix64(i) % piece;
}

static const struct {
	const char *name;
	uint64_t (*next)(struct pattern *p);
} patterns[] = {
	{ "uniform", next_uniform }, { "zipf", next_zipf },
	{ "seq", next_seq }, { "back", next_back },
	{ "stride", next_stride }, { "streams", next_streams },
	{ "scanhot", next_scanhot }, { "spread", next_spread },
};

void pattern_setup(struct pattern_conf *conf, const char *name)
{
	if (conf->streams > MAX_STREAMS)
		conf->streams = MAX_STREAMS;
	if (conf->hot_pages >= conf->pages)
		conf->hot_pages = conf->pages / 2;
	if (!conf->hot_pages)
		conf->hot_pages = 1;
	if (!strcmp(name, "zipf"))
		zipf_setup(&conf->zipf, conf->pages, conf->theta);
}

int pattern_init(struct pattern *p, const struct pattern_conf *conf,
		 const char *name, unsigned i, unsigned n, uint64_t seed)
{
	memset(p, 0, sizeof(*p));
	p->conf = conf;
	p->rng = mix64(seed * 1000003 + i + 1);
	p->pos = conf->pages / n * i;
	for (unsigned s = 0; s < conf->streams; s++)
		p->stream[s] = conf->pages / conf->streams * s +
			       conf->pages / conf->streams / n * i;
	for (unsigned k = 0; k < sizeof(patterns) / sizeof(*patterns); k++)
		if (!strcmp(patterns[k].name, name))
			p->next = patterns[k].next;
	return p->next ? 0 : -1;
}
