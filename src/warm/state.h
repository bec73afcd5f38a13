/* SPDX-License-Identifier: MIT */
/*
 * state.h - the form of a state file: what was hot of one file.
 *
 * A head, the path, and a record for each 2 MiB of the file of which a page was
 * hot. A record begins with the number of 2 MiB units that are left out before
 * it and a byte that says in which of four forms its 512 pages follow: all of
 * one level, a bit each, two bits each, or runs, whichever is shortest. So a
 * GiB takes 66 KiB at most, and 3 KiB where all of it was equally hot.
 * Integers have the byte order of the machine, which is little endian, or are
 * LEB128. Whatever the bytes are, reading them ends, touches nothing else and
 * says whether they are right: a checksum over all of it (CRC-32C), and each
 * record within the file. [any]
 */
#pragma once

#include "pages.h"

#define FM_WARM_PATH 4096
/* Bytes of the largest that is read. */
#define FM_WARM_BYTES ((size_t)80 << 20) /* size: of a file */

struct fm_warm_head {
	/* the file: its inode, when that was made (ns, 0: not known), */
	uint64_t ino, born;
	uint64_t size;    /* bytes */
	int64_t mtime;    /* ns */
	int64_t saved;    /* ns, when the state was written */
	bool live;        /* ... the program was at work still */
	const char *path; /* not terminated */
	size_t path_len;
};

/* Of a head with p's pages: how many bytes it can take, and those that it takes
 * in buf, which has so many. */
size_t fm_warm_state_room(const struct fm_warm_head *h,
			  const struct fm_warm_pages *p);
size_t fm_warm_state_write(const struct fm_warm_head *h,
			   const struct fm_warm_pages *p, uint8_t *buf);
/* Make length and checksum right (the fuzzer does). */
void fm_warm_state_seal(uint8_t *buf, size_t len);

/* The head of what was written; its path points into buf. 0, or -EBADMSG: those
 * are no such bytes. */
int fm_warm_state_head(const uint8_t *buf, size_t len,
		       struct fm_warm_head *ret);
/* After that, with the head that it has found: the pages, those that p has room
 * for. Likewise. */
int fm_warm_state_pages(const struct fm_warm_head *h, const uint8_t *buf,
			size_t len, struct fm_warm_pages *p);
