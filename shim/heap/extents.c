/* SPDX-License-Identifier: MIT */
/*
 * extents.c - where jemalloc's extents come from: memory, until the heap has
 * `near` bytes of it, then the file. So a program whose heap is small has
 * nothing in the file, and what libraries allocate at the start, which is in
 * use all the time, does not leave memory.
 *
 * An extent of the file is never given back as such: jemalloc keeps it, and
 * when it has been unused for a while its blocks are (decommit).
 */
#include "heap.h"

#include <errno.h>
#include <string.h>

#include "base/sys.h"
#include <jemalloc/jemalloc.h>

static struct fm_heap_calls *const calls = &fastmap_heap_calls;

/* ---- memory -------------------------------------------------------------- */

/* Until it is known what may be in memory, all is. */
static bool near_has_room(size_t len)
{
	return !atomic_load(&calls->on) ||
	       atomic_load(&calls->in_memory) + len <= calls->near;
}

/* Cut out of a larger one. */
static void *near_cut(size_t len, size_t align)
{
	const size_t more = align > HEAP_PAGE ? align - HEAP_PAGE : 0;
	char *p = fm_sys_mmap(NULL, len + more, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			      0);
	size_t before;

	if (len + more < len || fm_is_err(p))
		return NULL;
	before = -(uintptr_t)p & (align - 1);
	if (before)
		fm_sys_munmap(p, before);
	if (more - before)
		fm_sys_munmap(p + before + len, more - before);
	return p + before;
}

void *heap_near_map(size_t len, size_t align)
{
	void *p = near_cut(len, align);

	if (p)
		atomic_fetch_add(&calls->in_memory, len);
	return p;
}

static void *near_take(size_t len, size_t align)
{
	return near_has_room(len) ? heap_near_map(len, align) : NULL;
}

/* ---- what jemalloc asks -------------------------------------------------- */

static void *extent_alloc(extent_hooks_t *h, void *at, size_t len, size_t align,
			  bool *zero, bool *commit, unsigned arena)
{
	const int saved = errno;
	void *p;

	if (at)
		return NULL; /* none is made longer: a new one is taken */
	p = near_take(len, align);
	if (!p && atomic_load(&calls->on))
		p = heap_file_take(len, align);
	if (p)
		*zero = *commit = true;
	errno = saved;
	return p;
}

static bool extent_dalloc(extent_hooks_t *h, void *p, size_t len,
			  bool committed, unsigned arena)
{
	return true;
}

static bool extent_commit(extent_hooks_t *h, void *p, size_t len, size_t off,
			  size_t n, unsigned arena)
{
	const int saved = errno;
	int err = heap_file_has(p) ? heap_file_fill((char *)p + off, n) : 0;

	errno = saved;
	return err != 0;
}

static bool extent_decommit(extent_hooks_t *h, void *p, size_t len, size_t off,
			    size_t n, unsigned arena)
{
	const int saved = errno;
	int err = heap_file_has(p) ?
			  heap_file_punch((char *)p + off, n) :
			  fm_sys_madvise((char *)p + off, n, MADV_DONTNEED);

	errno = saved;
	return err != 0;
}

static bool extent_split(extent_hooks_t *h, void *p, size_t len, size_t a,
			 size_t b, bool committed, unsigned arena)
{
	return false;
}

static bool extent_merge(extent_hooks_t *h, void *a, size_t a_len, void *b,
			 size_t b_len, bool committed, unsigned arena)
{
	return heap_file_has(a) != heap_file_has(b);
}

static extent_hooks_t hooks = {
	.alloc = extent_alloc,
	.dalloc = extent_dalloc,
	.commit = extent_commit,
	.decommit = extent_decommit,
	.split = extent_split,
	.merge = extent_merge,
};

struct extent_hooks_s *const heap_extents = &hooks;
