/* SPDX-License-Identifier: MIT */
/*
 * samples.c - what is touched, by the addresses of page faults.
 *
 * A perf software event on each thread of the program writes an address for
 * each fault of user code into a ring, from which the helper takes them at each
 * look. Nothing is woken by a sample. A ring has room for one page of them, and
 * the kernel drops what comes when it is full: so a look is a burst from each
 * thread, and costs the same however many faults there are.
 *
 * One event for each thread and not one for each CPU that children inherit:
 * that would go on in programs that the child executes, and needs threads times
 * CPUs of them. A child of fork has a helper of its own.
 */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "advised.h"
#include "base/life.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/thread.h"
#include "base/types.h"
#include "scan.h"
#include "source.h"
#include "tunables.h"
#include "advice_cost.h"

#define THREADS 16 /* at a time; of more than these, others in turns */
#define RING (2 * FM_PAGE) /* size: its header, and the samples */
#define WORDS (FM_PAGE / sizeof(uint64_t))

struct ring {
	int tid, fd;
	struct perf_event_mmap_page *head;
	bool listed;
};

static struct ring rings[THREADS];
static unsigned nrings, turn, nlinks, nthreads;
static bool on;
static int me; /* who collects, in a unit test none of ours */
static int task = -1; /* /proc/self/task */
static uint64_t anew_ms;

/* ---- the events -------------------------------------------------------- */

static int open_event(int tid)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER0,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_ADDR,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.watermark = 1,
		.wakeup_watermark = UINT32_MAX, /* nobody waits for it */
	};

	return (int)fm_sys5(SYS_perf_event_open, &a, tid, -1, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

static int map_ring(struct ring *r)
{
	void *p = fm_sys_far_map(RING, PROT_READ | PROT_WRITE, MAP_SHARED,
				 r->fd, 0);

	if (fm_is_err(p))
		return (int)(intptr_t)p;
	r->head = p;
	return 0;
}

static void samples_set(const struct ring *r, bool to)
{
	fm_sys_ioctl(r->fd, to ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE,
		     NULL);
}

static int samples_add(int tid)
{
	struct ring *r = &rings[nrings];
	int err;

	*r = (struct ring){ .tid = tid, .fd = open_event(tid), .listed = true };
	if (r->fd < 0)
		return r->fd;
	err = map_ring(r);
	if (err) {
		fm_sys_close(r->fd);
		return err;
	}
	if (on)
		samples_set(r, true);
	nrings++;
	return 0;
}

static void samples_drop(unsigned i)
{
	fm_sys_munmap(rings[i].head, RING);
	fm_sys_close(rings[i].fd);
	rings[i] = rings[--nrings];
}

static void set_all(bool to)
{
	on = to;
	for (unsigned i = 0; i < nrings; i++)
		samples_set(&rings[i], to);
}

/* ---- the threads ------------------------------------------------------- */

static bool samples_has(int tid)
{
	for (unsigned i = 0; i < nrings; i++) {
		if (rings[i].tid == tid) {
			rings[i].listed = true;
			return true;
		}
	}
	return false;
}

/* wanted: how many of these are passed over, and how many are taken. */
struct wanted {
	int tid[THREADS];
	unsigned n, seen, from;
};

static void want(const char *name, void *arg)
{
	struct wanted *w = arg;
	const int tid = atoi(name);

	if (name[0] == '.' || tid == me || fm_thread_is(tid) ||
	    w->seen++ < w->from || w->n == THREADS)
		return;
	w->tid[w->n++] = tid;
}

static void each_thread(struct wanted *w)
{
	static char buf[4096] __attribute__((aligned(8)));

	fm_sys3(SYS_lseek, task, 0, SEEK_SET);
	fm_each_entry(task, buf, sizeof(buf), want, w);
}

/* Of more threads than there are rings, these are next. */
static void samples_choose(struct wanted *w)
{
	*w = (struct wanted){ .from = turn };
	each_thread(w);
	nthreads = w->seen;
	turn = w->seen > turn + THREADS ? turn + THREADS : 0;
}

/* 0, or why a thread has none. One that has just ended is no reason. */
static int samples_follow(void)
{
	struct wanted w;
	int err = 0, e;

	samples_choose(&w);
	for (unsigned i = 0; i < nrings; i++)
		rings[i].listed = false;
	for (unsigned i = 0; i < w.n; i++)
		samples_has(w.tid[i]);
	for (unsigned i = nrings; i-- > 0;)
		if (!rings[i].listed)
			samples_drop(i);
	for (unsigned i = 0; i < w.n && !err; i++) {
		e = samples_has(w.tid[i]) ? 0 : samples_add(w.tid[i]);
		err = e == -ESRCH ? 0 : e;
	}
	return err;
}

/* A link for each thread: so it is known when their number is another. As many
 * may have ended as have begun: it is not gone by alone. */
static int follow_if_changed(void)
{
	const uint64_t now = fm_now_ms();
	struct stat st;

	if (fm_sys_fstat(task, &st))
		return -ENOENT;
	if (st.st_nlink == nlinks && now < anew_ms)
		return 0;
	nlinks = (unsigned)st.st_nlink;
	anew_ms = now + FM_SECOND_MS;
	return samples_follow();
}

/* ---- the samples ------------------------------------------------------- */

#define SPANS 32

static struct fm_run span[SPANS];
static unsigned nspans, oldest;

static bool samples_joins(struct fm_run *s, uintptr_t page)
{
	if (page >= s->start && page < s->end)
		return true;
	if (page >= s->end && page - s->end < fm_stream_reach(page)) {
		s->end = page + FM_PAGE;
		return true;
	}
	if (page < s->start &&
	    s->start - page - FM_PAGE < fm_stream_reach(page + FM_PAGE)) {
		s->start = page;
		return true;
	}
	return false;
}

static void samples_note(struct fm_advised_all *all, uintptr_t page,
			 fm_touch_fn touched)
{
	struct fm_run *s;

	for (unsigned i = 0; i < nspans; i++)
		if (samples_joins(&span[i], page))
			return;
	if (nspans < SPANS) {
		s = &span[nspans++];
	} else {
		s = &span[oldest++ % SPANS];
		touched(all, s->start, s->end);
	}
	*s = (struct fm_run){ page, page + FM_PAGE };
}

static void tell_spans(struct fm_advised_all *all, fm_touch_fn touched)
{
	for (unsigned i = 0; i < nspans; i++)
		touched(all, span[i].start, span[i].end);
	nspans = oldest = 0;
}

struct counted {
	struct fm_advised_all *all;
	fm_touch_fn touched;
	uint64_t seen, ours, lost;
};

static uint64_t samples_word(const struct ring *r, uint64_t at)
{
	const uint64_t *data = (const void *)((const char *)r->head + FM_PAGE);

	return data[at / sizeof(*data) % WORDS];
}

static void samples_record(const struct ring *r, uint64_t at,
			   const struct perf_event_header *h, struct counted *c)
{
	const uint64_t first = samples_word(r, at + sizeof(*h));

	if (h->type == PERF_RECORD_LOST)
		c->lost += samples_word(r, at + sizeof(*h) + sizeof(uint64_t));
	if (h->type != PERF_RECORD_SAMPLE)
		return;
	c->seen++;
	if (!fm_advised_at(c->all, first))
		return;
	c->ours++;
	samples_note(c->all, first & ~(uintptr_t)FM_PAGE_MASK, c->touched);
}

static void drain(struct ring *r, struct counted *c)
{
	const uint64_t head = __atomic_load_n(&r->head->data_head,
					      __ATOMIC_ACQUIRE);
	uint64_t at = r->head->data_tail, first;
	struct perf_event_header h;

	while (at < head) {
		first = samples_word(r, at);
		memcpy(&h, &first, sizeof(h));
		if (!h.size)
			break;
		samples_record(r, at, &h, c);
		at += h.size;
	}
	__atomic_store_n(&r->head->data_tail, head, __ATOMIC_RELEASE);
}

/* ---- the source -------------------------------------------------------- */

static void samples_end(void)
{
	while (nrings)
		samples_drop(nrings - 1);
	if (task >= 0)
		fm_sys_close(task);
	task = -1;
}

static int samples_start(void)
{
	int err;

	nrings = turn = nlinks = nthreads = 0; /* a parent's are not here */
	anew_ms = 0;
	on = true;
	me = (int)fm_sys0(SYS_gettid);
	task = fm_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY, 0);
	err = task < 0 ? task : follow_if_changed();
	if (err)
		samples_end();
	return err;
}

/* Of threads that no ring follows just now as little is known as of samples
 * that are lost. */
static unsigned part_of(const struct counted *c)
{
	const uint64_t threads = nthreads ? nthreads : 1;
	const uint64_t followed = fm_least(nrings, threads);

	return (unsigned)(c->seen * 999 / (c->seen + c->lost) * followed /
			  threads) + 1;
}

/* 0 where the faults are of other memory: estimates tell more of that. */
static unsigned samples_collect(struct fm_advised_all *all, fm_touch_fn touched)
{
	struct counted c = { all, touched, 0, 0, 0 };

	if (follow_if_changed())
		return 0;
	if (!on)
		set_all(true);
	for (unsigned i = 0; i < nrings; i++)
		drain(&rings[i], &c);
	tell_spans(all, touched);
	if (!c.seen)
		anew_ms = 0; /* who reads is a new thread */
	if (c.ours * 1000 < c.seen * fm_tune.samples_few || !c.ours)
		return 0;
	return part_of(&c);
}

static void samples_rest(void)
{
	if (on)
		set_all(false);
}

const struct fm_source fm_source_samples = { "perf", samples_start,
					     samples_collect, samples_rest,
					     samples_end };
