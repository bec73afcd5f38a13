/* SPDX-License-Identifier: MIT */
/*
 * peers_readers.c - several processes that only read one file.
 *
 * Each could serve it from a cache of its own, and nobody would see an old
 * byte. But then memory holds the file several times and the device reads it as
 * often, where the page cache is one cache for all. So where two are still
 * there after LOOKS looks, both leave it to the kernel. Not at once: a tool
 * that has a short look costs a server nothing, and a claim may be that of a
 * process that has ended, whose guardian lives a moment longer.
 */
#include "base/life.h"
#include "base/sys.h"
#include "file/file.h"
#include "map/map.h"
#include "peers_priv.h"

#define LOOKS 2  /* a second apart, that found others */
#define LEAST 64 /* reads of it: less is not worth it */

static uint8_t shared_for[FM_MAX_FILES]; /* looks; by file id */

static bool is_read(const struct fm_file *f)
{
	return fm_peers_claim_of(f) == FM_CLAIM_READ &&
	       atomic_load(&f->st.loads) >= LEAST;
}

static bool is_shared(const struct fm_file *f)
{
	return fm_registry_engines(f, true) || fm_registry_kernel_users(f);
}

/* Once a second. */
static void look(void)
{
	struct fm_file *f;
	uint64_t old;

	fm_space_lock(&old);
	fm_for_each_file(f, id) {
		if (!is_read(f) || !is_shared(f))
			shared_for[id] = 0;
		else if (++shared_for[id] >= LOOKS)
			fm_peers_demote(f, FM_WHY_READERS);
	}
	fm_space_unlock(&old);
}

FM_LIFE(peers_readers, .level = FM_LIFE_RUNNING, .second = look)
