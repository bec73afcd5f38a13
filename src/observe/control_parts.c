/* SPDX-License-Identifier: MIT */
/*
 * control_parts.c - commands on a part of a file: flush, drop, prefetch. They
 * work on the program's own mappings, piece by piece, so that nobody waits long
 * for a lock; what the kernel serves is asked of the kernel.
 *
 * A mapping may be another by the time its turn comes. Then nothing is lost:
 * what is advised is at worst something else that is read or leaves memory.
 */
#include <errno.h>
#include <string.h>

#include "advise/advise.h"
#include "base/apart.h"
#include "base/control.h"
#include "base/epoch.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "policy.h"
#include "readahead/readahead.h"
#include "vm/vm.h"
#include "writeback/writeback.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* ABI: Linux 5.14 */
#endif
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21 /* ABI: Linux 5.4 */
#endif

#define PIECE ((uint64_t)4 << 20) /* size: bytes, done in one go */
#define SPANS 4096

/* A part of a mapping, and of the file: bytes, whole pages. */
struct span {
	uintptr_t start;
	uint64_t off, len;
	bool engine;
};

struct part {
	struct fm_request *r;
	struct fm_file_part asked;
	struct fm_file_id id;
	uint64_t off, end; /* of the file: bytes, whole pages */
	struct fm_file *file; /* a reference, or NULL: the engine has it not */
	bool kernel;          /* serves some of it */
	bool unmapped;        /* is a part, too, for this command */
	uint64_t total, done; /* bytes, for progress */
	unsigned n;
	struct span span[SPANS];
	struct fm_krange range[FM_KRANGES];
};

/* ---- what there is ------------------------------------------------------ */

static void add_span(struct part *p, uintptr_t start, uint64_t off,
		     uint64_t len, bool engine)
{
	const uint64_t lo = off > p->off ? off : p->off;
	const uint64_t hi = fm_least(off + len, p->end);

	if (lo >= hi || p->n == SPANS)
		return;
	p->span[p->n++] = (struct span){ start + (lo - off), lo, hi - lo,
					 engine };
	p->total += hi - lo;
	p->kernel |= !engine;
}

static void add_engine(struct part *p)
{
	struct fm_map *m;

	p->file = fm_file_find(p->id.dev, p->id.ino);
	if (!p->file)
		return;
	FM_HOLD_SPACE();
	fm_for_each_map(m, p->file)
		if (!fm_kernel_serves(p->file))
			add_span(p, atomic_load(&m->start),
				 m->pgoff << FM_PAGE_SHIFT,
				 fm_map_pages(m) << FM_PAGE_SHIFT, true);
}

static void add_kernel(struct part *p)
{
	unsigned n = fm_krange_list(&p->id, p->range, FM_KRANGES);

	for (unsigned i = 0; i < n; i++)
		add_span(p, p->range[i].start,
			 p->range[i].pgoff << FM_PAGE_SHIFT,
			 p->range[i].end - p->range[i].start, false);
}

static int look_up(const char *path, struct fm_file_id *ret, uint64_t *size)
{
	struct stat st;
	long err = fm_sys_stat(path, &st);

	if (err)
		return (int)err;
	*ret = (struct fm_file_id){ st.st_dev, st.st_ino };
	*size = (uint64_t)st.st_size;
	return 0;
}

/* A program that has confined itself may be ended for a call that it never
 * makes: among the files that the engine has. */
static int look_up_here(const char *path, struct fm_file_id *ret,
			uint64_t *size)
{
	const unsigned slot = fm_epoch_enter();
	struct fm_file *f;
	int err = -ENOENT;

	fm_for_each_file(f, id) {
		if (strcmp(f->path, path))
			continue;
		*ret = (struct fm_file_id){ f->dev, f->ino };
		*size = (uint64_t)atomic_load(&f->size);
		err = 0;
	}
	fm_epoch_leave(slot);
	return err;
}

static bool control_parts_refuse(struct part *p, const char *why)
{
	fm_answer_error(p->r, "%s %s", p->asked.path, why);
	return false;
}

static const char confined[] =
	"is not served by the engine, and the process has confined itself "
	"(seccomp): it may not ask the kernel for this";

/* False: the answer has been given. */
static bool control_parts_find_file(struct part *p)
{
	const char *path = p->asked.path;
	uint64_t size = 0;
	int err;

	if (fm_sys_confined() && look_up_here(path, &p->id, &size))
		return control_parts_refuse(p, confined);
	err = fm_sys_confined() ? 0 : look_up(path, &p->id, &size);
	if (err)
		fm_answer_error(p->r, "%s: %s", path, fm_error_text(-err));
	else if (p->asked.off >= size)
		fm_answer_error(p->r, "%s has only %lu bytes", path,
				(unsigned long)size);
	if (err || p->asked.off >= size)
		return false;
	p->off = p->asked.off & ~(uint64_t)FM_PAGE_MASK;
	p->end = fm_page_up(fm_least(p->asked.off + p->asked.len, size));
	return true;
}

static bool control_parts_find(struct part *p)
{
	if (!fm_request_part(p->r, &p->asked) || !control_parts_find_file(p))
		return false;
	if (fm_life_running())
		add_engine(p);
	add_kernel(p);
	if (p->kernel && fm_sys_confined())
		return control_parts_refuse(p, confined);
	return p->n || (p->unmapped && p->file) ||
	       control_parts_refuse(p, "is not mapped there by this process");
}

/* ---- beside the program's descriptors ----------------------------------- */

/* What the kernel serves is flushed and dropped by a descriptor of our own:
 * msync(2) on the program's mapping would take the error that the program is to
 * be told. */
struct apart {
	const struct part *part;
	bool drop;
	int err;
};

static void do_apart(void *arg)
{
	struct apart *a = arg;
	const struct part *p = a->part;
	int fd = fm_sys_open(p->asked.path, O_RDONLY | O_NONBLOCK, 0);

	a->err = fd < 0 ? fd : -ESTALE;
	if (fd < 0 || !fm_sys_is_file(fd, p->id.dev, p->id.ino))
		return;
	a->err = (int)fm_sys1(SYS_fdatasync, fd);
	if (a->drop && !a->err)
		a->err = (int)fm_sys4(SYS_fadvise64, fd, p->off,
				      p->end - p->off, POSIX_FADV_DONTNEED);
	fm_sys_close(fd);
}

static int control_parts_ask_kernel(struct part *p, bool drop)
{
	struct apart a = { p, drop, 0 };
	int err = p->kernel ? fm_apart(do_apart, &a) : 0;

	return err ? err : a.err;
}

/* ---- piece by piece ----------------------------------------------------- */

/* False: nobody wants the rest. */
static bool control_parts_advance(struct part *p, uint64_t n)
{
	p->done += n;
	return fm_answer_progress(p->r, p->done, p->total);
}

static int each_piece(struct part *p,
		      int (*fn)(struct part *p, const struct span *piece))
{
	for (unsigned i = 0; i < p->n; i++) {
		struct span s = p->span[i], rest = s;
		int err;

		for (; rest.len; rest.len -= s.len) {
			s.len = fm_least(rest.len, PIECE);
			err = fn(p, &s);
			if (err || !control_parts_advance(p, s.len))
				return err;
			s.start += s.len;
			s.off += s.len;
		}
	}
	return 0;
}

static uint64_t control_parts_page_of(uint64_t off)
{
	return off >> FM_PAGE_SHIFT;
}

/* ---- flush -------------------------------------------------------------- */

static uint64_t dirty_bytes(struct part *p)
{
	const uint64_t end = control_parts_page_of(p->end);
	uint64_t n = 0;

	if (!p->file || fm_kernel_serves(p->file))
		return 0;
	for (uint64_t k = control_parts_page_of(p->off);
	     (k = fm_dirty_next(p->file, k, end)) < end; k++)
		n++;
	return n << FM_PAGE_SHIFT;
}

static int flush_pages(struct part *p, uint64_t from, uint64_t to)
{
	FM_BLOCK_SIGNALS();
	return fm_wb_range(p->file, from, to, true);
}

/* By the file, not by its mappings: what was stored by one that is there no
 * more is dirty, too. */
static int flush_dirty(struct part *p)
{
	const uint64_t end = control_parts_page_of(p->end);
	uint64_t k = control_parts_page_of(p->off), next;
	int err;

	p->total = p->end - p->off;
	for (; (k = fm_dirty_next(p->file, k, end)) < end; k = next) {
		next = fm_least(k + control_parts_page_of(PIECE), end);
		p->done = (next << FM_PAGE_SHIFT) - p->off;
		err = flush_pages(p, k, next);
		if (err || !fm_answer_progress(p->r, p->done, p->total))
			return err;
	}
	return 0;
}

static int flush_all(struct part *p)
{
	int err;

	if (!p->file || fm_kernel_serves(p->file))
		return 0;
	err = flush_dirty(p);
	if (!err)
		err = fm_wb_sync(p->file);
	/* The kernel tells each failure once, and the program has not heard. */
	if (err)
		fm_wb_err_note(p->file, err);
	return err;
}

static void control_parts_flush(struct part *p)
{
	const uint64_t dirty = dirty_bytes(p);
	int err = flush_all(p);

	if (!err)
		err = control_parts_ask_kernel(p, false);
	if (err)
		fm_answer_error(p->r, "%s: %s", p->asked.path,
				fm_error_text(-err));
	else
		fm_answer_ok(p->r, "%lu bytes written, and what the page cache "
			     "had", (unsigned long)dirty);
}

/* ---- drop --------------------------------------------------------------- */

static void count_page(struct fm_map *m, uint64_t i, void *arg)
{
	uint64_t *n = arg;

	*n += fm_mode_resident(fm_mode(m, i));
}

/* Bytes of the part that the engine has in the program's mappings. */
static uint64_t resident_bytes(struct part *p)
{
	struct fm_map *m;
	uint64_t n = 0;

	if (!p->file)
		return 0;
	FM_IN_EPOCH();
	fm_for_each_map(m, p->file) {
		uint64_t lo = control_parts_page_of(p->off),
			 hi = control_parts_page_of(p->end);

		lo = lo > m->pgoff ? lo : m->pgoff;
		hi = fm_least(hi, m->pgoff + fm_map_pages(m));
		if (lo < hi)
			fm_map_each(m, lo - m->pgoff, hi - m->pgoff, count_page,
				    &n);
	}
	return n << FM_PAGE_SHIFT;
}

/* Refused is no error: what is locked, or belongs to others, stays. */
static int drop_piece(struct part *p, const struct span *s)
{
	if (s->engine)
		return fm_madvise((void *)s->start, s->len, MADV_PAGEOUT);
	fm_sys_madvise((void *)s->start, s->len, MADV_PAGEOUT);
	return 0;
}

static int control_parts_drop_all(struct part *p)
{
	int err = control_parts_ask_kernel(p, false);

	if (!err && p->file && !fm_kernel_serves(p->file))
		fm_chunk_forget(p->file, control_parts_page_of(p->off),
				control_parts_page_of(p->end));
	if (!err)
		err = each_piece(p, drop_piece);
	return err ? err : control_parts_ask_kernel(p, true);
}

static void control_parts_drop(struct part *p)
{
	const uint64_t before = resident_bytes(p);
	int err = control_parts_drop_all(p);
	const uint64_t after = resident_bytes(p);

	if (err)
		fm_answer_error(p->r, "%s: %s", p->asked.path,
				fm_error_text(-err));
	else
		fm_answer_ok(p->r, "%lu bytes left the cache, %lu stay%s",
			     (unsigned long)(before - fm_least(before, after)),
			     (unsigned long)after,
			     p->kernel ? "; the kernel has been asked for its "
					 "pages" : "");
}

/* ---- prefetch ----------------------------------------------------------- */

/* What exceeds the cache would push out what has just come. */
static uint64_t control_parts_room(const struct part *p)
{
	uint64_t bytes = p->file ? fm_cache_limit() << FM_PAGE_SHIFT :
				   fm_cache_bytes(&fm_settings()->cache);

	return bytes - bytes / 8;
}

/* Each byte of the file once, by the mapping that has it first. */
static void keep_once(struct part *p)
{
	uint64_t covered = p->off, most = control_parts_room(p), total = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < p->n; i++) {
		struct span s = p->span[i];
		uint64_t skip = s.off < covered ? covered - s.off : 0;

		skip = fm_least(skip, s.len);
		s = (struct span){ s.start + skip, s.off + skip,
				   fm_least(s.len - skip, most - total),
				   s.engine };
		if (!s.len)
			continue;
		total += s.len;
		covered = s.off + s.len;
		p->span[n++] = s;
	}
	p->n = n;
	p->total = total;
}

static void sort_spans(struct part *p)
{
	for (unsigned i = 1; i < p->n; i++) {
		struct span s = p->span[i];
		unsigned k = i;

		for (; k && p->span[k - 1].off > s.off; k--)
			p->span[k] = p->span[k - 1];
		p->span[k] = s;
	}
}

static int prefetch_piece(struct part *p, const struct span *s)
{
	struct fm_fetch_run r = { s->start, s->start + s->len };
	struct fm_fetch f;

	if (s->engine)
		return fm_madvise((void *)s->start, s->len, MADV_POPULATE_READ);
	fm_fetch_begin(&f, -1, p->id.dev, false);
	fm_fetch_run(&f, &r, UINT32_MAX);
	return 0;
}

static void prefetch(struct part *p)
{
	int err;

	sort_spans(p);
	keep_once(p);
	err = each_piece(p, prefetch_piece);
	if (err)
		fm_answer_error(p->r, "%s: %s", p->asked.path,
				fm_error_text(-err));
	else
		fm_answer_ok(p->r, "%lu bytes %s%s", (unsigned long)p->total,
			     p->kernel ? "asked of the kernel" : "in the cache",
			     p->total == control_parts_room(p)
				     ? ": all that has room"
				     : "");
}

/* ---- the commands ------------------------------------------------------- */

static void control_parts_run(struct fm_request *r, void (*fn)(struct part *p))
{
	struct part *p = fm_sys_anon(sizeof(*p));

	if (!p) {
		fm_answer_error(r, "no memory");
		return;
	}
	p->r = r;
	p->unmapped = fn == control_parts_flush;
	if (control_parts_find(p))
		fn(p);
	if (p->file)
		fm_file_put(p->file);
	fm_sys_munmap(p, sizeof(*p));
}

static void run_flush(struct fm_request *r)
{
	control_parts_run(r, control_parts_flush);
}

static void run_drop(struct fm_request *r)
{
	control_parts_run(r, control_parts_drop);
}

static void run_prefetch(struct fm_request *r)
{
	control_parts_run(r, prefetch);
}

FM_CONTROL(control_parts_flush, .word = "flush", .args = "[OFFSET LENGTH] FILE",
	   .run = run_flush, .job = true,
	   .help = "what is dirty of the file is written and made durable")
FM_CONTROL(control_parts_drop, .word = "drop", .args = "[OFFSET LENGTH] FILE",
	   .run = run_drop, .job = true,
	   .help = "it leaves memory, after what is dirty has been written")
FM_CONTROL(prefetch, .word = "prefetch", .args = "[OFFSET LENGTH] FILE",
	   .run = run_prefetch, .job = true,
	   .help = "it is read into the cache, as much as that takes")
