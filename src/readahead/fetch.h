/* SPDX-License-Identifier: MIT */
/*
 * fetch.h - pages that somebody will want are read before he waits for them.
 *
 * Who knows which ones says so, in ranges. Here they are merged and cut into
 * pieces as long as the kernel reads of one call; where somebody waits for
 * other reads no more are under way than keep the device busy (io/device.h);
 * and it ends when time is up, or memory is full. Where the pages go: into the
 * page cache, by addresses of the kernel's mappings or by a descriptor; or into
 * chunks (fm_fetch_chunk).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fm_map;

/* What may have to leave memory for them. */
enum fm_fetch_room {
	FM_FETCH_KNOWN, /* there is room, as who asks knows */
	FM_FETCH_FREE,  /* nothing may */
	FM_FETCH_HALF,  /* page cache, for half of what can be had */
};

#define FM_FETCH_MOST 64 /* size: pieces under way whose end is known */

/* Bytes: addresses, or of the file. */
struct fm_fetch_run {
	uint64_t start, end;
};

struct fm_fetch {
	int fd;            /* of the file; -1: addresses */
	bool down;         /* the last piece comes first */
	bool full;         /* no room for more */
	enum fm_fetch_room room;
	uint64_t until_ms; /* what is left then is left; 0: no end */
	size_t piece;      /* bytes */
	unsigned most;     /* pieces under way; 0: as many as there are */
	uint64_t asked;    /* bytes, up to now; */
	uint64_t look;     /* up to so many there is room */
	unsigned pieces;   /* a growing total; the last page of each: */
	uint64_t last[FM_FETCH_MOST];
	uint64_t since_ms; /* one is waited for; 0: none */
	/* the list: */
	struct fm_fetch_run *v;
	size_t n, space, at; /* run to go on with */
	struct fm_fetch *next;
};

/* [any] Reads of so many pages that keep the device busy, where each may have
 * ended for late_ms before the next one comes; FM_FETCH_MOST at most. */
unsigned fm_fetch_depth(dev_t dev, uint64_t pages, uint64_t late_ms);

/* [plain] Nothing yet, of device dev (0: not known). fd: the file's; -1: runs
 * are addresses. beside: somebody waits for other pages meanwhile. */
void fm_fetch_begin(struct fm_fetch *f, int fd, dev_t dev, bool beside);
/* [plain] For so many milliseconds ask for r, which becomes what is left of it.
 * Is anything? Where something else lies at an address by now no harm is
 * done. */
bool fm_fetch_run(struct fm_fetch *f, struct fm_fetch_run *r, uint64_t ms);

/* [plain] Are so many bytes free, and some more? */
bool fm_fetch_fits(uint64_t bytes);

/* [plain] A list. Without memory for it a run is left out. */
void fm_fetch_add(struct fm_fetch *f, uint64_t start, uint64_t end);
bool fm_fetch_list(struct fm_fetch *f, uint64_t ms);
void fm_fetch_forget(struct fm_fetch *f);

/* [any] What is left of the list goes behind those that wait. */
void fm_fetch_later(struct fm_fetch **queue, struct fm_fetch *f);
/* [plain] For so many milliseconds. Is any left? */
bool fm_fetch_turn(struct fm_fetch **queue, uint64_t ms);
void fm_fetch_forget_all(struct fm_fetch **queue);

/* [fault] One chunk of pages [lo, hi) of m, the first one that can be: pages
 * that have been dealt with. 0: no buffer. */
enum {
	FM_CHUNK_DOWN = 1,  /* the last one */
	FM_CHUNK_SMALL = 2, /* a small buffer will do */
	FM_CHUNK_EAGER = 4, /* mapped as it lands */
};
uint64_t fm_fetch_chunk(struct fm_map *m, uint64_t lo, uint64_t hi,
			unsigned how);
