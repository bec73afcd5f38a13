/* SPDX-License-Identifier: MIT */
/*
 * peers.h - several processes on one file.
 *
 * Our pages are private memory: two processes that map one file see each
 * other's stores only through the kernel's mapping. So a file stays with the
 * engine only while this process is alone on it, or while everybody only
 * reads it. docs/sharing.md says how others are found and what is promised.
 */
#ifndef FM_PEERS_H
#define FM_PEERS_H

#include <stdbool.h>

struct fm_file;

/* Under the space lock, before a mapping of the file is adopted, each
 * time (the first for writing upgrades); fd is the program's. 0: the file may
 * be ours. 1: somebody else has it; they have been told and have handed it to
 * the kernel, and so must we. */
int fm_peers_enter(struct fm_file *f, bool writable, int fd);
/* Has looking for others taken so much of this program's time that a small
 * mapping is not worth it any more? `patient`: half of the time may go there,
 * not an eighth. */
bool fm_peers_weary(bool patient);
/* We are going to map the file by the kernel: whoever serves it has handed it
 * over when this returns (writable: whoever reads it by an engine, too). */
void fm_peers_join(struct fm_file *f, bool writable);
/* Child of fork: the entries are the parent's. */
void fm_peers_reset(void);
/* The descriptor whose life is our claims', for the guardian to keep until the
 * last page is written. */
int fm_peers_fd(void);

/* The rest of what other rooms may use. */
#include "async.h"

#endif
