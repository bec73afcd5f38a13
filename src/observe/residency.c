/* SPDX-License-Identifier: MIT */
/*
 * residency.c - which pages of the files are in memory, and as what: counts for
 * each of the equal parts (cells) that a file is divided into.
 *
 * Nobody waits for who looks: state and mode bytes are read without the locks
 * of pages, so a page that moves meanwhile may be counted as what it was. The
 * file is walked leaf by leaf (1 GiB), each in an epoch of its own; only groups
 * that were touched are looked into.
 *
 * Where the kernel serves, mincore(2) on the program's own mappings says what
 * the page cache has. No file is opened for that: the open could break a lease,
 * and the close would drop record locks of the program. How many pages are
 * asked about is bounded; beyond that every cell is sampled.
 */

#include <errno.h>
#include <string.h>

#include "advise/advise.h"
#include "base/control.h"
#include "base/epoch.h"
#include "base/json.h"
#include "base/sys.h"
#include "base/text.h"
#include "file/file.h"
#include "map/map.h"
#include "mmap/mmap.h"

#define CELLS 1024 /* size: that a file is divided into, at most */

#define PIECE 512 /* pages that one call of mincore(2) asks about */
#define LOOKS ((uint64_t)1 << 21) /* size: pages that an answer asks about */

/* What a page is: the highest that applies. The page cache is counted beside
 * these. */
enum kind { ABSENT, OWN, KEPT, RESIDENT, DIRTY, CACHED, KINDS };
static const char *const names[KINDS] = {
	[OWN] = "own",		 [KEPT] = "kept",   [RESIDENT] = "clean",
	[DIRTY] = "dirty",	 [CACHED] = "page_cache",
};

struct survey {
	/* one file */
	uint64_t pages;
	unsigned cells;
	bool sampled, cache_known;
	uint64_t total[KINDS];
	uint64_t cell[KINDS][CELLS];
	uint8_t kind[FM_LEAF_PAGES]; /* of the pages of one leaf */
	unsigned ranges;
	struct fm_krange range[FM_KRANGES];
	/* all files */
	unsigned cells_asked, files;
	uint64_t looks; /* pages of one file that mincore is asked about */
	const char *path; /* "": any */
	struct fm_file_id id;
	unsigned left;
	struct fm_unserved skipped[FM_LEFT_FILES];
};

static uint64_t cell_begin(const struct survey *s, unsigned c)
{
	return s->pages * c / s->cells; /* 2^51 pages at most, 2^10 cells */
}

static void residency_begin_file(struct survey *s, int64_t size)
{
	s->pages = ((uint64_t)size + FM_PAGE_MASK) >> FM_PAGE_SHIFT;
	s->cells = (unsigned)fm_least(s->cells_asked, s->pages);
	s->sampled = false;
	s->cache_known = true;
	memset(s->total, 0, sizeof(s->total));
	memset(s->cell, 0, sizeof(s->cell));
}

static void residency_count(struct survey *s, unsigned cell, enum kind k,
			    uint64_t n)
{
	s->cell[k][cell] += n;
	s->total[k] += n;
}

/* ---- what the engine has ----------------------------------------------- */

struct leaf_walk {
	struct survey *s;
	uint64_t first; /* page of the file that kind[0] is */
	bool lazy;
};

static void raise_kind(struct leaf_walk *w, uint64_t fp, enum kind k)
{
	uint8_t *is = &w->s->kind[fp - w->first];

	if (*is < k)
		*is = k;
}

static void note_mode(struct fm_map *m, uint64_t i, void *arg)
{
	struct leaf_walk *w = arg;
	const uint8_t mode = fm_mode(m, i);

	if (fm_mode_lazy(mode)) {
		raise_kind(w, m->pgoff + i, KEPT);
		w->lazy = true;
	} else if (mode & PM_PRESENT) {
		raise_kind(w, m->pgoff + i, mode & PM_COW ? OWN : RESIDENT);
	}
}

/* Lazy pages that the kernel has taken by now: nobody has noticed yet. */
static void residency_drop_taken(struct leaf_walk *w, struct fm_map *m,
				 uint64_t i, uint64_t stop)
{
	unsigned char here[PIECE];

	if (fm_sys_confined() || /* mincore may end it */
	    fm_sys3(SYS_mincore, fm_map_addr(m, i), (stop - i) << FM_PAGE_SHIFT,
		    here))
		return;
	for (uint64_t k = i; k < stop; k++) {
		uint8_t *is = &w->s->kind[m->pgoff + k - w->first];

		if (*is == KEPT && !(here[k - i] & 1) &&
		    fm_mode_lazy(fm_mode(m, k)))
			*is = ABSENT;
	}
}

/* [i, stop) of m lies in the leaf. */
static void residency_note_map(struct leaf_walk *w, struct fm_map *m,
			       uint64_t i, uint64_t stop)
{
	for (uint64_t end; i < stop; i = end) {
		end = fm_least(i + PIECE, stop);
		w->lazy = false;
		fm_map_each(m, i, end, note_mode, w);
		if (w->lazy)
			residency_drop_taken(w, m, i, end);
	}
}

static void note_maps(struct leaf_walk *w, struct fm_file *f, uint64_t stop)
{
	struct fm_map *m;

	fm_for_each_map(m, f) {
		const uint64_t from = m->pgoff, to = from + fm_map_pages(m);
		const uint64_t lo = from > w->first ? from : w->first;
		const uint64_t hi = fm_least(to, stop);

		if (lo < hi)
			residency_note_map(w, m, lo - from, hi - from);
	}
}

static void note_group(struct leaf_walk *w, struct fm_leaf *l, uint64_t first,
		       uint64_t stop)
{
	for (uint64_t i = first; i < stop; i++) {
		const uint8_t state = fm_page_state(&l->page[i]);

		if (state & FP_DIRTY)
			raise_kind(w, w->first + i, DIRTY);
		else if (state & FP_AHEAD)
			raise_kind(w, w->first + i, KEPT);
	}
}

/* That of page i of the leaf. */
static bool is_group_touched(struct fm_leaf *l, uint64_t i)
{
	const uint64_t g = i >> FM_TOUCH_SHIFT;

	return atomic_load(&l->touched[g / 64]) >> g % 64 & 1;
}

static void note_states(struct leaf_walk *w, struct fm_leaf *l, uint64_t n)
{
	for (uint64_t i = 0; i < n; i += FM_TOUCH_PAGES)
		if (is_group_touched(l, i))
			note_group(w, l, i, fm_least(i + FM_TOUCH_PAGES, n));
}

static bool is_touched(struct fm_leaf *l)
{
	for (unsigned i = 0; l && i < FM_LEAF_GROUPS / 64; i++)
		if (atomic_load(&l->touched[i]))
			return true;
	return false;
}

/* The n kinds of a group are added to the cells that they lie in. */
static void add_group(struct survey *s, const uint8_t *kind, uint64_t first,
		      uint64_t n)
{
	unsigned c = (unsigned)(first * s->cells / s->pages);

	for (uint64_t i = 0; i < n; i++) {
		while (c + 1 < s->cells && first + i >= cell_begin(s, c + 1))
			c++;
		if (kind[i])
			residency_count(s, c, kind[i], 1);
	}
}

/* What was touched meanwhile is not in memory yet. */
static void add_leaf(struct survey *s, struct fm_leaf *l, uint64_t first,
		     uint64_t n)
{
	for (uint64_t i = 0; i < n; i += FM_TOUCH_PAGES)
		if (is_group_touched(l, i))
			add_group(s, s->kind + i, first + i,
				  fm_least(FM_TOUCH_PAGES, n - i));
}

static void look_at_leaf(struct survey *s, struct fm_file *f, uint64_t first)
{
	struct leaf_walk w = { .s = s, .first = first };
	struct fm_leaf *l = fm_leaf_of(f, first);
	const uint64_t stop = fm_least(first + FM_LEAF_PAGES, s->pages);

	if (!is_touched(l))
		return;
	memset(s->kind, ABSENT, sizeof(s->kind));
	note_maps(&w, f, stop);
	note_states(&w, l, stop - first);
	add_leaf(s, l, first, stop - first);
}

/* Is the file of slot `id` still that one? In an epoch. */
static struct fm_file *residency_same_file(uint32_t id, uint32_t gen)
{
	struct fm_file *f = fm_file_at(id);

	return f && atomic_load(&f->gen) == gen ? f : NULL;
}

/* The epoch is another for each leaf: what is retired need not wait long. */
static void look_at_leaves(struct survey *s, struct fm_file *f, unsigned *slot)
{
	const uint32_t id = f->id, gen = atomic_load(&f->gen);

	for (uint64_t p = 0; f && p < s->pages; p += FM_LEAF_PAGES) {
		if (p >= atomic_load(&f->barrier->touched_hi))
			break;
		look_at_leaf(s, f, p);
		fm_epoch_leave(*slot);
		*slot = fm_epoch_enter();
		f = residency_same_file(id, gen);
	}
}

/* ---- what the kernel has ----------------------------------------------- */

static uint64_t range_end(const struct fm_krange *r)
{
	return r->pgoff + ((r->end - r->start) >> FM_PAGE_SHIFT);
}

/* The range that shows page fp, else the next one behind it. */
static const struct fm_krange *find_range(const struct survey *s, uint64_t fp)
{
	const struct fm_krange *next = NULL;

	for (unsigned i = 0; i < s->ranges; i++) {
		const struct fm_krange *r = &s->range[i];

		if (fp >= range_end(r))
			continue;
		if (fp >= r->pgoff)
			return r;
		if (!next || r->pgoff < next->pgoff)
			next = r;
	}
	return next;
}

/* Cached pages of [fp, stop), which r shows. It may be somebody else's address
 * by now: then the answer is wrong for once. */
static uint64_t cached(const struct fm_krange *r, uint64_t fp, uint64_t stop)
{
	unsigned char here[PIECE];
	uint64_t n = 0;

	if (fm_sys3(SYS_mincore, r->start + ((fp - r->pgoff) << FM_PAGE_SHIFT),
		    (stop - fp) << FM_PAGE_SHIFT, here))
		return 0;
	for (uint64_t i = 0; i < stop - fp; i++)
		n += here[i] & 1;
	return n;
}

/* How many of [fp, stop) are cached, by one piece of it, anywhere: at even
 * distances all pieces might meet, or miss, what the program has touched at
 * even distances. */
static uint64_t estimate(const struct fm_krange *r, uint64_t fp, uint64_t stop)
{
	const uint64_t all = stop - fp, n = fm_least(all, PIECE);
	const uint64_t at = fp + (fp * 0x9e3779b97f4a7c15ull >> 32) %
				 (all - n + 1);

	return cached(r, at, at + n) * all / n;
}

/* `most`: pages to be looked at; of more, a piece of each `step`. */
static void look_at_cell(struct survey *s, unsigned c, uint64_t most)
{
	const uint64_t stop = cell_begin(s, c + 1);
	const uint64_t step = (stop - cell_begin(s, c)) / most + 1;
	const struct fm_krange *r;

	for (uint64_t fp = cell_begin(s, c), next; fp < stop; fp = next) {
		r = find_range(s, fp);
		if (!r || r->pgoff >= stop)
			return;
		if (r->pgoff > fp)
			fp = r->pgoff;
		next = fm_least(fp + PIECE * step,
				fm_least(range_end(r), stop));
		s->sampled |= next - fp > PIECE;
		residency_count(s, c, CACHED, estimate(r, fp, next));
	}
}

static unsigned list_ranges(struct survey *s, const struct fm_file_id *id)
{
	const unsigned n = fm_krange_list(id, s->range, FM_KRANGES);

	return s->ranges = (unsigned)fm_least(n, FM_KRANGES);
}

/* Of the ranges that were listed. */
static void look_at_page_cache(struct survey *s, const struct fm_file_id *id,
			       const char *path)
{
	if (!s->ranges || !s->cells)
		return;
	s->cache_known = !fm_sys_confined() &&
			 fm_sys_sees_cache(path, id->dev, id->ino);
	for (unsigned c = 0; s->cache_known && c < s->cells; c++)
		look_at_cell(s, c, s->looks / s->cells + PIECE);
}

/* ---- the document ------------------------------------------------------ */

static void residency_totals_json(struct fm_json *o, const struct survey *s)
{
	fm_json_open(o, "pages_by_kind", '{');
	for (enum kind k = OWN; k < KINDS; k++)
		fm_json_uint(o, names[k], s->total[k]);
	fm_json_close(o, '}');
}

/* A kind that there is none of has no list. */
static void cells_json(struct fm_json *o, const struct survey *s)
{
	fm_json_open(o, "cells_by_kind", '{');
	for (enum kind k = OWN; k < KINDS; k++) {
		if (!s->total[k])
			continue;
		fm_json_open(o, names[k], '[');
		for (unsigned c = 0; c < s->cells; c++)
			fm_json_uint(o, NULL, s->cell[k][c]);
		fm_json_close(o, ']');
	}
	fm_json_close(o, '}');
}

static void residency_file_json(struct fm_json *o, const struct survey *s)
{
	fm_json_uint(o, "pages", s->pages);
	fm_json_uint(o, "cells", s->cells);
	fm_json_bool(o, "page_cache_known", s->cache_known);
	fm_json_bool(o, "page_cache_sampled", s->sampled);
	residency_totals_json(o, s);
	cells_json(o, s);
	fm_json_close(o, '}');
}

static void head_json(struct fm_json *o, const char *path, dev_t dev, ino_t ino,
		      int64_t size, bool engine, enum fm_server_reason why)
{
	fm_json_open(o, NULL, '{');
	fm_json_text(o, "path", path);
	fm_json_uint(o, "device", dev);
	fm_json_uint(o, "inode", ino);
	fm_json_uint(o, "size", (uint64_t)size);
	fm_json_text(o, "server", engine ? "engine" : "kernel");
	fm_json_text(o, "why", engine ? NULL : fm_server_reason_text(why));
}

static bool is_asked(const struct survey *s, const char *path, dev_t dev,
		     ino_t ino)
{
	if (s->id.ino)
		return s->id.ino == ino && s->id.dev == dev;
	return !*s->path || !strcmp(s->path, path);
}

/* f is used in an epoch, which `slot` is; afterwards it may have gone. */
static void survey_file(struct survey *s, struct fm_json *o, struct fm_file *f,
			unsigned *slot)
{
	const struct fm_file_id id = { f->dev, f->ino };
	const int64_t size = atomic_load(&f->size);
	char path[sizeof(f->path)];

	memcpy(path, f->path, sizeof(path));
	head_json(o, path, id.dev, id.ino, size, !fm_kernel_serves(f),
		  atomic_load(&f->st->demote_why));
	residency_begin_file(s, size);
	look_at_leaves(s, f, slot);
	list_ranges(s, &id);
	look_at_page_cache(s, &id, path);
	residency_file_json(o, s);
	s->files++;
}

static void survey_table(struct survey *s, struct fm_json *o)
{
	unsigned slot = fm_epoch_enter();
	struct fm_file *f;

	fm_for_each_file(f, id)
		if (is_asked(s, f->path, f->dev, f->ino))
			survey_file(s, o, f, &slot);
	fm_epoch_leave(slot);
}

static bool is_in_table(dev_t dev, ino_t ino)
{
	FM_IN_EPOCH();
	bool found = false;
	struct fm_file *f;

	fm_for_each_file(f, id)
		found |= f->ino == ino && f->dev == dev;
	return found;
}

static void keep_unserved(const struct fm_unserved *l, void *arg)
{
	struct survey *s = arg;

	if (s->left < FM_LEFT_FILES &&
	    is_asked(s, l->path, l->of->dev, l->of->ino))
		memcpy(&s->skipped[s->left++], l, sizeof(*l));
}

/* What is mapped no more has no range. */
static void survey_left(struct survey *s, struct fm_json *o,
			const struct fm_unserved *l)
{
	const struct fm_file_id id = { l->of->dev, l->of->ino };

	if (is_in_table(l->of->dev, l->of->ino) || !list_ranges(s, &id))
		return;
	head_json(o, l->path, l->of->dev, l->of->ino, l->size, false,
		  l->reason[0].why);
	residency_begin_file(s, l->size);
	look_at_page_cache(s, &id, l->path);
	residency_file_json(o, s);
	s->files++;
}

static unsigned files_mapped(const struct survey *s)
{
	return fm_file_top() + s->left + 1;
}

static void residency_document(struct survey *s, struct fm_json *o)
{
	fm_unserved_each(keep_unserved, s);
	s->looks = LOOKS / (*s->path ? 1 : files_mapped(s));
	fm_json_open(o, NULL, '{');
	fm_json_uint(o, "page", FM_PAGE);
	fm_json_open(o, "files", '[');
	survey_table(s, o);
	for (unsigned i = 0; i < s->left; i++)
		survey_left(s, o, &s->skipped[i]);
	fm_json_close(o, ']');
	fm_json_close(o, '}');
}

/* ---- what is asked ----------------------------------------------------- */

/* The decimal number at *at, which `until` or the end follows; *at is behind
 * that. False: there is none. */
static bool take_number(const char **at, char until, uint64_t *ret)
{
	const char *p = fm_number(*at, ret);

	if (!p || (*p != until && *p))
		return false;
	*at = *p ? p + 1 : p;
	return true;
}

static bool take_args(struct survey *s, const char *args)
{
	uint64_t cells, dev, ino;

	if (!take_number(&args, ' ', &cells) || !cells ||
	    cells > CELLS)
		return false;
	s->cells_asked = (unsigned)cells;
	s->path = args;
	if (take_number(&args, ':', &dev) && take_number(&args, 0, &ino))
		s->id = (struct fm_file_id){ (dev_t)dev, (ino_t)ino };
	return true;
}

/* The answer to "CELLS [FILE]": FILE is a path as the statistics have it, or
 * DEVICE:INODE, in decimal; without it all files that are mapped. 0, -EINVAL:
 * not such an argument, -ENOENT: no such file is mapped, -ENOMEM. To be freed
 * by fm_json_free. One thread at a time. */
static int residency_json(struct fm_json *ret, const char *args)
{
	struct survey *s = fm_sys_anon(sizeof(*s));
	int err = -EINVAL;

	memset(ret, 0, sizeof(*ret));
	if (!s)
		return -ENOMEM;
	if (take_args(s, args)) {
		residency_document(s, ret);
		err = *s->path && !s->files ? -ENOENT : 0;
		if (ret->failed)
			err = -ENOMEM;
	}
	fm_sys_munmap(s, sizeof(*s));
	if (!err)
		fm_json_raw(ret, "\n");
	if (err)
		fm_json_free(ret);
	return err;
}

static void residency_map(struct fm_request *r)
{
	const int err = residency_json(&r->answer, r->args);

	if (err == -EINVAL)
		fm_answer_error(r, "map CELLS [FILE]: CELLS is 1 to %d",
				CELLS);
	else if (err)
		fm_answer_error(r, err == -ENOENT ? "no such file is mapped" :
				"no memory");
}

FM_CONTROL(residency_map, .word = "map", .args = "CELLS [FILE]",
	   .run = residency_map,
	   .help = "which pages are in memory, as JSON, in so many parts")
