/* SPDX-License-Identifier: MIT */
/*
 * area.h - how each part of a range that the kernel serves is read, and the
 * advice that follows from it. The helper thread's own.
 *
 * An area is what one mmap call made (fm_krange's id), in up to 64 segments of
 * 16 MiB or more. Of each is known how often it has been touched here and there
 * and how many pages in a row, of late. That says what each advice would cost:
 *
 *  - as the kernel reads of its own accord (MADV_NORMAL), a touch here or there
 *    reads more than it uses, as many bytes as are counted for a fault;
 *  - with MADV_RANDOM, a page of a stream is a read of its own.
 *
 * MADV_NORMAL is the start, and what stays where nothing speaks against it.
 * MADV_RANDOM only where what is touched here and there is more than fits into
 * memory: such pages lose their place among those that have been used lately
 * (Linux 6.4), and what fits is read once. Where a segment has too little to go
 * by, its area decides, and then all areas do.
 *
 * But where a touch reads megabytes ahead and the files are larger than memory,
 * an area begins at MADV_RANDOM (it is early): to be wrong costs milliseconds
 * until a stream is seen, and the other way round tenths of a second. A segment
 * is MADV_NORMAL there as soon as a stream comes near it. [plain]
 */
#ifndef FM_AREA_H
#define FM_AREA_H

#include <stdbool.h>
#include <stdint.h>

/* What the process has done meanwhile. */
struct fm_area_use {
	uint64_t faults; /* of all kinds */
	uint64_t major;
	uint64_t bytes;  /* read from a device */
	uint64_t ms;
	uint64_t cpu_ms; /* that it has used */
};

/* The ranges as they are now. False: there is none. */
bool fm_areas_update(void);
/* Where they lie, by number, in order. */
bool fm_area_span(unsigned i, uintptr_t *ret_start, uintptr_t *ret_end);

/* Does one lie there? */
bool fm_area_has(uintptr_t a);

/* A span has been touched. */
void fm_area_touched(uintptr_t start, uintptr_t end);
/* After touches have been told, of so many thousandths of the areas: use of the
 * time since the last call. Advises where that is better. -errno: the kernel
 * refuses to be advised. */
int fm_areas_weigh(const struct fm_area_use *use, unsigned part);
/* What others of the family know: where to begin. As fm_areas_weigh. */
int fm_areas_begin(void);
/* Is one MADV_RANDOM before anything is known of it? Then a stream waits for
 * the next look. */
bool fm_areas_early(void);
/* Nobody looks any more: these are as they would be natively. */
void fm_areas_leave(void);
/* In a child of fork whose parent was about to change them. */
void fm_areas_forget(void);
/* Nothing has been read for that long. */
void fm_areas_quiet(const struct fm_area_use *use);

/* For the statistics. */
struct fm_advise_counts {
	_Atomic uint64_t changes, looks, touches, random_bytes, huge_bytes;
	_Atomic uint64_t cpu_us;
};
extern struct fm_advise_counts fm_advise_counts;

#endif
