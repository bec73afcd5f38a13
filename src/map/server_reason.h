/* SPDX-License-Identifier: MIT */
/*
 * server_reason.h - why the kernel serves a mapping that a policy covers, and what is said
 * of it on stderr.
 *
 * At level 2 everything, once for each file and reason. By default only what costs
 * speed and can be helped, once for a file, whichever process of a family made by
 * fork it happens in, and of no more than FM_WHY_FILES files: then one line says
 * that there are more.
 */
#ifndef FM_SERVER_REASON_H
#define FM_SERVER_REASON_H

#include <sys/types.h>

#define FM_WHY_FILES 8

/* Left to the kernel from the start. A hand-over's reason is text of its own. */
enum fm_why {
	FM_WHY_NONE,
	FM_WHY_DENIED,
	FM_WHY_NOT_ENGAGED,
	FM_WHY_OBSERVED,
	FM_WHY_SHORT,
	FM_WHY_EXECUTABLE,
	FM_WHY_KIND,
	FM_WHY_CACHED,
	FM_WHY_WINDOW,
	FM_WHY_NO_CACHE,
	FM_WHY_NO_MEMORY,
	FM_WHY_LOCKED,
	FM_WHY_FSIZE,
	FM_WHY_RECORD_LOCKS,
	FM_WHY_SHARED,
	FM_WHY_WEARY,
	FM_WHY_RESIDUE,
	FM_WHY_HANDED,
	FM_WHY_NO_ENGINE,
	FM_WHY_NO_OPEN,
	FM_WHY_ASYNC,
	FM_WHY_OTHERS,
	FM_WHYS
};

const char *fm_why_text(enum fm_why why);

/* Before the first fork: what has been said is known to all children. Without it each
 * knows for itself. */
void fm_why_start(void);

/* [any] The kernel serves the file, for this reason for the first time. */
void fm_why_left(const char *path, dev_t dev, ino_t ino, enum fm_why why);
/* [any] It has got what we served. */
void fm_why_handed(const char *path, dev_t dev, ino_t ino, const char *why);

#endif
