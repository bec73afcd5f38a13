/* SPDX-License-Identifier: MIT */
/*
 * fastmap-store.h - a store of one's own, for libfastmap.
 *
 * A shared object with one function, which a policy file names:
 *
 *	[path /data/file]
 *	source = plugin:/usr/lib/mine.so?arguments
 *
 * It is loaded by a process of its own, not into the program: it may allocate,
 * make threads, block, and crash, which the program sees as I/O errors.
 * docs/stores.md, with an example.
 */
#ifndef FASTMAP_STORE_H
#define FASTMAP_STORE_H

#include <stddef.h>
#include <stdint.h>

#define FASTMAP_STORE_VERSION 1

/* New members come at the end: `size` says which of them there are. */
struct fastmap_store {
	size_t size; /* sizeof(struct fastmap_store) */
	int version; /* FASTMAP_STORE_VERSION */

	/* Optional. What is behind the `?`, or "". Returns what the others are
	 * given; NULL and errno: it cannot be had. */
	void *(*open)(const char *arguments);
	/* In bytes; -1 and errno. Asked once. */
	int64_t (*get_size)(void *handle);
	/* Fill all of buf, which lies within the size. 0; -1 and errno: EACCES,
	 * EILSEQ, ENODATA, ENXIO, EPERM, ESTALE and ETIMEDOUT are passed on,
	 * any other is EIO. */
	int (*pread)(void *handle, void *buf, size_t count, uint64_t offset);
	/* Optional. Called once, after the last pread, when the program and its
	 * children of fork that share the store have ended; not where a pread
	 * does not return, or the process was killed. It has ten seconds. */
	void (*close)(void *handle);
	/* Not 0: pread may be called by several threads at once. */
	int parallel;
};

/* What the shared object defines. */
const struct fastmap_store *fastmap_store_init(void);

#endif
