/* SPDX-License-Identifier: MIT */
/*
 * warm.h - warm start: what was hot of a file when a process ended is read into
 * memory again when the next one maps it. What other rooms may use.
 *
 * A state file (state.h) only chooses what is read ahead of need: a wrong one
 * costs reads, never a byte. The engine's files are read by its chunks, into
 * room that the cache has; those that the kernel serves by MADV_WILLNEED, into
 * free memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What came of looking for a state. */
enum fm_look_outcome {
	FM_LOOK_NOT_YET,
	FM_LOOK_READ,   /* it is used */
	FM_LOOK_ABSENT,
	FM_LOOK_STALE,  /* the file has been changed, or is another */
	FM_LOOK_BROKEN, /* no state, or not this user's alone */
	FM_LOOK_TAKEN,  /* another process brings it */
	FM_LOOK_OUTCOMES
};

/* [any] A file has been mapped, bytes of it, by either server; without the
 * space lock. `path`: called for its path, if that is not known yet. */
struct fm_warm_mapping {
	dev_t dev;
	ino_t ino;
	off_t off;
	size_t len;
	const char *(*path)(void *arg);
	void *arg;
};
void fm_warm_mapped(const struct fm_warm_mapping *m);

/* [any] It did not confine itself after all (fm_warm_thread_end): the thread
 * goes on with what is left. */
void fm_warm_thread_again(void);

/* [any] Each file of which something is known. Also in the guardian. */
struct fm_warm_file {
	const char *path;
	enum fm_look_outcome outcome;
	uint64_t known, brought; /* pages that were hot, that have been read */
};
void fm_warm_each(void (*one)(const struct fm_warm_file *f, void *arg),
		  void *arg);
/* [any] In words. */
const char *fm_look_outcome_text(enum fm_look_outcome o);
