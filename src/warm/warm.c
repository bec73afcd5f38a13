/* SPDX-License-Identifier: MIT */
/*
 * warm.c - when a state is looked for, and when one is written: by a thread
 * that starts with the first file, at the end, and by the guardian.
 */
#include "warm.h"

#include <string.h>

#include "base/control.h"
#include "base/event.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/thread.h"
#include "engine.h"
#include "gather.h"
#include "policy.h"
#include "restore.h"
#include "save.h"

#define LEAST ((size_t)1 << 20) /* bytes: windows come and go */
#define EVERY_MS 300000
#define GONE_MS 1000 /* between two looks at what is unmapped */
#define PATIENCE_MS 2000

enum state { NONE, RUNNING, REFUSED };
static _Atomic int state; /* of the thread */
static _Atomic bool stopping;
static struct fm_event bell;
static _Atomic uint32_t orders, obeyed; /* to save now */
static _Atomic int result;
static _Atomic bool saving;
static _Atomic bool made; /* the directory, by an order to save */

static bool is_on(void)
{
	return fm_settings()->warm_dir && fm_settings()->mode == FM_MODE_ON;
}

/* The directory of the states is asked for once: where there is none, nothing
 * is done. */
static bool is_there(void)
{
	static _Atomic int answer;
	const char *named = fm_settings()->warm_start;
	int is = atomic_load(&answer);

	if (atomic_load(&made) || (named && strcmp(named, "auto")))
		return true;
	if (!is && !fm_sys_confined()) {
		is = fm_exists(fm_settings()->warm_dir) ? 1 : -1;
		atomic_store(&answer, is);
	}
	return is > 0;
}

const char *fm_warm_outcome_text(enum fm_warm_outcome o)
{
	static const char *const text[FM_WARM_OUTCOMES] = {
		[FM_WARM_NOT_YET] = "not looked for yet",
		[FM_WARM_READ] = "read back",
		[FM_WARM_ABSENT] = "no state",
		[FM_WARM_STALE] = "the file has changed since",
		[FM_WARM_BROKEN] = "the state is damaged or not this user's",
		[FM_WARM_TAKEN] = "another process reads it back",
	};

	return text[o];
}

/* ---- saving, one at a time ---------------------------------------------- */

static int save(enum fm_warm_when when, bool make)
{
	int n;

	for (int ms = 0; atomic_exchange(&saving, true); ms++) {
		if (ms == PATIENCE_MS)
			return -EBUSY;
		fm_sys_sleep_us(1000);
	}
	n = fm_warm_save_all(when, make);
	if (make && n >= 0)
		atomic_store(&made, true);
	atomic_store(&saving, false);
	return n;
}

/* ---- the thread -------------------------------------------------------- */

static void serve(struct fm_warm_record *r)
{
	const int lock = fm_warm_look(r);

	if (atomic_load(&r->outcome) == FM_WARM_READ)
		fm_warm_restore(r, &stopping);
	if (lock >= 0)
		fm_sys_close(lock);
}

static void serve_all(void)
{
	struct fm_warm_record *r;

	for (unsigned i = 0; (r = fm_warm_record_at(i)); i++)
		if (atomic_exchange(&r->due, false))
			serve(r);
}

static void obey(void)
{
	const uint32_t n = atomic_load(&orders);

	if (atomic_load(&obeyed) == n)
		return;
	atomic_store(&result, save(FM_WARM_LIVE, true));
	atomic_store(&obeyed, n);
	fm_futex_wake(&obeyed, 1 << 30);
}

/* With a table of descriptors of its own, for the numbers are the program's. */
static void *warm_thread(void *arg)
{
	static struct fm_kept_files kept;
	uint64_t due = fm_now_ms() + EVERY_MS;

	fm_thread_begin("fastmap-warm");
	if (!fm_read_keep(&kept)) {
		atomic_store(&state, REFUSED);
		return NULL;
	}
	while (!atomic_load(&stopping)) {
		const uint32_t seen = fm_event_seen(&bell);
		const struct timespec t = { EVERY_MS / 1000, 0 };

		serve_all();
		obey();
		if (fm_now_ms() >= due) {
			save(FM_WARM_LIVE, false);
			due = fm_now_ms() + EVERY_MS;
		}
		fm_event_wait_alone(&bell, seen, &t);
	}
	return NULL;
}

static bool need_thread(void)
{
	int none = NONE;

	if (atomic_load(&stopping) || fm_sys_confined())
		return false;
	if (!atomic_compare_exchange_strong(&state, &none, RUNNING))
		return none == RUNNING;
	if (!fm_thread_create(warm_thread, NULL))
		return true;
	atomic_store(&state, REFUSED);
	return false;
}

/* ---- asked from outside ------------------------------------------------ */

void fm_warm_mapped(dev_t dev, ino_t ino, size_t len,
		    const char *(*path)(void *arg), void *arg)
{
	struct fm_warm_record *r;
	const char *name;

	if (!is_on() || len < LEAST)
		return;
	r = fm_warm_record_find(dev, ino);
	if (r && atomic_load(&r->known) <= atomic_load(&r->brought))
		return;
	if (!r) {
		name = path(arg);
		r = name ? fm_warm_record_add(dev, ino, name) : NULL;
	}
	if (!r || !is_there())
		return;
	atomic_store(&r->due, true);
	if (need_thread())
		fm_event_raise(&bell);
}

static int save_now(void)
{
	const uint32_t before = atomic_fetch_add(&orders, 1);
	const struct timespec t = { 30, 0 };

	if (!fm_settings()->warm_dir)
		return -ENOENT;
	if (!need_thread())
		return save(FM_WARM_LIVE, true);
	fm_event_raise(&bell);
	if (atomic_load(&obeyed) == before)
		fm_futex_wait(&obeyed, before, &t);
	return atomic_load(&obeyed) == before ? -ETIMEDOUT :
						atomic_load(&result);
}

static void save_command(struct fm_request *r)
{
	const int n = save_now();

	if (n < 0)
		fm_answer_error(r, "%s: %s", fm_settings()->warm_dir ?
				fm_settings()->warm_dir : "warm-start is off",
				fm_error_text(-n));
	else
		fm_answer_ok(r, "%d files", n);
}

FM_CONTROL(warm_save, .word = "save", .args = "", .run = save_command,
	   .job = true, .help = "write down what is hot, for a warm start")

void fm_warm_each(void (*one)(const struct fm_warm_file *f, void *arg),
		  void *arg)
{
	struct fm_warm_record *r;

	for (unsigned i = 0; (r = fm_warm_record_at(i)); i++) {
		const struct fm_warm_file f = {
			r->path, atomic_load(&r->outcome),
			atomic_load(&r->known), atomic_load(&r->brought),
		};

		one(&f, arg);
	}
}

/* ---- what is unmapped -------------------------------------------------- */

static void keep_gone(struct fm_warm_record *r, struct fm_warm_pages *p)
{
	struct fm_warm_pages old = { .n = 0 };
	uint64_t mask;

	fm_block_signals(&mask);
	fm_lock(&fm_warm_lock);
	if (r->gone.n <= p->n) {
		old = r->gone;
		fm_warm_merge(p, &old, 0);
		r->gone = *p;
	} else {
		fm_warm_merge(&r->gone, p, 0);
		old = *p;
	}
	fm_unlock(&fm_warm_lock);
	fm_restore_signals(&mask);
	fm_warm_pages_free(&old);
}

static bool any_hot(const struct fm_warm_pages *p)
{
	return fm_warm_next(p, 0, FM_WARM_PAST) < p->n;
}

static void note_gone(struct fm_warm_record *r, const struct fm_warm_where *w)
{
	struct fm_warm_pages p;
	struct fm_warm_head h;
	dev_t dev;

	if (fm_warm_identify(r->path, &dev, &h) ||
	    fm_warm_pages_make(&p, fm_page_up(h.size) >> FM_PAGE_SHIFT))
		return;
	fm_warm_gather(r->dev, r->ino, w, &p);
	if (any_hot(&p))
		keep_gone(r, &p);
	else
		fm_warm_pages_free(&p);
}

void fm_warm_unmaps(const void *addr, size_t len)
{
	const struct fm_warm_where w = { (uintptr_t)addr,
					 (uintptr_t)addr + len, false };
	struct fm_warm_record *r;
	static _Atomic uint64_t last_ms;
	uint64_t now;

	if (len < LEAST || !fm_warm_record_at(0) || !is_on() ||
	    !is_there() || !fm_sys_may_ask() ||
	    (!fm_overlaps(addr, len) && !fm_krange_in(addr, len)))
		return;
	now = fm_now_ms();
	if (now - atomic_exchange(&last_ms, now) < GONE_MS)
		return;
	for (unsigned i = 0; (r = fm_warm_record_at(i)); i++)
		note_gone(r, &w);
}

/* ---- the end ----------------------------------------------------------- */

static void stop(void)
{
	atomic_store(&stopping, true);
	fm_event_raise(&bell);
	if (is_on() && fm_sys_may_ask() && fm_warm_record_at(0))
		save(FM_WARM_END, false);
}

static void dead(int pid, bool executed)
{
	if (is_on() && fm_warm_record_at(0))
		fm_warm_save_all(FM_WARM_DEAD, false);
}

/* The thread is not here. The parent's files are its own business. */
static void forked(void)
{
	atomic_store(&state, NONE);
	atomic_store(&saving, false);
	atomic_store(&obeyed, atomic_load(&orders));
	fm_event_reset(&bell);
	fm_warm_records_forked();
}

FM_LIFE(warm, .level = FM_LIFE_HELPERS, .forked = forked, .stop = stop,
	.dead = dead)
