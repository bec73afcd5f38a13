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
#include "base/pause.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/thread.h"
#include "engine.h"
#include "policy.h"
#include "restore.h"
#include "save.h"
#include "tunables.h"

enum state { NONE, RUNNING, REFUSED };
static _Atomic int state; /* of the thread */
static _Atomic bool stopping; /* the process ends */
static _Atomic bool leaving;  /* the thread has to */
static struct fm_event bell;
static _Atomic uint32_t orders, obeyed; /* to save now */
static _Atomic int result;
static _Atomic bool saving;
static _Atomic bool made; /* the directory, by an order to save */

static bool is_on(void)
{
	return fm_settings()->warm_dir && fm_settings()->mode == FM_MODE_ON;
}

bool fm_warm_is_there(void)
{
	static _Atomic int answer;
	const char *named = fm_settings()->warm_start;
	int is = atomic_load(&answer);

	if (!is_on())
		return false;
	if (atomic_load(&made) || (named && strcmp(named, "auto")))
		return true;
	if (!is && !fm_sys_confined()) {
		is = fm_exists(fm_settings()->warm_dir) ? 1 : -1;
		atomic_store(&answer, is);
	}
	return is > 0;
}

const char *fm_look_outcome_text(enum fm_look_outcome o)
{
	static const char *const text[FM_LOOK_OUTCOMES] = {
		[FM_LOOK_NOT_YET] = "not looked for yet",
		[FM_LOOK_READ] = "read back",
		[FM_LOOK_ABSENT] = "no state",
		[FM_LOOK_STALE] = "the file has changed since",
		[FM_LOOK_BROKEN] = "the state is damaged or not this user's",
		[FM_LOOK_TAKEN] = "another process reads it back",
	};

	return text[o];
}

/* ---- saving, one at a time ---------------------------------------------- */

static int save(enum fm_save_when when, bool make)
{
	const struct fm_wait w = fm_wait_for(fm_tune.patience_ms);
	int n;

	while (atomic_exchange(&saving, true))
		if (!fm_wait_on(&w))
			return -EBUSY;
	n = fm_warm_save_all(when, make);
	if (make && n >= 0)
		atomic_store(&made, true);
	atomic_store(&saving, false);
	return n;
}

/* ---- the thread -------------------------------------------------------- */

static void warm_obey(void)
{
	const uint32_t n = atomic_load(&orders);

	if (atomic_load(&obeyed) == n)
		return;
	atomic_store(&result, save(FM_SAVE_LIVE, true));
	atomic_store(&obeyed, n);
	fm_futex_wake(&obeyed, 1 << 30);
}

/* Between two pieces of work: an order to save does not wait for what is being
 * read back. False: the thread is to end. */
static bool warm_goes_on(void)
{
	if (atomic_load(&stopping) || atomic_load(&leaving) ||
	    !fm_sys_may_ask())
		return false;
	warm_obey();
	return true;
}

static void warm_serve(struct fm_warm_record *r)
{
	const int lock = fm_warm_look(r);

	if (atomic_load(&r->outcome) == FM_LOOK_READ)
		fm_warm_restore(r, warm_goes_on);
	if (lock >= 0)
		fm_sys_close(lock);
	if (!warm_goes_on())
		atomic_store(&r->due, true);
}

static void serve_all(void)
{
	struct fm_warm_record *r;

	for (unsigned i = 0; (r = fm_warm_record_at(i)); i++)
		if (atomic_load(&r->due) && warm_goes_on()) {
			atomic_store(&r->due, false);
			warm_serve(r);
		}
}

/* With a table of descriptors of its own, for the numbers are the program's. */
static void *warm_thread(void *arg)
{
	static struct fm_kept_files kept;
	const struct timespec t = { fm_tune.warm_every_ms / 1000, 0 };
	uint64_t due = fm_now_ms() + fm_tune.warm_every_ms;
	uint32_t seen;

	fm_thread_begin("fastmap-warm");
	if (!fm_read_keep(&kept)) {
		atomic_store(&state, REFUSED);
		return NULL;
	}
	for (seen = fm_event_seen(&bell); warm_goes_on();
	     seen = fm_event_seen(&bell)) {
		serve_all();
		if (fm_now_ms() >= due && warm_goes_on()) {
			save(FM_SAVE_LIVE, false);
			due = fm_now_ms() + fm_tune.warm_every_ms;
		}
		fm_event_wait_alone(&bell, seen, &t);
	}
	atomic_store(&state, NONE);
	return NULL;
}

static bool need_thread(void)
{
	int none = NONE;

	if (atomic_load(&stopping) || !fm_sys_may_ask())
		return false;
	if (!atomic_compare_exchange_strong(&state, &none, RUNNING))
		return none == RUNNING;
	atomic_store(&leaving, false);
	if (!fm_thread_create(warm_thread, NULL))
		return true;
	atomic_store(&state, REFUSED);
	return false;
}

void fm_warm_thread_end(void)
{
	atomic_store(&leaving, true);
	fm_event_raise(&bell);
	fm_thread_leaves(&state, RUNNING);
}

void fm_warm_thread_again(void)
{
	struct fm_warm_record *r;
	bool due = false;

	for (unsigned i = 0; (r = fm_warm_record_at(i)); i++)
		due |= atomic_load(&r->due);
	if (due)
		need_thread();
}

/* ---- asked from outside ------------------------------------------------ */

/* Are pages of these bytes hot, and were not brought? */
static bool lacks(struct fm_warm_record *r, off_t off, size_t len)
{
	const uint64_t first = (uint64_t)off >> FM_PAGE_SHIFT;
	struct fm_warm_pages p;

	FM_HOLD(&fm_warm_lock);
	p = r->old;
	p.n = fm_least(p.n, first + (fm_page_up(len) >> FM_PAGE_SHIFT));
	return fm_warm_next(&p, first, FM_HOT_PAST) < p.n;
}

static bool warm_is_wanted(struct fm_warm_record *r, off_t off, size_t len)
{
	const enum fm_look_outcome o = atomic_load(&r->outcome);

	return o == FM_LOOK_NOT_YET ||
	       (o == FM_LOOK_READ &&
		atomic_load(&r->known) > atomic_load(&r->brought) &&
		lacks(r, off, len));
}

void fm_warm_mapped(const struct fm_warm_mapping *m)
{
	struct fm_warm_record *r;
	const char *name;

	if (!is_on() || m->len < fm_tune.unmap_cache_least)
		return;
	r = fm_warm_record_find(m->dev, m->ino);
	if (!r && !fm_warm_records_full()) {
		name = m->path(m->arg);
		r = name ? fm_warm_record_add(m->dev, m->ino, name) : NULL;
	}
	if (!r || !fm_warm_is_there() || !warm_is_wanted(r, m->off, m->len))
		return;
	atomic_store(&r->due, true);
	if (need_thread())
		fm_event_raise(&bell);
}

/* The thread obeys order number `mine`. */
static int warm_wait_for(uint32_t mine)
{
	const uint64_t until = fm_now_ms() + fm_tune.patience_ms;
	const struct timespec t = { 0, 100000000 };
	uint32_t seen;

	while ((int32_t)((seen = atomic_load(&obeyed)) - mine) < 0) {
		if (atomic_load(&state) != RUNNING)
			return -EPERM; /* the program has confined itself */
		if (fm_now_ms() > until)
			return -ETIMEDOUT;
		fm_thread_wait(&obeyed, seen, &t);
	}
	return atomic_load(&result);
}

static int save_now(void)
{
	uint32_t mine;

	if (!fm_settings()->warm_dir)
		return -ENOENT;
	if (!fm_sys_may_ask())
		return -EPERM;
	if (!need_thread())
		return save(FM_SAVE_LIVE, true);
	mine = atomic_fetch_add(&orders, 1) + 1;
	fm_event_raise(&bell);
	return warm_wait_for(mine);
}

static void save_command(struct fm_request *r)
{
	const int n = save_now();

	if (n < 0)
		fm_answer_error(r, "%s: %s", fm_settings()->warm_dir ?
				fm_settings()->warm_dir : "warm-start is off",
				fm_error_text(-n));
	else
		fm_answer_ok(r, "%d file%s", n, n == 1 ? "" : "s");
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

/* ---- the end ----------------------------------------------------------- */

static void warm_stop(void)
{
	atomic_store(&stopping, true);
	fm_event_raise(&bell);
	if (is_on() && fm_sys_may_ask() && fm_warm_record_at(0))
		save(FM_SAVE_END, false);
}

static void warm_dead(int pid, bool executed)
{
	fm_lock_reset(&fm_warm_lock); /* who held it has gone */
	if (is_on() && fm_warm_record_at(0))
		fm_warm_save_all(FM_SAVE_DEAD, false);
}

/* The thread is not here. The parent's files are its own business. */
static void warm_forked(void)
{
	atomic_store(&state, NONE);
	atomic_store(&saving, false);
	atomic_store(&leaving, false);
	atomic_store(&obeyed, atomic_load(&orders));
	fm_event_reset(&bell);
	fm_warm_records_forked();
}

FM_LIFE(warm, .level = FM_LIFE_HELPERS, .forked = warm_forked,
	.stop = warm_stop, .dead = warm_dead)
