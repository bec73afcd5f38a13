/* SPDX-License-Identifier: MIT */
/*
 * next.c - a library behind libfastmap in the search order that finds functions
 * of libc by RTLD_NEXT: in its constructor, and when it is asked (dl_next).
 */
#include "next.h"

#include <dlfcn.h>
#include <stdlib.h>

static struct next early;

static void *find(const char *name)
{
	void *p = dlsym(RTLD_NEXT, name);

	if (!p)
		abort();
	return p;
}

static void find_all(struct next *n)
{
	n->map = (void *(*)(void *, size_t, int, int, int, off_t))find("mmap");
	n->map64 = (void *(*)(void *, size_t, int, int, int, off_t))find(
		"mmap64");
	n->unmap = (int (*)(void *, size_t))find("munmap");
	n->remap = (void *(*)(void *, size_t, size_t, int, ...))find("mremap");
	n->sync = (int (*)(void *, size_t, int))find("msync");
	n->advise = (int (*)(void *, size_t, int))find("madvise");
	n->get = (ssize_t(*)(int, void *, size_t, off_t))find("pread64");
	n->put = (ssize_t(*)(int, const void *, size_t, off_t))find("pwrite");
}

__attribute__((constructor)) static void begin(void)
{
	find_all(&early);
}

struct next next_early(void)
{
	return early;
}

struct next next_late(void)
{
	struct next n;

	find_all(&n);
	return n;
}

int next_unknown(void)
{
	return dlsym(RTLD_NEXT, "no such function") == NULL;
}
