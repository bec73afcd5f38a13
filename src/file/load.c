/* SPDX-License-Identifier: MIT */
#include "load.h"

#include <string.h>

#include "file.h"
#include "io/io.h"
#include "page.h"
#include "policy.h"
#include "reflink.h"
#include "wb_errseq.h"
#include "truncate_barrier.h"

#define ALLOC_PAGES 256 /* size: of a hole, allocated by one call */

FM_FAULT long fm_load_finish(uint64_t n, long res, void *buf)
{
	size_t got, pages;

	if (res < 0)
		return res;
	got = (size_t)res;
	pages = (got + FM_PAGE_MASK) >> FM_PAGE_SHIFT;
	if (got & FM_PAGE_MASK)
		memset((char *)buf + got, 0, (pages << FM_PAGE_SHIFT) - got);
	return (long)(pages < n ? pages : n);
}

/* One transfer, taken up again until it is complete or the file ends. */
static FM_FAULT long read_full(struct fm_io *io)
{
	uint64_t want = io->len, got = 0;

	while (got < want) {
		long res;

		io->len = want - got;
		res = fm_demand_do(io);
		if (res == -ECANCELED) /* no worker to be had: for a while */
			res = fm_io_once(io);
		if (res == -EINTR)
			continue;
		/* what fails in the middle of a page is not its end */
		if (res < 0)
			return got & ~FM_PAGE_MASK ?
				       (long)(got & ~FM_PAGE_MASK) : res;
		got += (uint64_t)res;
		io->buf = (char *)io->buf + res;
		io->off += (uint64_t)res;
		if (res == 0)
			break; /* end of file */
		if (io->buffered || !(got & FM_PAGE_MASK))
			continue;
		if (io->off >= (uint64_t)fm_file_size_now(io->file))
			break;
		io->buffered = true; /* short, in no unit of the device */
	}
	return (long)got;
}

static FM_FAULT struct fm_io read_of(struct fm_file *f, uint64_t fp, uint64_t n,
				     void *buf)
{
	return (struct fm_io){
		.file = f,
		.buf = buf,
		.off = fp << FM_PAGE_SHIFT,
		.len = n << FM_PAGE_SHIFT,
		.op = FM_READ,
	};
}

/* Is a read of res bytes short because the file ends there? A direct read in
 * its place would first write what the page cache has of these pages. */
static FM_FAULT bool ends_at(struct fm_file *f, uint64_t off, long res)
{
	return res >= 0 &&
	       off + (uint64_t)res >= (uint64_t)fm_file_size_now(f);
}

/*
 * A buffered read that does not wait starts to read what the page cache lacks
 * all the same (Linux 6.18 does, in spite of RWF_NOWAIT), and the device would
 * read twice. So each miss halves how often it is asked, down to once in 64
 * times; a hit, and it is asked always.
 */
#define COLDEST 63u /* bits: of a count of asks */

FM_FAULT bool fm_load_asks_cache(struct fm_file *f)
{
	return fm_store_of(f)->direct && atomic_load(&f->wb->buffered) &&
	       !(atomic_fetch_add_explicit(&f->load->cache_asked, 1,
					   memory_order_relaxed) &
		 atomic_load_explicit(&f->load->cache_cold,
				      memory_order_relaxed));
}

FM_FAULT void fm_load_asked_cache(struct fm_file *f, bool hit)
{
	uint32_t cold = atomic_load_explicit(&f->load->cache_cold,
					     memory_order_relaxed);
	uint32_t then = hit ? 0 : (cold * 2 + 1) & COLDEST;

	if (then != cold)
		atomic_store_explicit(&f->load->cache_cold, then,
				      memory_order_relaxed);
}

/* Where the kernel fails to write such a page, it stays in the page cache,
 * clean, and a direct read finds what the device has, which is older. */
FM_FAULT bool fm_load_through_cache(struct fm_file *f, uint64_t fp, uint64_t n)
{
	for (uint64_t k = fp; k < fp + n; k++) {
		_Atomic uint8_t *p = fm_file_page(f, k);

		if (p && (fm_page_state(p) & FP_CACHED))
			return true;
	}
	return false;
}

FM_FAULT long fm_load(struct fm_file *f, uint64_t fp, uint64_t n, void *buf)
{
	struct fm_io io = read_of(f, fp, n, buf);
	/* Others may find out meanwhile. */
	const bool direct = fm_store_of(f)->direct;
	long res = -EAGAIN;

	if (fm_heap_blank(f, fp, n)) {
		memset(buf, 0, io.len);
		return (long)n;
	}
	fm_count(&f->st->loads, 1);
	fm_count(&f->st->load_bytes, io.len);
	if (f->by_pieces || fm_load_through_cache(f, fp, n)) {
		struct fm_io all = io;

		all.buffered = true;
		res = read_full(&all);
	} else if (fm_load_asks_cache(f)) {
		/* What the page cache holds is newer-or-equal and free. */
		struct fm_io warm = io;

		warm.buffered = warm.nowait = true;
		res = fm_io_once(&warm);
		if (res != (long)warm.len && !ends_at(f, warm.off, res))
			res = -EAGAIN;
		fm_load_asked_cache(f, res != -EAGAIN);
		if (res == (long)FM_PAGE)
			fm_device_probe(f, io.off);
	}
	if (res == -EAGAIN) {
		res = read_full(&io);
		/* Where write-back of the page cache has failed, the next
		 * direct read is told, whoever's it is, once. */
		if (direct && (res == -EIO || res == -ENOSPC ||
			       res == -EDQUOT)) {
			io = read_of(f, fp, n, buf);
			res = read_full(&io);
		}
	}
	if (res == -EINVAL && direct) {
		/* The file system changed its mind (or an odd tail). */
		fm_store_use_pagecache(f);
		return fm_load(f, fp, n, buf);
	}
	if (res < 0)
		fm_count(&f->st->read_errors, 1);
	return fm_load_finish(n, res, buf);
}

FM_FAULT long fm_load_cached(struct fm_file *f, uint64_t fp, uint64_t n,
			     void *buf)
{
	struct fm_io io = read_of(f, fp, n, buf);

	io.buffered = io.nowait = true;
	return fm_load_finish(n, fm_io_once(&io), buf);
}

/* ---- holes ------------------------------------------------------------ */

_Thread_local _Atomic uint32_t *fm_load_phase
	__attribute__((tls_model("initial-exec")));

/* This thread waits for the block of a page that it has locked. Until end_wait
 * another may act for it (uffd_deadlock.h). */
static FM_FAULT void begin_wait(void)
{
	if (fm_load_phase)
		atomic_store(fm_load_phase, FM_LOAD_ALLOCATES);
}

static FM_FAULT void end_wait(void)
{
	uint32_t v = FM_LOAD_ALLOCATES;

	while (fm_load_phase && !atomic_compare_exchange_weak(
					fm_load_phase, &v, FM_LOAD_ELSE)) {
		fm_cpu_relax();
		v = FM_LOAD_ALLOCATES;
	}
}

static FM_FAULT void note_room(struct fm_file *f, uint64_t ns)
{
	fm_count(&f->st->room_ns, ns);
	fm_device_made_room(f->io->device, ns);
}

/* How many of the pages have room now: those behind the end of the file have
 * none. */
static FM_FAULT long load_allocate(struct fm_file *f, uint64_t fp, uint64_t n)
{
	uint64_t size = (uint64_t)fm_file_size_now(f);
	uint64_t off = fp << FM_PAGE_SHIFT, end = (fp + n) << FM_PAGE_SHIFT;
	struct fm_io io = { .file = f, .op = FM_FALLOCATE, .buffered = true };
	const uint64_t from = fm_now_ns();
	long err;

	if (end > size)
		end = size; /* must not change the size */
	if (off >= end)
		return 0;
	io.off = off;
	io.len = end - off;
	io.unshare = atomic_load(&f->load->unshare) > FM_UNSHARE_MAYBE;
	begin_wait();
	do
		err = fm_io_once(&io);
	while (err == -EINTR); /* of whoever does it: the store must wait */
	end_wait();
	if (!err)
		note_room(f, fm_now_ns() - from);
	if (io.unshare && (err == -EOPNOTSUPP || err == -EINVAL)) {
		atomic_store(&f->load->unshare, FM_UNSHARE_NEVER);
		return load_allocate(f, fp, n);
	}
	return err < 0 ? err : (long)((io.len + FM_PAGE_MASK) >> FM_PAGE_SHIFT);
}

/* Pages that nobody has touched yet among them. */
static FM_FAULT void mark_allocated(struct fm_file *f, uint64_t fp,
				    uint64_t n, uint64_t mine)
{
	for (uint64_t k = fp; k < fp + n; k++) {
		_Atomic uint8_t *p = fm_file_page(f, k);

		if (!p || k == mine || !fm_page_trylock(p))
			continue;
		fm_file_touch(f, k, k + 1);
		if (!fm_is_shut(f, k))
			fm_page_set(p, FP_ALLOC, 0);
		fm_page_unlock(p);
	}
}

/* File systems give freed blocks back with the next transaction: end it. Where
 * that takes long it is not done for each store that is refused. An error that
 * the kernel tells us here it does not tell again: it is kept for the program's
 * msync. */
static FM_FAULT void commit(struct fm_file *f)
{
	struct fm_io sync = { .file = f, .op = FM_FSYNC, .buffered = true };
	uint64_t from = fm_now_ms(), to;
	long err;

	if (from < atomic_load(&f->load->no_commit_before_ms))
		return;
	err = fm_io_once(&sync);
	if (err == -EIO || err == -ENOSPC || err == -EDQUOT)
		fm_wb_err_note(f, (int)err);
	to = fm_now_ms();
	atomic_store(&f->load->no_commit_before_ms, to + 4 * (to - from));
}

/* Room for one page, if there is any. */
static FM_FAULT long allocate_last(struct fm_file *f, uint64_t fp)
{
	long err = load_allocate(f, fp, 1);

	if (err != -ENOSPC && err != -EDQUOT)
		return err;
	commit(f);
	return load_allocate(f, fp, 1);
}

FM_FAULT bool fm_load_has_room(const struct fm_file *f, _Atomic uint8_t *p)
{
	return !f->load->sparse || fm_heap_has_room(f) ||
	       ((fm_page_state(p) & FP_ALLOC) &&
		atomic_load(&f->load->unshare) != FM_UNSHARE_ALWAYS);
}

FM_FAULT int fm_load_allocate(struct fm_file *f, uint64_t fp,
			      _Atomic uint8_t *p)
{
	_Atomic uint8_t *before = fp ? fm_file_page(f, fp - 1) : NULL;
	uint64_t n = 1;
	long got;

	if (!f->load->sparse || !fm_store_of(f)->keeps ||
	    fm_load_has_room(f, p) || f->policy->holes == FM_HOLES_LAZY)
		return 0;
	/* Stores that go upwards get room by the MiB; a lone store into a
	 * sparse file takes one page, as with the kernel. */
	if (before && (atomic_load(before) & FP_ALLOC) &&
	    !(fm_page_state(p) & FP_ALLOC))
		n = ALLOC_PAGES;
	got = load_allocate(f, fp, n);
	if (got == -ENOSPC || got == -EDQUOT)
		got = allocate_last(f, fp);
	if (got == -EOPNOTSUPP || got == -ENOSYS || got == -EINVAL) {
		/* cannot be known here: write-back tells */
		f->load->sparse = false;
		return 0;
	}
	if (got <= 0)
		return (int)got;
	mark_allocated(f, fp, (uint64_t)got, fp);
	fm_page_set(p, FP_ALLOC, 0);
	return 0;
}
