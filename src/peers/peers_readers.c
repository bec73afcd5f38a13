/* SPDX-License-Identifier: MIT */
/*
 * peers_readers.c - several processes that only read one file.
 *
 * Each could serve it from a cache of its own, and nobody would see an old
 * byte. But then memory holds the file several times and the device reads it as
 * often, where the page cache is one cache for all. So where two are there,
 * both leave it to the kernel:
 *  - who has just begun to read it after fm_tune.readers_soon_ms. Nothing is
 * cached yet, so it costs little. Not at once: the other claim may be that of a
 * process that has ended, until its guardian has;
 *  - who has read it for longer after fm_tune.readers_shared_ms: a tool that
 * has a short look costs a server nothing. Both keep the claim of one who
 * reads: beside it everybody may go on who reads, by whatever, and who stores
 * asks for it.
 *
 * Who begins to read such a file rings the registry's bell, and the watchers of
 * all who read it look every fm_tune.readers_look_ms for a while, or
 * fm_tune.readers_soon_ms. After that, who has read little until then is looked
 * at once a second.
 */
#include "base/life.h"
#include "base/sys.h"
#include "file/file.h"
#include "map/map.h"
#include "peers.h"
#include "peers_priv.h"
#include "tunables.h"

static uint64_t shared_since[FM_MAX_FILES]; /* ms; by file id */
static uint64_t begun_ms[FM_MAX_FILES];     /* with this file */
static _Atomic uint64_t until_ms;
static uint64_t next_ms; /* the watcher's */

void fm_readers_begin(const struct fm_file *f)
{
	begun_ms[f->id] = fm_now_ms();
	shared_since[f->id] = 0;
}

static bool is_shared(const struct fm_file *f)
{
	return fm_peers_claim_of(f) == FM_CLAIM_READ && !fm_kernel_serves(f) &&
	       fm_peers_others(f);
}

static bool is_young(uint32_t id)
{
	return shared_since[id] < begun_ms[id] + fm_tune.readers_young_ms;
}

static bool is_time(const struct fm_file *f, uint32_t id, uint64_t now)
{
	const uint64_t shared_ms = now - shared_since[id];

	return is_young(id) ? shared_ms >= fm_tune.readers_soon_ms :
			      shared_ms >= fm_tune.readers_shared_ms &&
				      atomic_load(&f->st.loads) >=
					      fm_tune.readers_least;
}

/* Returns in how many ms it is to be looked at again; 0: it is not shared. */
static int look_at(struct fm_file *f, uint32_t id, uint64_t now)
{
	if (!is_shared(f)) {
		shared_since[id] = 0;
		return 0;
	}
	if (!shared_since[id])
		shared_since[id] = now;
	if (is_time(f, id, now))
		fm_peers_share(f);
	return is_young(id) ? fm_tune.readers_soon_ms : fm_tune.readers_look_ms;
}

/* As look_at, for all files. */
static int look(void)
{
	const uint64_t now = fm_now_ms();
	struct fm_file *f;
	int first = 0, ms;
	uint64_t old;

	fm_space_lock(&old);
	fm_for_each_file(f, id) {
		ms = look_at(f, id, now);
		first = ms && (!first || ms < first) ? ms : first;
	}
	fm_space_unlock(&old);
	return first;
}

/* The looks begin with the next turn of the watcher. */
void fm_readers_rung(void)
{
	const uint64_t now = fm_now_ms();

	atomic_store(&until_ms, now + fm_tune.readers_while_ms);
	next_ms = fm_least(next_ms, now + fm_tune.readers_soon_ms);
}

/* At each event of the watcher: it looks no more often than it would wait. */
void fm_readers_look(void)
{
	const uint64_t now = fm_now_ms();
	int ms;

	if (!atomic_load(&until_ms) || now < next_ms)
		return;
	ms = look();
	next_ms = now + (ms ? (uint64_t)ms : fm_tune.readers_soon_ms);
	if (!ms || now >= atomic_load(&until_ms))
		atomic_store(&until_ms, 0);
}

int fm_readers_wait_ms(void)
{
	const uint64_t now = fm_now_ms();

	if (!atomic_load(&until_ms))
		return -1;
	return now < next_ms ? (int)(next_ms - now) : 0;
}

static void every_second(void)
{
	look();
}

FM_LIFE(peers_readers, .level = FM_LIFE_RUNNING, .second = every_second)
