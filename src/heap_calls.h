/* SPDX-License-Identifier: MIT */
/*
 * heap_calls.h - between libfastmap.so and libfastmap-heap.so, which
 * provides malloc from a file. The one finds the other by the name
 * fastmap_heap_calls, of this type, when it is loaded; both are of one version.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FM_HEAP_CALLS 2 /* ABI: of the two libraries */

struct fm_heap_calls {
	uint32_t version;

	/* Set by libfastmap before `on`. */
	const char *dir;     /* where the file is made */
	uint64_t size;       /* bytes that all may take, file and memory */
	uint64_t near;       /* of them, in memory at least */
	uint64_t fork_limit; /* bytes that a fork may copy */
	/* does the engine serve any of it? */
	bool (*served)(const void *addr, size_t len);
	_Atomic bool on;

	/* Set by the heap: the file, before `made`. */
	uint64_t dev, ino;
	_Atomic bool made;

	/*
	 * Before a fork. held: nothing stores to the file until the fork is
	 * over, and all that was stored is written. Then after it in the
	 * parent, and in the child, before anything of the program runs there.
	 * They call neither malloc nor what locks.
	 */
	void (*copy)(bool held);
	void (*copied)(void);
	void (*lay)(void);

	/* Bytes, for who watches: approximately of one instant. used: that the
	 * program has of it, as of its first call after the last count(), which
	 * only asks; UINT64_MAX: nobody has. */
	_Atomic uint64_t in_file, in_memory, used;
	void (*count)(void);
};
