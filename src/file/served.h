/* SPDX-License-Identifier: MIT */
/*
 * served.h - for how long a file was served by whom, and the last changes.
 *
 * The time runs from a file's first mapping on, whether or not something of it
 * is mapped. It is kept for the statistics; nothing is decided by it.
 */
#ifndef FM_SERVED_H
#define FM_SERVED_H

#include "base/reason.h"
#include "base/types.h"

/* [any] Who serves it where the engine does not, by its policy. */
enum fm_served_by fm_served_beside_engine(const struct fm_policy *p);
/* [any] From now on it is `by` that serves the file. */
void fm_served_begin(struct fm_served *s, enum fm_served_by by,
		     enum fm_server_reason why);
/* [any] The same of a file that we know: what each server costs is noted. */
void fm_served_file(struct fm_file *f, enum fm_served_by by,
		    enum fm_server_reason why);
/* [any] Add the times of `from` until now to those of `to`. */
void fm_served_add(struct fm_served *to, const struct fm_served *from);
/* [any] A copy, with the times until now. */
void fm_served_read(const struct fm_served *s, struct fm_served *ret);
/* [plain] "engine", "advised", "kernel". */
const char *fm_served_text(enum fm_served_by by);
/* [plain] In the guardian: who held the lock is dead. */
void fm_served_unlock(void);

#endif
