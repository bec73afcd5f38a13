/* SPDX-License-Identifier: MIT */
#include "asked.h"

#include <sys/mman.h>

#include "base/event.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "base/thread.h"
#include "base/ticket.h"
#include "readahead/readahead.h"

#define JOBS 4096u /* size: a ring */
#define SHORT ((uintptr_t)256 << 10) /* size: bytes, brought as a whole */
#define LOOK_MS 100u /* unit: between two looks whether the thread may go on */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* ABI: Linux 5.14 */
#endif

struct job {
	uintptr_t start, end;
	uint64_t tickets;
};

enum { NONE, RUNNING, REFUSED };

static struct job jobs[JOBS];
/* Growing: those that are over, those asked for, those that there are. */
static uint32_t over, asked;
static _Atomic uint32_t added;
static struct fm_lock lock = FM_LOCK(FM_RANK_OF_TABLES);
static struct fm_event bell;
static _Atomic int state;
static _Atomic bool leaving;
static struct fm_fetch fetch;
static _Atomic uint64_t asked_bytes;

/* ---- the thread --------------------------------------------------------- */

static struct job *job_at(uint32_t k)
{
	return &jobs[k % JOBS];
}

/* One count of bytes as long as there is something to do. */
static void ask_kernel(const struct job *j)
{
	struct fm_fetch_run r = { j->start, j->end };
	uint64_t before;

	if (over == asked) {
		fm_fetch_begin(&fetch, -1, 0, false);
		fetch.room = FM_FETCH_HALF;
	}
	before = fetch.asked;
	while (fm_fetch_run(&fetch, &r, LOOK_MS) && !fetch.full &&
	       !atomic_load(&leaving))
		;
	atomic_fetch_add(&asked_bytes, fetch.asked - before);
}

/* It has been asked for; who waits wants to find it mapped, too. Of long ranges
 * the last page comes last. What is not a file's, or is not there any more, is
 * no reason to wait. */
static void await(const struct job *j)
{
	const uintptr_t from = j->end - j->start > SHORT ?
				   j->end - FM_PAGE : j->start;

	fm_sys_madvise((void *)from, j->end - from, MADV_POPULATE_READ);
}

static void end_first(void)
{
	const struct job j = *job_at(over);

	if (!atomic_load(&leaving))
		await(&j);
	fm_lock(&lock);
	over++;
	fm_unlock(&lock);
	fm_ticket_drop(j.tickets);
}

static void work(void)
{
	while (asked != atomic_load(&added) && !atomic_load(&leaving)) {
		ask_kernel(job_at(asked));
		asked++;
	}
	if (over != asked)
		end_first();
}

/* Nobody waits for what is given up. */
static void give_up(void)
{
	asked = atomic_load(&added);
	while (over != asked)
		end_first();
}

static void *asked_thread(void *arg)
{
	fm_thread_begin("fastmap-asked");
	while (!atomic_load(&leaving)) {
		const uint32_t seen = fm_event_seen(&bell);

		work();
		if (over == atomic_load(&added))
			fm_event_wait_alone(&bell, seen, NULL);
	}
	give_up();
	atomic_store(&state, NONE);
	return NULL;
}

/* ---- who asks ----------------------------------------------------------- */

static bool have_thread(void)
{
	int none = NONE;

	if (!atomic_compare_exchange_strong(&state, &none, RUNNING))
		return none == RUNNING;
	atomic_store(&leaving, false);
	if (!fm_thread_create(asked_thread, NULL))
		return true;
	atomic_store(&state, REFUSED);
	return false;
}

static bool asked_enter(const struct job *j)
{
	bool room;

	fm_lock(&lock);
	room = atomic_load(&added) - over < JOBS && !atomic_load(&leaving);
	if (room) {
		*job_at(atomic_load(&added)) = *j;
		fm_ticket_add(j->tickets);
		atomic_fetch_add(&added, 1);
	}
	fm_unlock(&lock);
	return room;
}

/* Many wait already, or there is no thread: what the kernel takes at once. */
static void ask_at_once(uintptr_t start, uintptr_t end)
{
	const size_t n = fm_least(end - start, FM_HUGE);

	if (!fm_sys_madvise((void *)start, n, MADV_WILLNEED))
		atomic_fetch_add(&asked_bytes, n);
}

void fm_asked_add(uintptr_t start, uintptr_t end, uint64_t tickets)
{
	const struct job j = { start, end, tickets };

	if (!fm_sys_may_ask())
		return;
	if (have_thread() && asked_enter(&j))
		fm_event_raise(&bell);
	else
		ask_at_once(start, end);
}

uint64_t fm_asked_bytes(void)
{
	return atomic_load(&asked_bytes);
}

void fm_asked_end(void)
{
	if (atomic_load(&state) != RUNNING)
		return;
	atomic_store(&leaving, true);
	fm_event_raise(&bell);
	fm_thread_leaves(&state, RUNNING);
}

static void asked_forked(void)
{
	over = asked = 0;
	atomic_store(&added, 0);
	atomic_store(&asked_bytes, 0);
	atomic_store(&state, NONE);
	fm_lock_reset(&lock);
	fm_event_reset(&bell);
}

FM_LIFE(asked, .level = FM_LIFE_HELPERS, .forked = asked_forked)
