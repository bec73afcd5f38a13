/* SPDX-License-Identifier: MIT */
/*
 * maps.h - what it costs that a file is mapped and unmapped again and again.
 *
 * To take a file over costs a look at all processes, some milliseconds where
 * there are hundreds of them, and each time the engine begins with nothing,
 * where the page cache has what the last mapping left. So what takes it over is
 * lost, and of a mapping that is soon gone all of its time. So are the faults
 * of one that is read through once, half of it at least, however long that
 * takes on a machine that is busy: the kernel reads no more, and keeps it.
 * Where that is as much as is worth a change (serve_lost_much) the kernel has
 * the file for a while. Not what is more than twice as long as the longest of
 * these mappings, for a header may be looked at before all of the file is
 * mapped.
 *
 * Lost are also the faults on what an earlier mapping had brought, which the
 * page cache would have kept (cache/unmapped.h).
 *
 * Who maps more than a window for a few accesses is helped by the engine where
 * each brings a page, for which the kernel reads ahead. What that saved is set
 * against what was lost.
 *
 * A web server maps each of thousands of files a few times. So the same is
 * added up of files alike, those of one device that are about as long
 * (table.h): it decides for a file of which nothing is known, or not any more.
 * Nothing but arithmetic.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hold.h"

struct fm_maps {
	uint64_t from_ns; /* mapped since; 0: it is not */
	uint64_t took_ns, lost_ns, mapped_ns;
	size_t len;           /* of the one that is mapped */
	size_t longest, most; /* of these; to be left */
	unsigned n;
	uint32_t cost; /* thousandths of a thread, when last judged */
	struct fm_hold hold;
	/* the kernel's, whatever was lost: mmap/at_map.c */
	uint64_t cached_until_ns;
	/* and what holes cost, as far as is known */
	uint64_t holes_until_ns;
	uint32_t holes;
	uint64_t written_until_ns; /* and how much of it is none */
	uint64_t written;
};

/* [plain] The first mapping of a file, of len bytes; it took so long. */
void fm_maps_begin(struct fm_maps *m, size_t len, uint64_t took_ns,
		   uint64_t now_ns);
/* What the engine has done for it meanwhile. */
struct fm_maps_use {
	uint64_t spent_ns; /* by threads, in faults */
	uint64_t again_ns; /* of it, for what an unmap had lost */
	uint64_t read;     /* bytes */
	uint64_t saved_ns; /* that the kernel would have taken more for them;
			    * of a window it does not count */
};

/* [plain] Is what is so long a window? */
bool fm_maps_is_window(size_t len);
/* [plain] The last one is gone. alike: what is known of files alike, or
 * NULL. */
void fm_maps_end(struct fm_maps *m, struct fm_maps *alike,
		 const struct fm_maps_use *use, uint64_t now_ns);
/* [plain] Instead of both: it could not be taken over. */
void fm_maps_refused(struct fm_maps *m, size_t len, uint64_t took_ns,
		     uint64_t now_ns);
/* [plain] So much of it was lost while it was mapped (again.h), in thousandths
 * of a thread: the kernel has it for a while, len bytes. */
void fm_maps_lost(struct fm_maps *m, size_t len, uint32_t lost,
		  uint64_t now_ns);
/* [plain] What one more of len bytes would cost with the engine; 0: that is not
 * known. Thousandths of a thread. Either may be NULL. */
uint32_t fm_maps_cost(const struct fm_maps *m, const struct fm_maps *alike,
		      size_t len, uint64_t now_ns);
