/* SPDX-License-Identifier: MIT */
/*
 * peers_judge.c - somebody else has opened a file that we serve.
 *
 * A file that we have stored to goes to the kernel at once: pages are written
 * in any order, and who reads it must not see what we stored later without what
 * we stored before. Of the other files most such opens are short: a copy, a
 * look. So they are put up with for fm_tune.peers_linger_ms; who is still there
 * then gets the file from the kernel, and so do we. Until then:
 *  - what we have stored goes to the file before we send word to anybody;
 *  - who maps it, if we store to it, or can store to it gets it from the kernel
 *    at once, for what they store through a mapping, and what they do not see
 *    there, nobody reports. The watcher looks a few times, unless that takes
 *    too much (thousands of files may be opened while a backup runs), and when
 *    word has come.
 * And who had it open for writing and has closed it may have stored through a
 * mapping: if we store, too, the kernel serves it from then on.
 *
 * Threads of the program take no lock of the engine here that is held over
 * fork, and have no descriptor open: they may be inside a handler of theirs for
 * fork, or leave by a jump. What needs one is the watcher's to do, and they
 * wait for it.
 */

#include "base/epoch.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/sys.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "opens.h"
#include "peers.h"
#include "peers_priv.h"
#include "tunables.h"

/* When to look, after the open. */
static const uint32_t look_ms[] = { 0, 4, 12, 36 };
#define LOOKS (sizeof(look_ms) / sizeof(*look_ms))

/* ---- what is heard ------------------------------------------------------- */

static bool is_stored_to(const struct fm_file *f)
{
	return fm_claim_of(f) == FM_CLAIM_WRITE &&
	       atomic_load(&f->calls->stored);
}

void fm_open_seen(struct fm_file *f, int pid)
{
	struct fm_file_openers *o = &fm_opens[f->id];

	fm_openers_opened(&o->who, pid);
	atomic_fetch_add(&o->count, 1);
	atomic_store(&o->looks, 0);
	fm_open_begin(o);
	fm_words_affordable();
	/* Last: what is stored from now on is shown with the next word. What
	 * is handed over is written then, and by nobody before. */
	if (!is_stored_to(f))
		fm_file_flush(f, 0, 0);
}

static bool conflicts(enum fm_claim mine, unsigned use)
{
	return mine == FM_CLAIM_WRITE ? use & (FM_USE_WRITE | FM_USE_MAPS) :
					use & FM_USE_WRITE;
}

static bool is_engines(enum fm_claim mine)
{
	return mine == FM_CLAIM_READ || mine == FM_CLAIM_WRITE;
}

static void give_to_kernel(struct fm_file *f, enum fm_server_reason why)
{
	FM_HOLD_SPACE();
	if (is_engines(fm_claim_of(f)))
		fm_peers_demote(f, why);
}

bool fm_open_wrote(struct fm_file *f)
{
	if (fm_claim_of(f) == FM_CLAIM_WRITE)
		give_to_kernel(f, FM_WHY_PEER_WROTE);
	return fm_kernel_serves(f);
}

/* ---- the judgement ------------------------------------------------------ */

static bool come_and_go(struct fm_file_openers *o)
{
	uint32_t count = atomic_load(&o->count), before = o->judged;

	o->judged = count;
	return count - before >= fm_tune.peers_many;
}

/* Whoever opened the file: still there? Under the space lock. */
static void peers_judge_judge(struct fm_file *f)
{
	enum fm_claim mine = fm_claim_of(f);
	unsigned use = fm_peers_scan(f);
	const struct fm_openers *who = &fm_opens[f->id].who;
	bool hidden = !use && !fm_watch_by_inotify(f) &&
		      (fm_openers_hidden(who) || fm_openers_unnamed(who));
	bool conflict = mine == FM_CLAIM_WRITE ? use != 0 :
						 conflicts(mine, use);

	if (is_engines(mine) && (conflict || hidden))
		fm_peers_demote(f, FM_WHY_PEER_NATIVE);
	else if (mine == FM_CLAIM_READ &&
		 ((come_and_go(&fm_opens[f->id]) &&
		   fm_registry_kernel_users(f)) ||
		  (use & FM_USE_MAPS)))
		fm_peers_share(f);
}

/* Judged, unless somebody has opened it meanwhile. Not before: until then it
 * must be known to those who send word. */
static void peers_judge_settle(struct fm_file_openers *o, uint32_t count)
{
	/* else given up, or not mapped any more */
	if (fm_open_end(o) && atomic_load(&o->count) != count)
		fm_open_begin(o);
}

static bool peers_judge_due(uint32_t id)
{
	uint32_t at = atomic_load(&fm_opens[id].since_ms);

	return at && (int32_t)(fm_open_now_ms() - at) >=
			     (int)fm_tune.peers_linger_ms;
}

void fm_open_judge_all(void)
{
	for (uint32_t id = 0; id < fm_file_top(); id++) {
		uint32_t count = atomic_load(&fm_opens[id].count);
		struct fm_file *f;

		if (!peers_judge_due(id))
			continue;
		FM_HOLD_SPACE();
		f = fm_file_at(id);
		if (f)
			peers_judge_judge(f);
		peers_judge_settle(&fm_opens[id], count);
	}
}

/* ---- looks, by the watcher --------------------------------------------- */

static void each_pending(void (*fn)(struct fm_file *f))
{
	for (uint32_t id = 0; fm_open_pending() && id < fm_file_top(); id++) {
		struct fm_file *f;
		uint64_t old;

		if (!atomic_load(&fm_opens[id].since_ms))
			continue;
		fm_space_lock(&old);
		f = fm_file_at(id);
		if (f)
			fm_file_get(f);
		fm_space_unlock(&old);
		if (!f)
			continue;
		fn(f);
		fm_file_put(f);
	}
}

/* Also for who has gone again: he comes again, or another does. The second
 * time shows that, and the file does not come back. */
static void peers_judge_hand_over(struct fm_file *f)
{
	uint64_t old;

	fm_space_lock(&old);
	if (is_engines(fm_claim_of(f)))
		fm_peers_demote(f, FM_WHY_PEER_NATIVE);
	if (fm_kernel_serves(f) && f->demote->read_beside)
		fm_file_passes(f, false);
	f->demote->read_beside = true;
	fm_space_unlock(&old);
	if (!fm_kernel_serves(f))
		fm_file_flush(f, 0, 0);
}

/* Who stores to the file, or sees our stores in a mapping, makes it the
 * kernel's. */
static void look_at_use(struct fm_file *f, const int *pids, int n)
{
	enum fm_claim mine = fm_claim_of(f);

	if (is_engines(mine) && conflicts(mine, fm_peers_scan_of(f, pids, n)))
		give_to_kernel(f, FM_WHY_SHARED);
}

static bool look_due(struct fm_file_openers *o)
{
	uint32_t at = atomic_load(&o->since_ms), n = atomic_load(&o->looks);

	return at && n < LOOKS &&
	       (int32_t)(fm_open_now_ms() - at - look_ms[n]) >= 0;
}

/* Whom they have left it to is found when it is judged. */
static void look_at_openers(struct fm_file *f)
{
	struct fm_file_openers *o = &fm_opens[f->id];
	int pids[FM_OPENERS];

	if (!look_due(o))
		return;
	atomic_fetch_add(&o->looks, 1);
	if (is_stored_to(f))
		peers_judge_hand_over(f);
	else if (!fm_peers_weary())
		look_at_use(f, pids, fm_openers_pids(&o->who, pids));
}

void fm_open_look(void)
{
	each_pending(look_at_openers);
}

int fm_open_wait_ms(void)
{
	if (!fm_open_pending())
		return -1;
	for (uint32_t id = 0; id < fm_file_top(); id++)
		if (atomic_load(&fm_opens[id].since_ms) &&
		    atomic_load(&fm_opens[id].looks) < LOOKS)
			return (int)look_ms[1];
	return (int)fm_tune.peers_linger_ms / 2;
}

/* ---- word has come ----------------------------------------------------- */

static _Atomic uint32_t questions, answers; /* the latter a futex */

/* The first file whose opens have not been asked about, or fm_file_top(). */
static uint32_t first_unasked(void)
{
	uint32_t id = 0, top = fm_open_pending() ? fm_file_top() : 0;

	while (id < top && (!atomic_load(&fm_opens[id].since_ms) ||
			    atomic_load(&fm_opens[id].asked) ==
				    atomic_load(&fm_opens[id].count)))
		id++;
	return id < top ? id : fm_file_top();
}

static void say_unanswered(void)
{
	static _Atomic bool said;
	FM_IN_EPOCH();
	const struct fm_file *f = fm_file_at(first_unasked());

	if (f && !atomic_exchange(&said, true))
		fm_log(FM_LOG_ERROR,
		       "%s: another process has opened it, and for 10 s nobody "
		       "could look whether it is mapped there: its stores may "
		       "be missing here (is a process that uses it stopped, or "
		       "the machine overloaded?)", f->path);
}

/* One look for each open, however much looking has cost: what the other has
 * stored is to be seen now. */
static void peers_judge_ask(struct fm_file *f)
{
	struct fm_file_openers *o = &fm_opens[f->id];
	uint32_t count = atomic_load(&o->count);

	if (atomic_load(&o->asked) == count)
		return;
	if (is_stored_to(f))
		peers_judge_hand_over(f);
	else
		look_at_use(f, NULL, 0);
	atomic_store(&o->asked, count);
}

void fm_open_answer(void)
{
	uint32_t upto = atomic_load(&questions);

	if (upto == atomic_load(&answers))
		return;
	each_pending(peers_judge_ask);
	atomic_store(&answers, upto);
	fm_futex_wake(&answers, INT32_MAX);
}

void fm_open_word(void)
{
	const struct timespec some = { 0,
				       fm_tune.resident_turn_ms * 1000000 };
	uint64_t until;
	uint32_t mine, have;

	/* The watcher wants the lock that this thread has; or there is none. */
	if (first_unasked() == fm_file_top() || fm_space_locked() ||
	    !fm_watch_tid())
		return;
	mine = atomic_fetch_add(&questions, 1) + 1;
	fm_watch_nudge();
	until = fm_now_ms() + fm_tune.patience_ms;
	while ((int32_t)((have = atomic_load(&answers)) - mine) < 0) {
		if (fm_now_ms() >= until) {
			say_unanswered();
			return;
		}
		fm_futex_wait(&answers, have, &some);
	}
}
