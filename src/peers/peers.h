/* SPDX-License-Identifier: MIT */
/*
 * peers.h - several processes on one file.
 *
 * Our pages are private memory: two processes that map one file see each
 * other's stores only through the kernel's mapping. So a file stays with the
 * engine only while this process is alone on it, or while everybody only
 * reads it. docs/sharing.md says how others are found and what is promised.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fm_file;

struct fm_peers_wish {
	bool writable;
	int fd; /* the program's, or -1 */
	/* The kernel's mapping that is to be ours; end 0: who asks looks
	 * himself at what this process maps. */
	uintptr_t start, end;
};

/*
 * [plain] Under the space lock, before the engine maps f, each time (the first
 * for writing upgrades the claim).
 *
 * What is not FM_PEERS_OURS must be left to the kernel. FM_PEERS_SLOW: another
 * process has f, and has not handed it over yet. It has been told:
 * fm_peers_wait without the lock, before the program has the mapping; then ask
 * again.
 */
enum fm_peers_answer {
	FM_PEERS_OURS,
	FM_PEERS_SHARED,
	FM_PEERS_SLOW,
	FM_PEERS_UNTRUSTED, /* the registry, see docs/sharing.md */
	FM_PEERS_UNSEEN, /* mapped by this process, past our hooks */
};
enum fm_peers_answer fm_peers_enter(struct fm_file *f,
				    const struct fm_peers_wish *w);
/* [plain] No lock is held. */
void fm_peers_wait(struct fm_file *f);
/* [plain] What looking for others has taken of late, in thousandths of a
 * thread; is that so much that it is better not done? */
uint32_t fm_peers_cost(void);
bool fm_peers_weary(void);
/* [plain] In a child of fork that is going to map f by the kernel: whoever
 * serves it has demoted it when this returns (writable: whoever reads it by an
 * engine, too). 0; -errno: the parent cannot be asked, for want of descriptors
 * or memory. */
int fm_peers_join(struct fm_file *f, bool writable);
/* [plain] Under the space lock: a mapping of f that may be stored to becomes
 * the kernel's, which serves f here already. True: others who read it by an
 * engine are slow, as FM_PEERS_SLOW. */
bool fm_peers_stores(struct fm_file *f);
/* [plain] Under the space lock, of a file that the kernel serves here. others:
 * has another process a claim on it? come_back: as fm_peers_enter, and until
 * the change is over, or given up, the claim as a user of the kernel's mapping
 * stays beside the new one. */
bool fm_peers_others(const struct fm_file *f);
/* [plain] As far as a look at them tells. */
bool fm_peers_in_use(const struct fm_file *f);
/* [plain] The same of a file that we do not know: not of ourselves. */
bool fm_peers_anybody(dev_t dev, ino_t ino, const char *path);
int fm_peers_come_back(struct fm_file *f, bool writable);
void fm_peers_came_back(struct fm_file *f);
void fm_peers_gave_up(struct fm_file *f);
/* [plain] Child of fork: the entries are the parent's. */
void fm_peers_reset(void);
/* [plain] The descriptors whose life is our claims', for the guardian to keep
 * until the last page is written: FM_CLAIM_FDS, -1: none. */
void fm_peers_fds(int *ret);
/* [plain] Before a fork: is there anybody whom its child could ask for f?
 * children: for any file at all, as far as the ways are there? */
bool fm_peers_can_ask(const struct fm_file *f);
bool fm_peers_children_can_ask(void);

/* The rest of what other rooms may use. */
#include "async.h"
