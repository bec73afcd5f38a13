/* SPDX-License-Identifier: MIT */
/*
 * peers_claims.c - what this process claims of each file, and how it gives that
 * up for others.
 */

#include "base/fds.h"
#include "base/life.h"
#include "base/sys.h"
#include "file/file.h"
#include "map/map.h"
#include "peers_priv.h"
#include "vm/vm.h"

static uint8_t claims[FM_MAX_FILES]; /* by file id; under the space lock */

enum fm_claim fm_claim_of(const struct fm_file *f)
{
	return claims[f->id];
}

void fm_claim_is(const struct fm_file *f, enum fm_claim claim)
{
	claims[f->id] = claim;
}

void fm_claims_reset(void)
{
	for (uint32_t id = 0; id < fm_file_top(); id++)
		claims[id] = FM_CLAIM_NONE;
}

static void unwatch(struct fm_file *f)
{
	fm_watch_drop(f);
	fm_open_forget(f);
}

/* The file has been demoted, and we use the kernel's mapping from now on:
 * others may, too. It is not watched any more. */
void fm_claim_kernels(struct fm_file *f)
{
	claims[f->id] = FM_CLAIM_KERNEL;
	fm_registry_claim(f, FM_CLAIM_KERNEL);
	unwatch(f);
}

void fm_peers_demote(struct fm_file *f, enum fm_server_reason why)
{
	const bool unseen = fm_open_unseen(f);

	fm_file_get(f);
	/* An error has been said; it is asked again at the next bell. Nothing
	 * is claimed any more if it was unmapped meanwhile. */
	if (!fm_server_change(f, FM_SERVER_KERNEL, why) &&
	    claims[f->id] != FM_CLAIM_NONE) {
		fm_claim_kernels(f);
		if (unseen)
			fm_file_passes(f, false);
	}
	fm_file_put_locked(f);
}

/* By the kernel's mapping, beside others who only read it: it keeps the claim
 * of one who reads. */
static bool is_one_cache(const struct fm_file *f)
{
	return claims[f->id] == FM_CLAIM_READ &&
	       atomic_load(&f->st->demote_why) == FM_WHY_READERS;
}

void fm_peers_share(struct fm_file *f)
{
	fm_file_get(f);
	if (!fm_server_change(f, FM_SERVER_KERNEL, FM_WHY_READERS))
		unwatch(f);
	fm_file_put_locked(f);
}

static void kernels_now(struct fm_file *f)
{
	if (is_one_cache(f))
		unwatch(f);
	else
		fm_claim_kernels(f);
}

FM_UP(file_hollow, kernels_now)

/* A claim by kernel stays: mappings that the engine does not know may be
 * there still. */
void fm_claim_drop(struct fm_file *f)
{
	const enum fm_claim have = claims[f->id];

	claims[f->id] = FM_CLAIM_NONE;
	if (have == FM_CLAIM_READ || have == FM_CLAIM_WRITE) {
		unwatch(f);
		fm_registry_claim(f, FM_CLAIM_NONE);
	}
}

/* ---- new places ---------------------------------------------------------- */

static void claim_again(void)
{
	struct fm_file *f;

	fm_for_each_file(f, id) {
		enum fm_claim c = fm_claim_of(f);

		if (c == FM_CLAIM_NONE || !fm_registry_claim(f, c))
			continue;
		fm_peers_demote(f, FM_WHY_PEER);
		fm_registry_notify();
	}
}

/* Nobody hears them there any more. */
static void claims_end(void)
{
	struct fm_file *f;

	fm_for_each_file(f, id)
		if (claims[id] == FM_CLAIM_READ || claims[id] == FM_CLAIM_WRITE)
			fm_peers_demote(f, FM_WHY_REGISTRY);
}

/* What root makes later is for files that are claimed already, too. */
void fm_claims_look(void)
{
	for (unsigned k = 0; k < FM_PLACES; k++) {
		const bool was = fm_place_at(k)->fd >= 0;
		int old, now = fm_place_look(k, &old);

		if (now > 0) {
			claim_again();
			fm_registry_use_again();
		} else if (was && fm_place_at(k)->fd < 0) {
			claims_end();
		}
		fm_fd_drop(old);
	}
}

/* Without a place for all nobody rings when root makes one. */
static void peers_claims_every_second(void)
{
	if (!fm_place_state(0) || !fm_sys_may_ask() ||
	    !fm_place_appears())
		return;
	FM_HOLD_SPACE();
	fm_claims_look();
}

FM_LIFE(peers_claims, .level = FM_LIFE_RUNNING,
	.second = peers_claims_every_second)

/* ---- others ask ---------------------------------------------------------- */

/* Others want files that we serve: they hold the kernel byte and wait for
 * ours to go. Under the space lock. */
void fm_claims_answer_locked(void)
{
	struct fm_file *f;

	fm_for_each_file(f, id)
		if ((claims[id] == FM_CLAIM_READ ||
		     claims[id] == FM_CLAIM_WRITE) &&
		    fm_registry_kernel_users(f))
			fm_peers_demote(f, FM_WHY_PEER);
}

void fm_claims_answer(void)
{
	FM_HOLD_SPACE();
	if (fm_sys_may_ask())
		fm_claims_look();
	fm_claims_answer_locked();
}
