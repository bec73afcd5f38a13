/* SPDX-License-Identifier: MIT */
#include "pull.h"

#include <sys/mman.h>

#include "base/event.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "base/thread.h"
#include "base/types.h"
#include "map/map.h"
#include "tunables.h"

#define LEVELS 4u /* size */
#define PULLERS (1u << (LEVELS - 1)) /* size: of them */
#define ROUND 3u /* size: pieces of each, of which a mean is taken */
#define FORGET 16u /* size: rounds, until another depth is tried again */
#define PIECES 64u /* size: that wait */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* ABI: Linux 5.14 */
#endif

/* Two halves, each from a border of 2 MiB of the file. */
struct piece {
	uint32_t id;
	uintptr_t start, middle, end;
};

enum { NONE, RUNNING };

static struct puller {
	_Atomic int state;
	struct fm_event bell;
	struct piece now; /* under the lock; end 0: none */
	unsigned beside;  /* that were busy when it began, with it */
} pullers[PULLERS];

static struct fm_lock lock = FM_LOCK(FM_RANK_OF_TABLES);
static struct piece queue[PIECES]; /* the first comes first */
static unsigned waiting;
static _Atomic bool leaving, refused;
static _Atomic uint64_t pulled;
static char *views; /* a page of each, and one between two */
/* Under the lock: how many are read at a time, as a power of two, those that
 * have come so, and bytes a ms at each. */
static unsigned level = 1, done, active, turns;
static uint64_t rates[LEVELS];

/* ---- a thread ------------------------------------------------------------ */

static char *pull_view(const struct puller *p)
{
	return views + 2 * FM_PAGE * (size_t)(p - pullers);
}

static void pull_view_back(char *view)
{
	fm_sys_mmap(view, FM_PAGE, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
		    -1, 0);
}

/* The half from its border and the next one come with any page of it. Read in
 * order: that it leaves says nothing of whether it is in use. */
static int pull_touch(const struct puller *p, uintptr_t page)
{
	char *view = pull_view(p);
	int err = fm_krange_view(p->now.id, page, view);

	/* By an older kernel there may be nothing now where it was to lie. */
	if (err) {
		pull_view_back(view);
		return -ESTALE;
	}
	fm_sys_madvise(view, FM_PAGE, MADV_SEQUENTIAL);
	err = fm_sys_madvise(view, FM_PAGE, MADV_HUGEPAGE);
	if (!err)
		err = fm_sys_madvise(view, FM_PAGE, MADV_POPULATE_READ);
	pull_view_back(view);
	return err;
}

/* FUSE drops what it has too much to do for: the last page tells. Has it been
 * there? Or -errno. */
static int pull_half(const struct puller *p, uintptr_t start, uintptr_t end)
{
	int err = 0, there = fm_in_memory(start);

	if (!there)
		err = pull_touch(p, start);
	if (err || fm_in_memory(end - FM_PAGE))
		return err ? err : there;
	return pull_touch(p, end - FM_PAGE);
}

/* Twice as many while that brings more by an eighth; half as many where they
 * bring as much. Under the lock. */
static unsigned pull_level_next(void)
{
	const uint64_t now = rates[level];
	const uint64_t less = level ? rates[level - 1] : 0;

	if (level && now < less + less / 8)
		return level - 1;
	if (level + 1 < LEVELS && (!rates[level + 1] ||
				   rates[level + 1] > now + now / 8))
		return level + 1;
	return level;
}

/* Another time that may be otherwise. */
static void pull_level_turn(void)
{
	done = 0;
	level = pull_level_next();
	if (++turns % FORGET == 0)
		for (unsigned i = 0; i < LEVELS; i++)
			rates[i] = i == level ? rates[i] : 0;
}

/* So many at a time (Little). What it waits for in vain, or alone, says
 * nothing. */
static void pull_took(const struct puller *p, uint64_t us)
{
	const uint64_t rate =
		p->beside * (p->now.end - p->now.start) * 1000 / (us + 1);
	uint64_t *r;

	FM_HOLD(&lock);
	if (p->beside != 1u << level)
		return;
	r = &rates[level];
	*r = *r ? (3 * *r + rate) / 4 : rate;
	if (++done >= ROUND << level)
		pull_level_turn();
}

/* An old kernel, no huge pages. What has gone meanwhile says nothing. */
static bool pull_is_refused(int err)
{
	return err == -EINVAL || err == -ENOSYS || err == -EPERM;
}

static void pull_piece(const struct puller *p)
{
	const uint64_t begin = fm_now_ns();
	const struct piece *w = &p->now;
	const int first = pull_half(p, w->start, w->middle);
	const int next = first >= 0 && w->middle < w->end ?
		pull_half(p, w->middle, w->end) : 0;

	if (pull_is_refused(first) || pull_is_refused(next))
		atomic_store(&refused, true);
	if (first || next < 0)
		return;
	pull_took(p, (fm_now_ns() - begin) / 1000);
	atomic_fetch_add(&pulled, w->end - w->start);
}

static bool pull_next(struct puller *p)
{
	FM_HOLD(&lock);
	active -= p->now.end != 0;
	p->now = (struct piece){ .end = 0 };
	if (!waiting || atomic_load(&leaving) || active >= 1u << level)
		return false;
	p->beside = ++active;
	p->now = queue[0];
	waiting--;
	for (unsigned i = 0; i < waiting; i++)
		queue[i] = queue[i + 1];
	return true;
}

/* Who asks afterwards finds it gone. */
static bool pull_ends(struct puller *p)
{
	FM_HOLD(&lock);
	if (waiting && !atomic_load(&leaving))
		return false;
	atomic_store(&p->state, NONE);
	return true;
}

static void *pull_thread(void *arg)
{
	const struct timespec idle = fm_timespec_ms(fm_tune.streams_forget_ms);
	struct puller *p = arg;

	fm_thread_begin("fastmap-pull");
	for (;;) {
		const uint32_t seen = fm_event_seen(&p->bell);

		fm_thread_obey();
		if (pull_next(p))
			pull_piece(p);
		else if ((atomic_load(&leaving) ||
			  fm_event_wait_alone(&p->bell, seen, &idle) ==
				  -ETIMEDOUT) &&
			 pull_ends(p))
			return NULL;
	}
}

/* ---- who asks ------------------------------------------------------------ */

static bool have_views(void)
{
	char *p;

	if (views)
		return true;
	p = fm_sys_far(2 * FM_PAGE * PULLERS, PROT_NONE);
	if (fm_is_err(p))
		return false;
	views = p;
	return true;
}

static bool have_puller(struct puller *p)
{
	int none = NONE;

	if (!atomic_compare_exchange_strong(&p->state, &none, RUNNING)) {
		fm_event_raise(&p->bell);
		return true;
	}
	if (!fm_thread_create(pull_thread, p))
		return true;
	atomic_store(&p->state, NONE);
	return false;
}

static unsigned pull_depth(void)
{
	FM_HOLD(&lock);
	return 1u << level;
}

uint64_t fm_pull_bytes(uint64_t rate, uint64_t ms)
{
	return rate * ms + (pull_depth() + 2) * FM_PULLED;
}

/* A store to a page of a large folio dirties all of it. */
bool fm_pull_may(const struct fm_krange *r, uint64_t most)
{
	return r->shared && !(r->prot & PROT_WRITE) && !r->kept &&
	       !atomic_load(&refused) &&
	       most >= 2 * FM_PULLED && fm_sys_may_ask() && have_views();
}

void fm_pull_forget(void)
{
	FM_HOLD(&lock);
	waiting = 0;
}

/* Under the lock. */
static bool pull_is_begun(const struct piece *w)
{
	for (unsigned i = 0; i < PULLERS; i++)
		if (pullers[i].now.end == w->end && pullers[i].now.id == w->id)
			return true;
	return false;
}

static bool half_is_there(uintptr_t start, uintptr_t end)
{
	return start >= end ||
	       (fm_in_memory(start) && fm_in_memory(end - FM_PAGE));
}

/* Is there anything to do? */
static bool pull_add(const struct piece *w)
{
	if (half_is_there(w->start, w->middle) &&
	    half_is_there(w->middle, w->end))
		return false;
	FM_HOLD(&lock);
	if (waiting < PIECES && !pull_is_begun(w))
		queue[waiting++] = *w;
	return true;
}

/* The one in which a lies, as far as it is r's. */
static struct piece piece_around(const struct fm_krange *r, uintptr_t a)
{
	const uint64_t at = (r->pgoff << FM_PAGE_SHIFT) + (a - r->start);
	const uintptr_t border = a - at % FM_PULLED,
			end = fm_least(border + FM_PULLED, r->end),
			from = border > r->start ? border : r->start;
	const uintptr_t middle = fm_least(border + FM_HUGE, end);

	return (struct piece){ r->id, from, middle > from ? middle : end,
			       end };
}

static bool have_pullers(unsigned n)
{
	bool have = !n;

	for (unsigned i = 0; i < n && i < PULLERS; i++)
		have |= have_puller(&pullers[i]);
	return have;
}

bool fm_pull(const struct fm_krange *r, uintptr_t start, uintptr_t end)
{
	unsigned n = 0;
	struct piece w;

	atomic_store(&leaving, false);
	for (; start < end && start < r->end; start = w.end) {
		w = piece_around(r, start);
		n += pull_add(&w);
	}
	return have_pullers((unsigned)fm_least(n, pull_depth()));
}

uint64_t fm_pull_take(void)
{
	return atomic_exchange(&pulled, 0);
}

static bool is_at_rest(const struct puller *p)
{
	FM_HOLD(&lock);
	return !p->now.end;
}

/* Those at rest. The others find it out when the device has answered. */
void fm_pull_end(void)
{
	atomic_store(&leaving, true);
	for (unsigned i = 0; i < PULLERS; i++) {
		if (atomic_load(&pullers[i].state) != RUNNING)
			continue;
		fm_event_raise(&pullers[i].bell);
		if (is_at_rest(&pullers[i]))
			fm_thread_leaves(&pullers[i].state, RUNNING);
	}
}

/* A view that there was when the program forked is the child's, too. */
static void pull_forked(void)
{
	fm_lock_reset(&lock);
	waiting = done = active = 0;
	atomic_store(&leaving, false);
	for (unsigned i = 0; i < PULLERS; i++) {
		if (atomic_exchange(&pullers[i].state, NONE) == RUNNING)
			pull_view_back(pull_view(&pullers[i]));
		pullers[i].now.end = 0;
		fm_event_reset(&pullers[i].bell);
	}
}

FM_LIFE(pull, .level = FM_LIFE_HELPERS, .forked = pull_forked)
