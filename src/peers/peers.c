/* SPDX-License-Identifier: MIT */
#include "peers.h"

#include <string.h>

#include "advise/advise.h"
#include "base/file_part.h"
#include "base/log.h"
#include "base/pause.h"
#include "base/sys.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "peers_priv.h"
#include "tunables.h"
#include "vm/vm.h"

FM_FILE_PART(peers)

static _Atomic uint32_t strangers_ms;

static bool slow[FM_MAX_FILES]; /* whoever serves it is waited for; by file
				 * id; under the space lock */

static uint64_t patience(const struct fm_file *f, enum fm_holder who)
{
	const uint32_t had = atomic_load(&strangers_ms);

	if (who == FM_HOLDER_TRUSTED)
		return fm_tune.patience_ms;
	if (fm_registry_only_readers(f) || had >= fm_tune.patience_ms)
		return fm_tune.peers_soon_ms;
	return fm_tune.patience_ms - had;
}

static void peers_say_silent(const struct fm_file *f)
{
	fm_log(FM_LOG_ERROR, "%s: another process serves this file and does "
	       "not answer; its latest stores may be missing here until it "
	       "runs again", f->path);
}

static void answer_kept(void)
{
	fm_space_keep();
	fm_claims_answer_locked();
	fm_space_keep_ends();
}

/* Wait until no engine serves the file: true. `most`: ms. Who holds our own
 * space lock answers the requests that the others may be waiting for: two
 * processes that want each other's file would wait for ever otherwise. The lock
 * stays: by the claim that is there already another thread would take the file
 * for the kernel's, and store to it. */
static bool wait_for_engines(struct fm_file *f, bool readers_too, uint64_t most)
{
	const bool locked = fm_space_locked();
	struct fm_wait w = fm_wait_for(fm_tune.patience_ms);
	enum fm_holder who;
	bool strange = false;

	while ((who = fm_registry_engines(f, readers_too))) {
		strange |= who == FM_HOLDER_ANYBODY;
		if (locked)
			answer_kept();
		w.most_ms = fm_least(most, patience(f, who));
		if (!fm_wait_on(&w))
			break;
	}
	if (strange && !fm_registry_only_readers(f))
		atomic_fetch_add(&strangers_ms,
				 (uint32_t)(fm_now_ms() - w.begin_ms));
	if (who && most > fm_tune.peers_soon_ms)
		peers_say_silent(f);
	return !who;
}

void fm_peers_wait(struct fm_file *f)
{
	wait_for_engines(f, true, fm_tune.patience_ms);
}

/* Our own mappings of the file go first: a reader that becomes a writer
 * would wait for the others while they wait for us. */
static void give_way(struct fm_file *f, enum fm_server_reason why)
{
	if (atomic_load(&f->maps))
		fm_peers_demote(f, why);
	fm_claim_kernels(f);
	fm_registry_notify();
}

/* True: nobody serves it any more. */
static bool yield_to_others(struct fm_file *f, enum fm_server_reason why)
{
	give_way(f, why);
	return wait_for_engines(f, true, fm_tune.peers_soon_ms);
}

bool fm_peers_children_can_ask(void)
{
	return fm_sys_confined() || fm_places_open_anew();
}

/* Whoever is claimed from in one of them only is not waited for as long. */
static int all_places(const struct fm_file *f)
{
	const struct fm_wait w = fm_wait_for(fm_tune.moment_ms);

	while (!fm_places_found())
		if (!fm_wait_on(&w)) {
			fm_log(FM_LOG_ERROR, "%s: a child of fork cannot ask "
			       "its parent for it: no descriptors, or no "
			       "memory", f->path);
			return -EAGAIN;
		}
	return 0;
}

/* Readers beside readers may go on; they learn of the claim at the next
 * bell. */
int fm_peers_join(struct fm_file *f, bool writable)
{
	const int err = writable ? all_places(f) : 0;

	fm_registry_claim(f, FM_CLAIM_KERNEL);
	if (!fm_registry_engines(f, writable))
		return err;
	fm_registry_notify();
	wait_for_engines(f, writable, fm_tune.patience_ms);
	return err;
}

bool fm_peers_stores(struct fm_file *f)
{
	if (fm_claim_of(f) == FM_CLAIM_READ) {
		fm_claim_is(f, FM_CLAIM_KERNEL);
		fm_registry_claim(f, FM_CLAIM_KERNEL);
		slow[f->id] = fm_registry_engines(f, true);
		if (slow[f->id])
			fm_registry_notify();
	}
	if (slow[f->id]) /* for this thread, or for another one */
		slow[f->id] = !wait_for_engines(f, true, fm_tune.peers_soon_ms);
	return slow[f->id];
}

/* Who was there may have been the guardian of a dead process, or have ended
 * meanwhile: whoever goes on using the file has left a claim. */
static bool alone_after_all(struct fm_file *f, enum fm_claim want)
{
	if (fm_kernel_serves(f) || fm_registry_kernel_users(f) ||
	    fm_registry_engines(f, true))
		return false;
	fm_registry_claim(f, FM_CLAIM_NONE);
	if (!fm_registry_claim(f, want))
		return true;
	fm_registry_claim(f, FM_CLAIM_KERNEL);
	return false;
}

/* May processes that use the file natively go on beside us? They may read
 * what nobody stores. The lease tells of this process, too. */
static enum fm_server_reason foreign_conflict(struct fm_file *f,
					      const struct fm_peers_wish *w)
{
	unsigned use;

	if (fm_given(f, w->writable))
		return FM_WHY_PEER;
	if (!w->writable && fm_peers_no_writer(w->fd))
		return FM_WHY_NONE;
	if (fm_peers_unseen(f, w))
		return FM_WHY_UNSEEN;
	use = fm_peers_scan(f);
	return use & (w->writable ? ~0u : FM_USE_WRITE) ? FM_WHY_PEER :
							  FM_WHY_NONE;
}

static enum fm_peers_answer conflict(struct fm_file *f, enum fm_claim want)
{
	if (!slow[f->id] && !yield_to_others(f, FM_WHY_PEER)) {
		slow[f->id] = true;
		return FM_PEERS_SLOW;
	}
	slow[f->id] = fm_registry_engines(f, true);
	if (slow[f->id])
		return FM_PEERS_SLOW; /* another thread waits, too */
	return alone_after_all(f, want) ? FM_PEERS_OURS : FM_PEERS_SHARED;
}

static enum fm_peers_answer peers_claim(struct fm_file *f, enum fm_claim want)
{
	if (fm_sys_may_ask() && !fm_places_nowhere())
		fm_claims_look();
	if (fm_registry_for(f, want == FM_CLAIM_WRITE)) {
		give_way(f, FM_WHY_REGISTRY);
		return FM_PEERS_UNTRUSTED;
	}
	if (slow[f->id] || fm_registry_claim(f, want))
		return conflict(f, want);
	return FM_PEERS_OURS;
}

static enum fm_peers_answer peers_enter(struct fm_file *f,
					const struct fm_peers_wish *w)
{
	enum fm_claim want = w->writable ? FM_CLAIM_WRITE : FM_CLAIM_READ;
	enum fm_claim have = fm_claim_of(f);
	enum fm_peers_answer answer;
	enum fm_server_reason why;

	if (have == FM_CLAIM_KERNEL && !slow[f->id])
		return FM_PEERS_SHARED;
	if (have != FM_CLAIM_KERNEL && have >= want)
		return FM_PEERS_OURS;
	fm_watch_start();
	answer = peers_claim(f, want);
	if (answer != FM_PEERS_OURS)
		return answer;
	fm_claim_is(f, want);
	if (want == FM_CLAIM_READ) {
		fm_readers_begin(f);
		if (fm_registry_engines(f, true))
			fm_registry_notify();
	}
	/* From the mark on, opens are reported; the scan finds older ones. */
	fm_watch_add(f);
	why = foreign_conflict(f, w);
	if (!why)
		return FM_PEERS_OURS;
	slow[f->id] = !yield_to_others(f, why);
	if (slow[f->id])
		return FM_PEERS_SLOW;
	return why == FM_WHY_UNSEEN ? FM_PEERS_UNSEEN : FM_PEERS_SHARED;
}

enum fm_peers_answer fm_peers_enter(struct fm_file *f,
				    const struct fm_peers_wish *w)
{
	enum fm_peers_answer answer;

	fm_space_keep();
	answer = peers_enter(f, w);
	fm_space_keep_ends();
	return answer;
}

/* ---- coming back -------------------------------------------------------- */

bool fm_peers_in_use(const struct fm_file *f)
{
	return fm_peers_weary() || fm_peers_scan(f);
}

bool fm_peers_anybody(dev_t dev, ino_t ino, const char *path)
{
	const struct fm_file_id id = { dev, ino };

	return fm_peers_weary() || fm_peers_scan_unknown(&id, path);
}

int fm_peers_come_back(struct fm_file *f, bool writable)
{
	const struct fm_peers_wish w = { .writable = writable, .fd = -1 };

	fm_claim_is(f, FM_CLAIM_NONE);
	return fm_peers_enter(f, &w) != FM_PEERS_OURS;
}

void fm_peers_came_back(struct fm_file *f)
{
	fm_registry_kernel_ends(f);
}

void fm_peers_gave_up(struct fm_file *f)
{
	fm_claim_kernels(f);
}

static void peers_closing(struct fm_file *f)
{
	slow[f->id] = false;
	fm_claim_drop(f);
}

FM_UP(file_closing, peers_closing)

void fm_peers_reset(void)
{
	fm_registry_forked();
	fm_watch_reset();
	fm_claims_reset();
	/* what no file has had is not touched: a shell's children are many */
	memset(slow, 0, fm_file_top() * sizeof(*slow));
}
