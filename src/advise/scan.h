/* SPDX-License-Identifier: MIT */
/*
 * scan.h - which pages of a range are mapped in now, from /proc/self/pagemap.
 *
 * Since Linux 6.7 the kernel lists runs of them (PAGEMAP_SCAN) and passes over
 * what has no page table: 4 GiB with 200 pages there take 0.2 ms, with 50,000
 * 5 ms. Before, each page is asked for: 5 to 10 ms. [plain]
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fm_run {
	uintptr_t start, end;
};

/* In the thread that asks, which has a table of descriptors of its own. 0 or
 * -errno. */
int fm_scan_start(void);
/* The same again. */
int fm_scan_works(void);

/* Does the kernel list them? Otherwise each page is asked for. */
bool fm_scan_lists(void);

/* Runs in [start, end), in order; returns how many. *ret_stop: where it
 * stopped, for lack of room or because it would take long. Not before a page
 * has been looked at. */
unsigned fm_scan(uintptr_t start, uintptr_t end, struct fm_run *ret,
		 unsigned room, uintptr_t *ret_stop);
