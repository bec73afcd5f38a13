/* SPDX-License-Identifier: MIT */
#include "area.h"

#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/types.h"
#include "board.h"
#include "folios.h"
#include "krange.h"
#include "memory.h"
#include "pieces.h"
#include "read_ahead.h"
#include "streams.h"
#include "tunables.h"
#include "weigh.h"

#define SEGMENTS 64 /* size: of an area, at most */

struct area {
	uint32_t id;
	dev_t dev;
	ino_t ino;
	uintptr_t start, end;
	uintptr_t base;      /* of segment 0: it may have begun earlier */
	size_t segment;      /* bytes */
	unsigned n;
	bool refused;        /* gone, or no room for more mappings */
	bool begun;          /* as others had, once */
	bool judged;         /* whether it begins at MADV_RANDOM */
	bool stores;         /* may come: large folios cost then */
	bool early;          /* it has begun so, and not been quiet since */
	struct fm_pattern sum;
	struct fm_pattern *seg;
};

struct fm_advise_counts fm_advise_counts;

static struct area *areas;
static unsigned nareas, last_found;
static struct fm_krange ranges[FM_KRANGES];
static uint32_t seen; /* changes of the table, and 1 */

/* ---- which there are --------------------------------------------------- */

static bool make(struct area *a, const struct fm_krange *r)
{
	const size_t len = r->end - r->start;

	*a = (struct area){ .id = r->id,
			    .dev = r->dev,
			    .ino = r->ino,
			    .start = r->start,
			    .end = r->end,
			    .base = r->start,
			    .segment = fm_tune.area_segment,
			    .stores = r->shared && r->prot & PROT_WRITE };
	while (len / a->segment >= SEGMENTS)
		a->segment *= 2;
	a->n = (unsigned)((len + a->segment - 1) / a->segment);
	a->seg = fm_alloc(a->n * sizeof(a->seg[0]));
	for (unsigned k = 0; a->seg && r->advised && k < a->n; k++) {
		a->seg[k].advice = FM_ADVICE_UNKNOWN;
		a->seg[k].huge = r->huge;
	}
	return a->seg;
}

/* A piece of one that there was: its segments stay where they are. */
static bool make_from(struct area *a, const struct area *old,
		      const struct fm_krange *r)
{
	*a = *old;
	a->start = r->start;
	a->end = r->end;
	a->seg = fm_alloc(old->n * sizeof(a->seg[0]));
	if (a->seg)
		memcpy(a->seg, old->seg, old->n * sizeof(a->seg[0]));
	return a->seg;
}

static bool make_known(struct area *a, const struct fm_krange *r, unsigned *k)
{
	while (*k < nareas && areas[*k].end <= r->start)
		++*k;
	if (*k < nareas && areas[*k].id == r->id &&
	    areas[*k].start <= r->start && areas[*k].end >= r->end)
		return make_from(a, &areas[*k], r);
	return make(a, r);
}

static void drop(struct area *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fm_free(v[i].seg);
	if (v)
		fm_free(v);
}

/* All of it is made before anything is forgotten: without memory it stays as
 * it was. */
static bool rebuild(unsigned found)
{
	struct area *v = fm_alloc((found + 1) * sizeof(*v)), *old = areas;
	unsigned n = 0, k = 0;

	if (!v)
		return false;
	for (unsigned i = 0; i < found; i++) {
		if (!fm_krange_may_advise(&ranges[i]))
			continue;
		if (!make_known(&v[n], &ranges[i], &k)) {
			drop(v, n);
			return false;
		}
		n++;
	}
	k = nareas;
	areas = v;
	nareas = n;
	last_found = 0;
	drop(old, k);
	return true;
}

bool fm_areas_update(void)
{
	const uint32_t changes = fm_krange_changes() + 1;

	if (seen == changes)
		return nareas;
	if (rebuild(fm_krange_list(NULL, ranges, FM_KRANGES)))
		seen = changes;
	return nareas;
}

bool fm_area_span(unsigned i, uintptr_t *ret_start, uintptr_t *ret_end)
{
	if (i >= nareas)
		return false;
	*ret_start = areas[i].start;
	*ret_end = areas[i].end;
	return true;
}

/* ---- how it is read ---------------------------------------------------- */

static struct fm_pattern all; /* areas */
static bool any_random;       /* of these */
/* Since the last stream: single touches, and what has been read. */
static unsigned singles;
static unsigned family; /* such of all processes made by fork */
static unsigned costly; /* such for which the kernel reads ahead */
static bool any_early;  /* areas */
static struct fm_area_use deep; /* while one is early */
static uint64_t unread_ms; /* for so long nothing has been read */
static struct fm_area_use meanwhile;
/* The last look, or several that saw little. */
static struct fm_pattern look;
static struct fm_area_use look_use;
static struct fm_area_use lately; /* while nothing was MADV_RANDOM */
static uint64_t waste;
static uint64_t faults_seen; /* in the last look, about */
static uint32_t aged_s;

static uint32_t now_s(void)
{
	return (uint32_t)(fm_now_ms() / 1000);
}

static struct area *area_at(uintptr_t a)
{
	unsigned lo = 0, hi = nareas;

	if (last_found < nareas && a >= areas[last_found].start &&
	    a < areas[last_found].end)
		return &areas[last_found];
	while (lo < hi) {
		const unsigned mid = (lo + hi) / 2;

		if (areas[mid].end > a)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (lo == nareas || areas[lo].start > a)
		return NULL;
	last_found = lo;
	return &areas[lo];
}

bool fm_area_has(uintptr_t a)
{
	return area_at(a);
}

static bool is_random(const struct area *a, uintptr_t at)
{
	return a->seg[(at - a->base) / a->segment].advice == FM_ADVICE_RANDOM;
}

void fm_area_touched(uintptr_t start, uintptr_t end)
{
	const uint64_t pages = (end - start) >> FM_PAGE_SHIFT;
	struct area *a = area_at(start);

	if (!a)
		return;
	fm_count(&fm_advise_counts.touches, 1);
	faults_seen += pages / 16 + 1;
	if (!fm_piece_goes_on(start, end) && fm_piece_single(start, end)) {
		struct fm_pattern *p =
			&a->seg[(start - a->base) / a->segment];

		fm_pattern_single(p, now_s());
		costly += p->advice == FM_ADVICE_NORMAL;
		fm_pattern_single(&a->sum, now_s());
		fm_pattern_single(&all, now_s());
		fm_pattern_single(&look, now_s());
		family = fm_board_single(a->dev, a->ino);
		singles++;
		return;
	}
	if (singles || family)
		fm_board_row(a->dev, a->ino);
	singles = family = costly = 0;
	end = end < a->end ? end : a->end;
	fm_streams_touched(&(struct fm_row){ a->id, start, end, a->start,
					     a->end, a->dev,
					     is_random(a, start) });
	fm_pattern_row(&a->sum, pages);
	fm_pattern_row(&all, pages);
	fm_pattern_row(&look, pages);
	while (start < end) {
		const uintptr_t k = (start - a->base) / a->segment;
		uintptr_t stop = a->base + (k + 1) * a->segment;

		stop = stop < end ? stop : end;
		fm_pattern_row(&a->seg[k], (stop - start) >> FM_PAGE_SHIFT);
		/* A stream has come to what was touched here and there. */
		if (a->early)
			a->seg[k].single /= 2;
		start = stop;
	}
}

static void each_pattern(void (*fn)(struct fm_pattern *p))
{
	fn(&all);
	for (unsigned i = 0; i < nareas; i++) {
		fn(&areas[i].sum);
		for (unsigned k = 0; k < areas[i].n; k++)
			fn(&areas[i].seg[k]);
	}
}

static void age(void)
{
	if (aged_s == now_s())
		return;
	aged_s = now_s();
	each_pattern(fm_pattern_age);
	lately.bytes /= 2;
	lately.faults /= 2;
	deep.major /= 2;
	deep.faults /= 2;
}

static void forget_rows(struct fm_pattern *p)
{
	p->pages = 0;
}

static void add_use(struct fm_area_use *to, const struct fm_area_use *use)
{
	to->bytes += use->bytes;
	to->faults += use->faults;
}

static bool changed; /* in this look */

static bool feel_singles(const struct fm_area_use *use)
{
	if (!singles) {
		meanwhile.bytes = meanwhile.faults = 0;
		return false;
	}
	add_use(&meanwhile, use);
	return fm_weigh_changed(family > singles ? family : singles,
				meanwhile.bytes, meanwhile.faults);
}

static bool feel_look(const struct fm_area_use *use)
{
	bool other;

	add_use(&look_use, use);
	if (!fm_weigh_looked(&look))
		return false;
	other = fm_weigh_look(&look, look_use.bytes, look_use.faults);
	if (other)
		meanwhile = look_use;
	look = (struct fm_pattern){ 0 };
	look_use = (struct fm_area_use){ 0 };
	return other;
}

/* Most of it is MADV_RANDOM: a few of many touches are what is slow. */
static bool feel_costly(void)
{
	return any_early && costly && singles >= fm_tune.area_early_sure &&
	       meanwhile.bytes >= costly * fm_tune.weigh_much;
}

/* A program that has read in order goes on here and there: what was in a row
 * says nothing any more, and would outweigh the rest for seconds in which each
 * touch reads in vain. */
static void feel_change(const struct fm_area_use *use)
{
	const bool by_singles = feel_singles(use), by_look = feel_look(use);

	changed = by_singles || by_look || feel_costly();
	if (!changed)
		return;
	if (!any_random && all.pages)
		lately = meanwhile;
	deep = (struct fm_area_use){ 0 };
	costly = 0;
	each_pattern(forget_rows);
	fm_streams_over();
}

/* ---- does it fit? ------------------------------------------------------ */

static uint64_t memory_left(void)
{
	static uint64_t left, next_ms;
	const uint64_t now = fm_now_ms();

	if (now >= next_ms) {
		left = fm_memory_left("");
		next_ms = now + 1000;
	}
	return left;
}

static uint64_t read_lately; /* bytes */

static void note_read(uint64_t bytes)
{
	static uint32_t since_s;

	if (since_s + fm_tune.area_lately_s < now_s()) {
		since_s = now_s();
		read_lately = 0;
	}
	read_lately += bytes;
}

static size_t bytes_of(const struct area *a, unsigned k)
{
	const uintptr_t at = a->base + k * a->segment;
	const uintptr_t lo = at > a->start ? at : a->start;
	const uintptr_t hi = at + a->segment < a->end ? at + a->segment :
							a->end;

	return hi > lo ? hi - lo : 0;
}

static bool fits(enum fm_advice now)
{
	struct fm_weigh_memory m = { .read = read_lately };
	uint64_t touched = 0, bytes = 0;
	unsigned n = 0;

	if (any_early && all.single < fm_tune.area_fits_sure)
		return false;
	for (unsigned i = 0; i < nareas; i++) {
		bytes += areas[i].end - areas[i].start;
		for (unsigned k = 0; k < areas[i].n; k++) {
			const struct fm_pattern *p = &areas[i].seg[k];

			if (!p->seen_s ||
			    p->seen_s + fm_tune.area_lately_s < now_s())
				continue;
			touched += bytes_of(&areas[i], k);
			n++;
		}
	}
	m.left = memory_left();
	return fm_weigh_fits(all.single, n, touched, bytes, &m, now);
}

/* ---- advice ------------------------------------------------------------ */

static const int words[] = { MADV_NORMAL, MADV_RANDOM };

/* Segments [from, to) of a. */
static int advise(struct area *a, unsigned from, unsigned to,
		  enum fm_advice advice)
{
	uintptr_t lo = a->base + from * a->segment;
	uintptr_t hi = a->base + to * a->segment;
	int err;

	lo = lo > a->start ? lo : a->start;
	hi = hi < a->end ? hi : a->end;
	err = lo < hi ? fm_krange_advise(a->id, lo, hi, words[advice]) : 0;
	if (err) {
		a->refused |= err == -ENOMEM;
		return err == -ENOMEM || err == -ESTALE ? 0 : err;
	}
	if (advice == FM_ADVICE_RANDOM && changed && a->stores)
		fm_folios_leave(a->id, lo, hi);
	for (unsigned k = from; k < to; k++)
		a->seg[k].advice = (uint8_t)advice;
	fm_count(&fm_advise_counts.changes, 1);
	return 0;
}

static bool stream_comes(const struct area *a, unsigned k)
{
	const uintptr_t at = a->base + k * a->segment;

	return fm_streams_come(a->id, at, at + a->segment);
}

/* Of a segment that has begun at MADV_RANDOM and tells nothing itself: it waits
 * for a stream, and is what it was when that has passed. */
static enum fm_advice wanted_early(const struct area *a, unsigned k,
				   bool it_fits)
{
	const struct fm_pattern *p = &a->seg[k];

	if ((it_fits && p->seen_s) ||
	    (p->single < fm_tune.weigh_family && stream_comes(a, k)))
		return FM_ADVICE_NORMAL;
	return changed && !it_fits ? FM_ADVICE_RANDOM :
				     p->advice == FM_ADVICE_RANDOM;
}

static enum fm_advice wanted(const struct area *a, unsigned k, bool it_fits)
{
	const struct fm_pattern *p = &a->seg[k];
	const enum fm_advice now = p->advice == FM_ADVICE_RANDOM;

	if (a->early && !fm_pattern_tells(p))
		return wanted_early(a, k, it_fits);
	if (!fm_pattern_tells(p))
		p = fm_pattern_tells(&a->sum) ? &a->sum : &all;
	return fm_weigh(p, now, waste, it_fits);
}

static uint64_t all_bytes(void)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < nareas; i++)
		bytes += areas[i].end - areas[i].start;
	return bytes;
}

static bool begins_early(const struct area *a)
{
	const uint64_t touch = fm_readahead_bytes(a->dev), left = memory_left();

	return touch >= fm_tune.weigh_much && all_bytes() / 5 > left / 4 &&
	       fm_weigh(&all, FM_ADVICE_RANDOM, touch, false) ==
		       FM_ADVICE_RANDOM &&
	       fm_board_ask(a->dev, a->ino) != FM_ADVICE_NORMAL;
}

static int begin_early(struct area *a)
{
	a->judged = true;
	if (!begins_early(a))
		return 0;
	a->early = any_early = true;
	unread_ms = 0;
	if (!waste)
		waste = fm_readahead_bytes(a->dev);
	return advise(a, 0, a->n, FM_ADVICE_RANDOM);
}

/* What a process of the same family has seen, as long as nothing is known, or
 * it goes on here and there after it has read in a row. */
static int begin_as_others(struct area *a)
{
	if (a->begun || (fm_pattern_tells(&all) && !singles))
		return 0;
	if (fm_board_ask(a->dev, a->ino) != FM_ADVICE_RANDOM)
		return 0;
	a->begun = true;
	each_pattern(forget_rows);
	return advise(a, 0, a->n, FM_ADVICE_RANDOM);
}

/* Once all of it is alike. */
static void tell_others(const struct area *a)
{
	if (fm_pattern_tells(&a->sum) &&
	    a->seg[0].advice == a->seg[a->n / 2].advice)
		fm_board_post(a->dev, a->ino, (enum fm_advice)a->seg[0].advice);
}

/* Each of a family has seen little, and all of them enough. */
static void tell_together(bool it_fits)
{
	if (it_fits || !singles || family < fm_tune.weigh_family ||
	    waste < fm_tune.weigh_much)
		return;
	for (unsigned i = 0; i < nareas; i++)
		if (areas[i].sum.single && !areas[i].sum.pages)
			fm_board_post(areas[i].dev, areas[i].ino,
				      FM_ADVICE_RANDOM);
}

static int weigh_area(struct area *a, bool it_fits)
{
	int err = 0;

	for (unsigned k = 0, end; k < a->n && !err && !a->refused; k = end) {
		const enum fm_advice w = wanted(a, k, it_fits);

		for (end = k + 1; end < a->n; end++)
			if (a->seg[end].advice != a->seg[k].advice ||
			    wanted(a, end, it_fits) != w)
				break;
		if (w != a->seg[k].advice)
			err = advise(a, k, end, w);
	}
	tell_others(a);
	return err;
}

static _Atomic bool no_huge; /* this kernel has no huge pages */

/* Segments [from, to) are read 4 MiB at a time, or as they were. */
static void advise_huge(struct area *a, unsigned from, unsigned to, bool huge)
{
	uintptr_t lo = a->base + from * a->segment;
	uintptr_t hi = a->base + to * a->segment;
	int err;

	lo = lo > a->start ? lo : a->start;
	hi = hi < a->end ? hi : a->end;
	err = lo < hi ? fm_krange_advise(a->id, lo, hi, huge ? MADV_HUGEPAGE :
							MADV_NOHUGEPAGE) : 0;
	if (err == -EINVAL)
		atomic_store(&no_huge, true);
	a->refused |= err == -ENOMEM;
	if (err)
		return;
	for (unsigned k = from; k < to; k++)
		a->seg[k].huge = huge;
	fm_count(&fm_advise_counts.changes, 1);
}

static bool wants_huge(const struct area *a, unsigned k)
{
	const uintptr_t at = a->base + k * a->segment;

	return a->seg[k].advice == FM_ADVICE_NORMAL &&
	       fm_streams_reach(a->id, at, at + a->segment);
}

/* Where streams are about to come. */
static void huge_area(struct area *a)
{
	for (unsigned k = 0, end; k < a->n && !a->refused; k = end) {
		const bool w = wants_huge(a, k);

		for (end = k + 1; end < a->n; end++)
			if (a->seg[end].huge != a->seg[k].huge ||
			    wants_huge(a, end) != w)
				break;
		if (w != a->seg[k].huge)
			advise_huge(a, k, end, w);
	}
}

static void huge_areas(void)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < nareas && !no_huge; i++) {
		huge_area(&areas[i]);
		for (unsigned k = 0; k < areas[i].n; k++)
			if (areas[i].seg[k].huge)
				bytes += bytes_of(&areas[i], k);
	}
	atomic_store(&fm_advise_counts.huge_bytes, bytes);
}

static void look_for_random(void)
{
	uint64_t bytes = 0;

	any_random = any_early = false;
	for (unsigned i = 0; i < nareas; i++) {
		any_early |= areas[i].early;
		for (unsigned k = 0; k < areas[i].n; k++)
			if (areas[i].seg[k].advice != FM_ADVICE_NORMAL)
				bytes += bytes_of(&areas[i], k);
	}
	any_random = bytes;
	atomic_store(&fm_advise_counts.random_bytes, bytes);
}

int fm_areas_begin(void)
{
	int err = 0;

	for (unsigned i = 0; i < nareas && !err; i++) {
		if (!areas[i].begun)
			err = begin_as_others(&areas[i]);
		if (!areas[i].judged && !err)
			err = begin_early(&areas[i]);
	}
	look_for_random();
	return err;
}

/* ---- the beginning, where a wrong guess is cheap ----------------------- */

/* Nothing is known of them, and the program is at rest: the kernel reads them
 * as it does natively. */
static void end_early(void)
{
	for (unsigned i = 0; i < nareas; i++) {
		if (areas[i].early && !fm_pattern_tells(&areas[i].sum))
			advise(&areas[i], 0, areas[i].n, FM_ADVICE_NORMAL);
		areas[i].early = false;
	}
	look_for_random();
}

static void quiet_early(uint64_t ms)
{
	unread_ms += ms;
	if (any_early && unread_ms >= fm_tune.area_unread_ms)
		end_early();
}

bool fm_areas_early(void)
{
	return any_early;
}

void fm_areas_leave(void)
{
	if (any_early)
		end_early();
}

void fm_areas_forget(void)
{
	areas = NULL;
	nareas = last_found = seen = 0;
}

/* Since the last call. */
static uint64_t read_for_streams(void)
{
	static uint64_t before;
	const uint64_t now = atomic_load(&fm_streams_counts.bytes);
	const uint64_t bytes = now - before;

	before = now;
	return bytes;
}

/* A touch that waits would read all that the kernel reads ahead, and one that
 * finds its page cached nothing. */
static void note_deep(const struct fm_area_use *use)
{
	deep.faults += use->faults;
	deep.major += use->major;
	waste = 0;
	if (deep.major * fm_tune.area_few_wait >= deep.faults && deep.faults)
		waste = fm_readahead_bytes(areas[0].dev) * deep.major /
			deep.faults;
}

/* Many faults may be others' (of memory from malloc), and bytes, too (read(2)):
 * no more faults than were seen, and a touch reads no more than the kernel
 * reads ahead. */
static void note_use(const struct fm_area_use *use, unsigned part)
{
	const uint64_t seen = part ? faults_seen * 1000 / part : 0;
	const uint64_t streams = read_for_streams();

	faults_seen = 0;
	if (any_early)
		note_deep(use);
	if (any_random || any_early || !part)
		return;
	lately.bytes += use->bytes - fm_least(use->bytes, streams);
	lately.faults += fm_least(use->faults, seen);
	waste = fm_weigh_waste(&all, lately.bytes, lately.faults);
	if (nareas)
		waste = fm_least(waste, fm_readahead_bytes(areas[0].dev));
}

int fm_areas_weigh(const struct fm_area_use *use, unsigned part)
{
	bool fit;
	int err = 0;

	if (part)
		unread_ms = 0;
	else
		quiet_early(use->ms);
	note_read(use->bytes);
	fit = fits(any_random);
	feel_change(use);
	note_use(use, part);
	for (unsigned i = 0; i < nareas && !err; i++)
		err = weigh_area(&areas[i], fit);
	tell_together(fit);
	fm_log(FM_LOG_DEBUG, "advice: single %u, in a row %u, waste %lu KiB, "
	       "%s, %lu MiB random", all.single, all.pages, waste >> 10,
	       fit ? "fits" : "larger than memory",
	       atomic_load(&fm_advise_counts.random_bytes) >> 20);
	look_for_random();
	age();
	fm_streams_ahead(use, memory_left(), !no_huge);
	fm_streams_behind(all_bytes(), memory_left());
	fm_folios_turn();
	if (!err)
		huge_areas();
	return err;
}

/* ---- nothing is missed any more ----------------------------------------- */

/* It fits after all, as it seems: then what is used often shall keep its place.
 * When that was wrong it takes longer the next time. */
void fm_areas_quiet(const struct fm_area_use *use)
{
	static uint64_t quiet_ms, wait_ms;

	quiet_early(use->ms);
	if (!wait_ms)
		wait_ms = fm_tune.area_wait_ms;
	if (!any_random || use->cpu_ms * 4 < use->ms) {
		quiet_ms = 0;
		return;
	}
	quiet_ms += use->ms;
	if (quiet_ms < wait_ms)
		return;
	for (unsigned i = 0; i < nareas; i++)
		advise(&areas[i], 0, areas[i].n, FM_ADVICE_NORMAL);
	look_for_random();
	quiet_ms = 0;
	wait_ms = fm_least(2 * wait_ms, fm_tune.area_most_wait_ms);
}
