/* SPDX-License-Identifier: MIT */
/*
 * peers_readers.c - several processes that only read one file.
 *
 * Each could serve it from a cache of its own, and nobody would see an old
 * byte. But then memory holds the file several times and the device reads it as
 * often, where the page cache is one cache for all. So where two are there,
 * both leave it to the kernel:
 *  - who has read little of it after fm_tune.peers_soon_ms: next to nothing is
 * cached, so it costs little. Not at once: the other claim may be that of a
 * process that has ended, until its guardian has;
 *  - who has read more after fm_tune.peers_linger_ms: a tool that has a short
 * look costs a server nothing. Both keep the claim of one who reads: beside it
 * everybody may go on who reads, by whatever, and who stores asks for it.
 *
 * A process that has left the file to the kernel at map, or has no library,
 * holds no claim. Whether anybody maps a file that is read here by an engine is
 * looked at once, one file a second, and whenever somebody has opened it since.
 *
 * Who begins to read such a file rings the registry's bell, and the watchers of
 * all who read it look every fm_tune.peers_soon_ms until that is decided, or
 * for a second: a hand-over may be refused for a moment, or for good.
 */
#include "base/life.h"
#include "base/sys.h"
#include "file/file.h"
#include "map/map.h"
#include "peers.h"
#include "peers_priv.h"
#include "tunables.h"

static uint64_t shared_since[FM_MAX_FILES]; /* ms; by file id */
static bool has_looked[FM_MAX_FILES]; /* for who maps it; by file id */
static _Atomic uint64_t until_ms; /* it is looked so often; 0: it is not */
static uint64_t next_ms; /* the watcher's */

void fm_readers_begin(const struct fm_file *f)
{
	shared_since[f->id] = 0;
	has_looked[f->id] = false;
}

static bool peers_readers_is_shared(const struct fm_file *f)
{
	return fm_claim_of(f) == FM_CLAIM_READ && !fm_kernel_serves(f) &&
	       fm_peers_others(f);
}

static bool is_time(const struct fm_file *f, uint32_t id, uint64_t now)
{
	return now - shared_since[id] >=
	       (atomic_load(&f->st->loads) < fm_tune.sample_enough ?
			fm_tune.peers_soon_ms : fm_tune.peers_linger_ms);
}

/* Returns whether it is shared still. */
static bool peers_readers_look_at(struct fm_file *f, uint32_t id, uint64_t now)
{
	if (!peers_readers_is_shared(f)) {
		shared_since[id] = 0;
		return false;
	}
	if (!shared_since[id])
		shared_since[id] = now;
	if (!is_time(f, id, now))
		return !fm_kernel_serves(f);
	fm_peers_share(f);
	return fm_file_at(id) == f && !fm_kernel_serves(f);
}

/* Returns whether any file is. */
static bool peers_readers_look(void)
{
	const uint64_t now = fm_now_ms();
	struct fm_file *f;
	bool any = false;

	FM_HOLD_SPACE();
	fm_for_each_file(f, id)
		any |= peers_readers_look_at(f, id, now);
	return any;
}

/* The looks begin with the next turn of the watcher. */
void fm_readers_rung(void)
{
	const uint64_t now = fm_now_ms();

	atomic_store(&until_ms, now + FM_SECOND_MS);
	next_ms = fm_least(next_ms, now + fm_tune.peers_soon_ms);
}

/* At each event of the watcher: it looks no more often than it would wait. */
void fm_readers_look(void)
{
	const uint64_t now = fm_now_ms();

	if (!atomic_load(&until_ms) || now < next_ms)
		return;
	next_ms = now + fm_tune.peers_soon_ms;
	if (!peers_readers_look() || now >= atomic_load(&until_ms))
		atomic_store(&until_ms, 0);
}

int fm_readers_wait_ms(void)
{
	const uint64_t now = fm_now_ms();

	if (!atomic_load(&until_ms))
		return -1;
	return now < next_ms ? (int)(next_ms - now) : 0;
}

static bool may_be_mapped_beside(const struct fm_file *f)
{
	return fm_claim_of(f) == FM_CLAIM_READ && !fm_kernel_serves(f) &&
	       !has_looked[f->id] &&
	       atomic_load(&f->st->loads) >= fm_tune.sample_enough;
}

/* Its first file that nobody has looked at: a look takes milliseconds. */
static void look_beside(void)
{
	struct fm_file *f;

	FM_HOLD_SPACE();
	fm_for_each_file(f, id) {
		if (!may_be_mapped_beside(f))
			continue;
		has_looked[id] = true;
		if (fm_peers_scan(f) & FM_USE_MAPS)
			fm_peers_share(f);
		break;
	}
}

static void peers_readers_every_second(void)
{
	peers_readers_look();
	if (!fm_peers_weary())
		look_beside();
}

FM_LIFE(peers_readers, .level = FM_LIFE_RUNNING,
	.second = peers_readers_every_second)
