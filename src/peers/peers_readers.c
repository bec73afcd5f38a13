/* SPDX-License-Identifier: MIT */
/*
 * peers_readers.c - several processes that only read one file.
 *
 * Each could serve it from a cache of its own, and nobody would see an old
 * byte. But then memory holds the file several times and the device reads it as
 * often, where the page cache is one cache for all. So where two are there for
 * SHARED_MS, both leave it to the kernel. Not at once: a tool that has a short
 * look costs a server nothing, and a claim may be that of a process that has
 * ended, until its guardian has.
 *
 * Who begins to read such a file rings the registry's bell, and the watchers of
 * all who read it look every LOOK_MS for a while. After that, who has read
 * little until then is looked at once a second.
 */
#include "base/life.h"
#include "base/sys.h"
#include "file/file.h"
#include "map/map.h"
#include "peers.h"
#include "peers_priv.h"

#define LOOK_MS 100
#define SHARED_MS 250
#define WHILE_MS 3000
#define LEAST 64 /* reads of it: less is not worth it */

static uint64_t shared_since[FM_MAX_FILES]; /* ms; by file id */
static _Atomic uint64_t until_ms;
static uint64_t next_ms; /* the watcher's */

static bool is_shared(const struct fm_file *f)
{
	return fm_peers_claim_of(f) == FM_CLAIM_READ && fm_peers_others(f);
}

static void look_at(struct fm_file *f, uint32_t id, uint64_t now)
{
	if (!is_shared(f)) {
		shared_since[id] = 0;
		return;
	}
	if (!shared_since[id])
		shared_since[id] = now;
	if (now - shared_since[id] >= SHARED_MS &&
	    atomic_load(&f->st.loads) >= LEAST)
		fm_peers_demote(f, FM_WHY_READERS);
}

/* Returns whether one is shared. */
static bool look(void)
{
	const uint64_t now = fm_now_ms();
	struct fm_file *f;
	bool any = false;
	uint64_t old;

	fm_space_lock(&old);
	fm_for_each_file(f, id) {
		look_at(f, id, now);
		any |= shared_since[id] != 0;
	}
	fm_space_unlock(&old);
	return any;
}

/* The looks begin with the next turn of the watcher. */
void fm_readers_rung(void)
{
	atomic_store(&until_ms, fm_now_ms() + WHILE_MS);
}

/* At each event of the watcher: it looks no more often than it would wait. */
void fm_readers_look(void)
{
	const uint64_t now = fm_now_ms();

	if (!atomic_load(&until_ms) || now < next_ms)
		return;
	next_ms = now + LOOK_MS;
	if (!look() || now >= atomic_load(&until_ms))
		atomic_store(&until_ms, 0);
}

int fm_readers_wait_ms(void)
{
	return atomic_load(&until_ms) ? LOOK_MS : -1;
}

static void every_second(void)
{
	look();
}

FM_LIFE(peers_readers, .level = FM_LIFE_RUNNING, .second = every_second)
