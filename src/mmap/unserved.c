/* SPDX-License-Identifier: MIT */
#include "unserved.h"

#include <string.h>
#include <sys/mman.h>

#include "base/life.h"
#include "base/lock.h"
#include "base/log.h"
#include "engine.h"

static struct fm_unserved table[FM_LEFT_FILES];
static _Atomic unsigned used;
static _Atomic uint64_t no_room; /* mappings that have no entry */
static _Atomic size_t longest;
static struct fm_lock lock = FM_LOCK(FM_RANK_UNSERVED);

/* NULL when there is none: in a child of fork those of its parent are free, or
 * another file's, and so they are where the file has gone. */
static struct fm_unserved *unserved_of(const struct fm_serve_entry *c)
{
	struct fm_unserved *l = c ? atomic_load(&c->left) : NULL;

	return l && l->of == c && l->file == atomic_load(&c->file) ? l : NULL;
}

static struct fm_unserved *unserved_find(dev_t dev, ino_t ino)
{
	return unserved_of(fm_serve_find(dev, ino));
}

/* NULL when it is new and the table is full. */
static struct fm_unserved *unserved_make(const struct stat *st)
{
	struct fm_serve_entry *c = fm_serve_of(st->st_dev, st->st_ino);

	if (c && !unserved_of(c) && used < FM_LEFT_FILES) {
		table[used].of = c;
		table[used].file = atomic_load(&c->file);
		atomic_store(&c->left, &table[used++]);
	}
	return unserved_of(c);
}

/* True: it is a new one. */
static bool add_reason(struct fm_unserved *l, unsigned n,
		       enum fm_server_reason why)
{
	bool is_new;
	unsigned i = 0;

	while (i < FM_LEFT_REASONS - 1 && l->reason[i].why &&
	       l->reason[i].why != why)
		i++;
	is_new = l->reason[i].why != why;
	if (!l->reason[i].why)
		l->reason[i].why = why;
	else if (is_new)
		l->reason[i].why = FM_WHY_OTHERS;
	l->reason[i].n += n;
	return is_new;
}

static bool unserved_add(struct fm_unserved *l, unsigned n, size_t len,
			bool shared, bool writable, enum fm_server_reason why)
{
	l->shared += shared ? n : 0;
	l->writable += writable ? n : 0;
	l->bytes += n * len;
	if (len > l->largest)
		l->largest = len;
	l->mappings += n;
	return add_reason(l, n, why);
}

struct fm_unserved *fm_unserved_short_before(const struct stat *st, size_t len)
{
	struct fm_unserved *l = unserved_find(st->st_dev, st->st_ino);

	return l && len <= l->too_short && fm_serve_unchanged(l->of, st) ?
		       l :
		       NULL;
}

size_t fm_unserved_longest(void)
{
	return atomic_load_explicit(&longest, memory_order_relaxed);
}

void fm_unserved_again(struct fm_unserved *l, size_t len, int prot, int flags)
{
	unserved_add(l, 1, len, (flags & MAP_TYPE) != MAP_PRIVATE,
		     prot & PROT_WRITE, FM_WHY_SHORT);
}

void fm_unserved_unseen(void)
{
	atomic_fetch_add_explicit(&no_room, 1, memory_order_relaxed);
}

static void unserved_set_file(struct fm_unserved *l, const struct stat *st,
			     const char *path)
{
	const size_t len = strnlen(path, sizeof(l->path) - 1);

	l->size = st->st_size;
	if (!len)
		return;
	memcpy(l->path, path, len);
	l->path[len] = 0;
}

/* True: for a reason that is new. */
static bool unserved_note(struct fm_unserved *l, const struct stat *st,
			 const struct fm_left *left)
{
	bool is_new;

	unserved_set_file(l, st, left->path);
	l->last = left->why;
	/* advised is more than being left alone */
	if (l->served.by != FM_BY_ADVISED || left->by == FM_BY_NOBODY)
		fm_served_begin(&l->served, left->by, left->why);
	if (left->by)
		atomic_store(&l->of->vetoes, fm_server_reason_veto(left->why));
	is_new = unserved_add(l, left->n, left->len, left->shared,
			      left->writable, left->why);
	/* from now on it is counted without the lock */
	if (left->why == FM_WHY_SHORT && left->len > l->too_short)
		l->too_short = left->len;
	if (l->too_short > longest)
		longest = l->too_short;
	return is_new;
}

struct fm_unserved *fm_unserved_note(const struct stat *st,
				     const struct fm_left *left)
{
	struct fm_unserved *l;
	bool is_new = false;

	fm_lock(&lock);
	l = unserved_make(st);
	if (l)
		is_new = unserved_note(l, st, left);
	else
		no_room++;
	fm_unlock(&lock);
	if (is_new)
		fm_server_reason_left(*left->path ? left->path : l->path,
				      st->st_dev, st->st_ino, left->why);
	return l;
}

bool fm_unserved_stands(const struct fm_unserved *l)
{
	return unserved_of(l->of) == l;
}

void fm_unserved_by(dev_t dev, ino_t ino, enum fm_served_by by)
{
	struct fm_unserved *l;

	if (!fm_unserved_any())
		return;
	fm_lock(&lock);
	l = unserved_find(dev, ino);
	if (l && (by || l->served.by))
		fm_served_begin(&l->served, by, FM_WHY_NONE);
	fm_unlock(&lock);
}

uint64_t fm_unserved_each(void (*each)(const struct fm_unserved *l, void *arg),
		      void *arg)
{
	FM_HOLD(&lock);
	for (unsigned i = 0; i < used; i++)
		each(&table[i], arg);
	return no_room;
}

void fm_unserved_path(dev_t dev, ino_t ino, char ret[256])
{
	const struct fm_unserved *l;

	FM_HOLD(&lock);
	l = unserved_find(dev, ino);
	memcpy(ret, l ? l->path : "", l ? sizeof(l->path) : 1);
}

static void unserved_add_served(const struct fm_unserved *l, void *arg)
{
	fm_served_add(arg, &l->served);
}

void fm_unserved_served(struct fm_served *sum)
{
	fm_unserved_each(unserved_add_served, sum);
}

bool fm_unserved_any(void)
{
	return atomic_load(&used);
}

struct sums {
	uint64_t files, mappings, bytes, engaged_files, engaged;
};

static void add_sums(const struct fm_unserved *l, void *arg)
{
	struct sums *s = arg;

	s->files++;
	s->mappings += l->mappings;
	s->bytes += l->bytes;
	for (unsigned i = 0; i < FM_LEFT_REASONS; i++) {
		if (l->reason[i].why != FM_WHY_OBSERVED)
			continue;
		s->engaged_files++;
		s->engaged += l->reason[i].n;
	}
}

void fm_unserved_report(void)
{
	struct sums s = { 0 };
	const uint64_t more = fm_unserved_each(add_sums, &s);

	fm_log(FM_LOG_WARN,
	       "observe: would have served %lu of %lu mappings (%lu MiB "
	       "mapped), %lu of %lu files%s; FASTMAP_STATS lists them",
	       s.engaged, s.mappings + more, s.bytes >> 20, s.engaged_files,
	       s.files, more ? ", and more files" : "");
}

void fm_unserved_unlock(void)
{
	fm_lock_reset(&lock);
}

static void unserved_forked(void)
{
	fm_lock_reset(&lock);
	if (atomic_load(&used))
		fm_sys_clear(table, sizeof(table));
	atomic_store(&used, 0);
	atomic_store(&longest, 0);
	atomic_store(&no_room, 0);
}

FM_LIFE(skipped, .level = FM_LIFE_HELPERS, .forked = unserved_forked)
