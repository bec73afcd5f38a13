/* SPDX-License-Identifier: MIT */
/*
 * mincore.c - which pages of a mapping are in memory.
 *
 * Natively those that the page cache has, whoever has brought them: read(2),
 * readahead(2), a child. Here also those that the engine has, which are
 * anonymous memory. The kernel tells what is in the page cache only to who may
 * write to the file or owns it, so it is asked by a mapping of its own, which
 * is there for a moment. Under the space lock: a child of fork must not get it.
 */
#include <sys/mman.h>

#include "base/proc.h"
#include "base/sys.h"
#include "io/io.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"

#define PIECE 512 /* pages that are asked about at once */

/* The program's descriptor may be closed, or another file's by now. */
static bool mincore_is_of(int fd, const struct fm_file *f)
{
	struct stat st;

	return fd >= 0 && !fm_sys_fstat(fd, &st) && st.st_ino == f->ino &&
	       st.st_dev == f->dev;
}

static void *map_by(int fd, size_t len, off_t off)
{
	return fm_sys_mmap(NULL, len, PROT_READ, MAP_SHARED, fd, off);
}

static void *map_anew(const struct fm_file *f, size_t len, off_t off)
{
	char path[FM_PROC_FD];
	int fd = fm_sys_open(fm_proc_fd(path, f->io->path),
			     O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
	void *p;

	if (fd < 0)
		return (void *)(intptr_t)fd;
	p = map_by(fd, len, off);
	fm_sys_close(fd);
	return p;
}

/* vec: of n pages of m from i on. */
static void add_cached(const struct fm_map *m, uint64_t i, size_t n,
		       unsigned char *vec)
{
	const off_t off = (off_t)((m->pgoff + i) << FM_PAGE_SHIFT);
	const size_t len = n << FM_PAGE_SHIFT;
	unsigned char cached[PIECE] = { 0 };
	void *p = (void *)(intptr_t)-EBADF;

	if (mincore_is_of(m->fd, m->file))
		p = map_by(m->fd, len, off);
	if (fm_is_err(p))
		p = map_anew(m->file, len, off);
	if (fm_is_err(p))
		return;
	fm_sys3(SYS_mincore, p, len, cached);
	fm_sys_munmap(p, len);
	for (size_t k = 0; k < n; k++)
		vec[k] |= cached[k] & 1;
}

static bool has_all(const unsigned char *vec, size_t n)
{
	while (n && (vec[n - 1] & 1))
		n--;
	return !n;
}

static void add_map(const struct fm_map *m, uintptr_t at, uintptr_t end,
		    unsigned char *vec)
{
	const uint64_t first = (at - atomic_load(&m->start)) >> FM_PAGE_SHIFT;
	const size_t pages = (end - at) >> FM_PAGE_SHIFT;

	for (size_t k = 0, n; k < pages; k += n) {
		n = fm_least(pages - k, PIECE);
		if (!has_all(vec + k, n))
			add_cached(m, first + k, n, vec + k);
	}
}

static void mincore_add_all(uintptr_t a, uintptr_t end, unsigned char *vec)
{
	uintptr_t at = a, stop;
	const struct fm_map *m;

	FM_HOLD_SPACE();
	for (; (m = fm_space_next(at, end, &at)); at = stop) {
		stop = fm_least(end, atomic_load(&m->end));
		add_map(m, at, stop, vec + ((at - a) >> FM_PAGE_SHIFT));
	}
}

/* vec is not managed. */
int fm_mincore(void *addr, size_t len, unsigned char *vec)
{
	const uintptr_t a = (uintptr_t)addr;
	int err = (int)fm_sys3(SYS_mincore, addr, len, vec);

	/* -ENOMEM: what is mapped before the hole has been told. */
	if ((!err || err == -ENOMEM) && !fm_sys_confined())
		mincore_add_all(a, fm_page_up(a + len), vec);
	return err;
}
