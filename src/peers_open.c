/* SPDX-License-Identifier: MIT */
/*
 * peers_open.c - somebody else has opened a file that we serve.
 *
 * Most such opens are short: a copy, a look. So they are put up with for
 * LINGER_MS; who is still there then gets the file from the kernel, and so do
 * we. Until then, if we store to it (who only reads keeps nobody from anything,
 * and thousands of files may be opened while a backup runs):
 *  - what we have stored goes to the file before we send word to anybody, so
 *    that who has it open reads it;
 *  - who maps it gets it from the kernel at once, for what they store there,
 *    and what they do not see there, nobody reports. Somebody looks a few times,
 *    and whenever word has come.
 */
#include "engine.h"
#include "file.h"
#include "peers.h"
#include "peers_priv.h"
#include "space.h"
#include "sys.h"

#define LINGER_MS 100

/* By file id. */
static struct open {
	_Atomic uint32_t since_ms; /* the first that is not judged yet, or 0 */
	_Atomic uint32_t count;
	_Atomic uint32_t looks;    /* ... taken for mappings */
	_Atomic bool closed;       /* ... and a close since */
	_Atomic bool harmless;     /* ... by who cannot store to it */
} opens[FM_MAX_FILES];
static _Atomic uint32_t pending; /* files with since_ms */

/* When to look, after the open. */
static const uint32_t look_ms[] = { 0, 4, 12, 36 };
#define LOOKS (sizeof(look_ms) / sizeof(*look_ms))

static uint32_t now_ms(void)
{
	return (uint32_t)fm_now_ms() | 1;
}

/* True: it had not been. */
static bool begin(struct open *o)
{
	uint32_t none = 0;

	return atomic_compare_exchange_strong(&o->since_ms, &none, now_ms());
}

void fm_open_seen(struct fm_file *f)
{
	struct open *o = &opens[f->id];

	atomic_store(&o->closed, false);
	atomic_store(&o->harmless, false);
	atomic_fetch_add(&o->count, 1);
	atomic_store(&o->looks, 0);
	if (begin(o))
		atomic_fetch_add(&pending, 1);
	/* Last: what is stored from now on is shown with the next word. */
	fm_file_flush(f, 0, 0);
}

void fm_open_closed(const struct fm_file *f)
{
	atomic_store(&opens[f->id].closed, true);
}

void fm_open_forget(const struct fm_file *f)
{
	if (atomic_exchange(&opens[f->id].since_ms, 0))
		atomic_fetch_sub(&pending, 1);
}

void fm_open_reset(void)
{
	for (uint32_t id = 0; id < FM_MAX_FILES; id++)
		atomic_store(&opens[id].since_ms, 0);
	atomic_store(&pending, 0);
}

uint32_t fm_open_pending(void)
{
	return atomic_load(&pending);
}

/* ---- the judgement ------------------------------------------------------ */

/* Whoever opened the file: still there? Under the space lock. */
static void judge(struct fm_file *f)
{
	enum fm_claim mine = fm_peers_claim_of(f);
	unsigned use = fm_peers_scan(f);
	bool hidden = !use && !atomic_load(&opens[f->id].closed) &&
		      !fm_watch_by_inotify(f);
	bool conflict = mine == FM_CLAIM_WRITE ? use != 0 :
						 (use & FM_USE_WRITE) != 0;

	if (mine != FM_CLAIM_KERNEL && mine != FM_CLAIM_NONE &&
	    (conflict || hidden))
		fm_peers_give_up(f, "another process uses it natively");
}

/* Judged, unless somebody has opened it meanwhile. Not before: until then it
 * must be known to those who send word. */
static void settle(struct open *o, uint32_t count)
{
	if (!atomic_exchange(&o->since_ms, 0))
		return; /* given up, or not mapped any more */
	if (atomic_load(&o->count) == count || !begin(o))
		atomic_fetch_sub(&pending, 1);
}

static bool due(uint32_t id)
{
	uint32_t at = atomic_load(&opens[id].since_ms);

	return at && (int32_t)(now_ms() - at) >= LINGER_MS;
}

void fm_open_judge_all(void)
{
	uint64_t old;

	for (uint32_t id = 0; id < fm_file_top(); id++) {
		uint32_t count = atomic_load(&opens[id].count);
		struct fm_file *f;

		if (!due(id))
			continue;
		fm_space_lock(&old);
		f = fm_file_at(id);
		if (f)
			judge(f);
		settle(&opens[id], count);
		fm_space_unlock(&old);
	}
}

/* ---- word --------------------------------------------------------------- */

/* Of those that we store to. Not for a child of vfork, which is here in our
 * memory. */
static void each_pending(void (*fn)(struct fm_file *f))
{
	if (!fm_open_pending() || !fm_watch_is_us())
		return;
	for (uint32_t id = 0; id < fm_file_top(); id++) {
		struct fm_file *f;
		uint64_t old;

		if (!atomic_load(&opens[id].since_ms))
			continue;
		fm_space_lock(&old);
		f = fm_file_at(id);
		if (f)
			fm_file_get(f);
		fm_space_unlock(&old);
		if (!f)
			continue;
		if (fm_peers_claim_of(f) == FM_CLAIM_WRITE)
			fn(f);
		fm_file_put(f);
	}
}

static void show(struct fm_file *f)
{
	fm_file_flush(f, 0, 0);
}

void fm_tell_others(void)
{
	each_pending(show);
}

static void give_up(struct fm_file *f)
{
	uint64_t old;

	fm_space_lock(&old);
	if (fm_peers_claim_of(f) == FM_CLAIM_WRITE)
		fm_peers_give_up(f, "another process maps it natively");
	fm_space_unlock(&old);
}

/* Who maps it gets it. Could the others store to it? */
static bool look_for_maps(struct fm_file *f)
{
	unsigned use = fm_peers_weary(false) ? FM_USE_WRITE : fm_peers_scan(f);

	if (use & FM_USE_MAPS)
		give_up(f);
	return use & (FM_USE_WRITE | FM_USE_MAPS);
}

static void ask(struct fm_file *f)
{
	struct open *o = &opens[f->id];

	if (!atomic_load(&o->harmless) && !look_for_maps(f))
		atomic_store(&o->harmless, true); /* or gone, or not to be seen */
}

/* ---- looks -------------------------------------------------------------- */

static bool look_due(struct open *o)
{
	uint32_t at = atomic_load(&o->since_ms), n = atomic_load(&o->looks);

	return at && n < LOOKS && (int32_t)(now_ms() - at - look_ms[n]) >= 0;
}

static void look(struct fm_file *f)
{
	struct open *o = &opens[f->id];

	if (!look_due(o))
		return;
	atomic_fetch_add(&o->looks, 1);
	look_for_maps(f);
}

void fm_open_look(void)
{
	each_pending(look);
}

int fm_open_wait_ms(void)
{
	if (!fm_open_pending())
		return -1;
	for (uint32_t id = 0; id < fm_file_top(); id++)
		if (atomic_load(&opens[id].since_ms) &&
		    atomic_load(&opens[id].looks) < LOOKS)
			return (int)look_ms[1];
	return LINGER_MS / 2;
}

void fm_open_word(void)
{
	each_pending(ask);
}
