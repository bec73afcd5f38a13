/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h - a list of things that other threads may add to meanwhile. What
 * there is is counted, memory for it allocated, and the list filled; between
 * the count and the fill there may be more of them. So the fill never goes past
 * what was allocated, the list has as many as were filled, and where there were
 * more it is made again.
 *
 * In builds with the meson option list_growth each list finds one more than was
 * counted, the first time.
 */
#pragma once

#include <stddef.h>

struct fm_snapshot {
	void *list;  /* fm_free; NULL only where it failed */
	size_t n;    /* in it */
	size_t size; /* of one, bytes */
	size_t room;
	size_t all;  /* how many the walk has met */
};

/* [any] For a walk: one more, of the list's size, is copied. Takes no lock and
 * allocates nothing. */
void fm_snapshot_put(struct fm_snapshot *s, const void *one);

/* [any] Calls `walk`, which puts each that there is, twice or more often.
 * 0; -ENOMEM; -EAGAIN: there were more each time. */
int fm_snapshot(struct fm_snapshot *ret, size_t size,
		void (*walk)(struct fm_snapshot *s, void *arg), void *arg);
