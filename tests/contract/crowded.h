/* SPDX-License-Identifier: MIT */
/*
 * crowded.h - a process that has as many mappings as it may, or nearly, and
 * looks whose one is without making any.
 */
#ifndef CROWDED_H
#define CROWDED_H

#include "ct.h"

#include <sys/ioctl.h>

/* Neighbours differ, or they would be one mapping. */
static char *neighbour(size_t n)
{
	return mmap(NULL, PAGE, n % 2 ? PROT_READ : PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

#define LAST 128 /* of what was taken last */
static char *last[LAST];
static size_t taken;

static void give_back(size_t n)
{
	for (; n > 0; n--)
		munmap(last[--taken % LAST], PAGE);
}

CT_UNUSED static void take(size_t but)
{
	char *p;

	while ((p = neighbour(taken)) != MAP_FAILED)
		last[taken++ % LAST] = p;
	give_back(but);
}

/* struct procmap_query of linux/fs.h, since 6.11. */
struct query {
	uint64_t size, flags, addr, start, end, vma, page, offset, inode;
	uint32_t major, minor, name, build;
	uint64_t name_addr, build_addr;
};
#define QUERY _IOWR('f', 17, struct query)

/* Of /proc/self/maps. */
static int crowd_maps_fd(void)
{
	return open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
}

/* As ct_is_the_kernels. A kernel that cannot be asked so: -1. */
static int crowd_asks(int maps_fd, const void *at)
{
	struct query q = { .size = sizeof(q), .addr = (uintptr_t)at };

	return ioctl(maps_fd, QUERY, &q) ? -1 : q.inode != 0;
}

#endif
