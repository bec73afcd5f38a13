/* SPDX-License-Identifier: MIT */
#include "scan.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include "base/sys.h"
#include "base/types.h"

/* Not in every <linux/fs.h>. */
struct region {
	uint64_t start, end, categories;
};

struct pm_scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t inverted, mask, anyof, ret;
};
#define SCAN _IOWR('f', 16, struct pm_scan)
#define IS_PRESENT 0x08

#define BATCH 512      /* regions a call */
#define PIECE 4096 /* pages a read */
#define PIECES 16 /* size: of these a look, half a millisecond */

static int fd = -EBADF;
static bool lists; /* it knows PAGEMAP_SCAN */

int fm_scan_start(void)
{
	struct region none;
	struct pm_scan q = { .size = sizeof(q), .vec = (uintptr_t)&none,
			     .vec_len = 1, .mask = IS_PRESENT,
			     .ret = IS_PRESENT };

	fd = fm_sys_open("/proc/self/pagemap", O_RDONLY, 0);
	if (fd < 0)
		return fd;
	lists = !fm_sys_ioctl(fd, SCAN, &q);
	return 0;
}

int fm_scan_works(void)
{
	return fd < 0 ? fd : 0;
}

bool fm_scan_lists(void)
{
	return lists;
}

/* ---- by the list ------------------------------------------------------- */

static unsigned scan_list(uintptr_t start, uintptr_t end, struct fm_run *ret,
			  unsigned room, uintptr_t *ret_stop)
{
	static struct region v[BATCH];
	struct pm_scan q = { .size = sizeof(q), .start = start, .end = end,
			     .vec = (uintptr_t)v,
			     .vec_len = room < BATCH ? room : BATCH,
			     .mask = IS_PRESENT, .ret = IS_PRESENT };
	long n = fm_sys_ioctl(fd, SCAN, &q);

	*ret_stop = n < 0 ? end : (uintptr_t)q.walk_end;
	for (long i = 0; i < n; i++)
		ret[i] = (struct fm_run){ v[i].start, v[i].end };
	return n < 0 ? 0 : (unsigned)n;
}

/* ---- page by page ------------------------------------------------------ */

static bool add_page(uintptr_t a, struct fm_run *ret, unsigned *n,
		     unsigned room)
{
	if (*n && ret[*n - 1].end == a) {
		ret[*n - 1].end += FM_PAGE;
		return true;
	}
	if (*n == room)
		return false;
	ret[(*n)++] = (struct fm_run){ a, a + FM_PAGE };
	return true;
}

static unsigned read_piece(uintptr_t start, uintptr_t end, struct fm_run *ret,
			   unsigned n, unsigned room, uintptr_t *ret_stop)
{
	static uint64_t entry[PIECE];
	uint64_t pages = fm_least((end - start) >> FM_PAGE_SHIFT, PIECE);
	ssize_t got = fm_sys_pread(fd, entry, pages * sizeof(entry[0]),
				   (off_t)((start >> FM_PAGE_SHIFT) *
					   sizeof(entry[0])));

	pages = got < 0 ? 0 : (uint64_t)got / sizeof(entry[0]);
	*ret_stop = pages ? start + (pages << FM_PAGE_SHIFT) : end;
	for (uint64_t i = 0; i < pages; i++) {
		const uintptr_t a = start + (i << FM_PAGE_SHIFT);

		if (entry[i] >> 63 && !add_page(a, ret, &n, room)) {
			*ret_stop = a;
			break;
		}
	}
	return n;
}

unsigned fm_scan(uintptr_t start, uintptr_t end, struct fm_run *ret,
		 unsigned room, uintptr_t *ret_stop)
{
	unsigned n = 0;

	*ret_stop = start;
	if (lists) {
		while (*ret_stop < end && n < room)
			n += scan_list(*ret_stop, end, ret + n, room - n,
				       ret_stop);
		return n;
	}
	for (int k = 0; k < PIECES && *ret_stop < end && n < room;
	     k++)
		n = read_piece(*ret_stop, end, ret, n, room, ret_stop);
	return n;
}
