/* SPDX-License-Identifier: MIT */
/* filled.h - a file of zeros that is on the device, and what of it is in
 * memory. */
#pragma once

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/types.h"
#include "unit.h"

/* Its descriptor, or -1. The name, which is mkstemp's, is gone. */
static inline int filled_file(char *name, unsigned pages)
{
	static char page[FM_PAGE];
	int fd = mkstemp(name);

	if (fd < 0)
		return -1;
	unlink(name);
	while (pages && write(fd, page, sizeof(page)) == sizeof(page))
		pages--;
	fsync(fd);
	return pages ? -1 : fd;
}

static inline unsigned filled_resident(void *p, unsigned pages)
{
	unsigned char *in = malloc(pages);
	unsigned n = 0;

	assert_int_equal(mincore(p, pages * FM_PAGE, in), 0);
	for (unsigned i = 0; i < pages; i++)
		n += in[i] & 1;
	free(in);
	return n;
}
