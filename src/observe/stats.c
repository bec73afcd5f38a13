/* SPDX-License-Identifier: MIT */
/* stats.c - counting. */
#include "observe.h"
#include "stats.h"

#include <string.h>

#include "base/life.h"
#include "base/lock.h"
#include "file/file.h"
#include "mmap/mmap.h"
#include "stats_priv.h"

/* Pieces of a table are made when they are wanted, and stay: the guardian reads
 * them. */
#define PIECE 64
#define PIECES (FM_MAX_FILES / PIECE)
static struct fm_retired *piece[PIECES];
FM_INODE_TABLE(retired_by_inode, 10);
static unsigned kept;
static uint64_t unkept; /* files for which there was no room */
static struct fm_file_stats retired_sum;
static struct fm_lock lock;
static uint64_t load_ms;

static struct fm_retired *stats_find(dev_t dev, ino_t ino, uint64_t born)
{
	struct fm_by_inode *l = fm_inode_first(&retired_by_inode, dev, ino);

	while (l && born && FM_INODE_OF(l, struct fm_retired)->born != born)
		l = fm_inode_next(l);
	return l ? FM_INODE_OF(l, struct fm_retired) : NULL;
}

/* Who has confined itself may be ended for asking for memory. */
static struct fm_retired *new_piece(void)
{
	static struct fm_retired first[PIECE];

	if (!kept)
		return first;
	return fm_sys_confined() ? NULL :
				   fm_sys_anon(PIECE * sizeof(first[0]));
}

/* NULL: no room. */
static struct fm_retired *new_entry(const struct fm_file *f)
{
	struct fm_retired **of = &piece[kept / PIECE % PIECES];
	struct fm_retired *r;

	if (kept < FM_MAX_FILES && !*of)
		*of = new_piece();
	if (kept == FM_MAX_FILES || !*of)
		return NULL;
	r = &(*of)[kept++ % PIECE];
	memset(r, 0, sizeof(*r));
	r->dev = f->dev;
	r->ino = f->ino;
	r->born = f->born;
	fm_inode_add(&retired_by_inode, &r->link);
	return r;
}

/* The changes of its server are those of the last time. */
static void stats_add_served(struct fm_served *to, const struct fm_served *from)
{
	const struct fm_served before = *to;

	fm_served_read(from, to);
	to->by = FM_BY_NOBODY;
	for (unsigned i = 0; i < FM_BYS; i++)
		to->ms[i] += before.ms[i];
}

static void stats_note(struct fm_retired *r, struct fm_file *f)
{
	const enum fm_server_reason why = atomic_load(&f->st->demote_why);

	memcpy(r->path, f->path, sizeof(r->path));
	r->size = atomic_load(&f->size);
	fm_stats_add(&r->st, f->st);
	if (why)
		atomic_store(&r->st.demote_why, why);
	stats_add_served(&r->st.served, &f->st->served);
}

static void retire(struct fm_file *f)
{
	struct fm_retired *r;

	FM_HOLD(&lock);
	r = stats_find(f->dev, f->ino, f->born);
	if (!r)
		r = new_entry(f);
	if (r)
		stats_note(r, f);
	else
		unkept++;
	fm_stats_sum(&retired_sum, f->st);
}

bool fm_stats_was_retired(dev_t dev, ino_t ino, uint64_t born)
{
	FM_HOLD(&lock);
	return stats_find(dev, ino, born);
}

FM_UP(file_closed, retire)

/* Before libc's clock has been found: the kernel's own is asked once here, and
 * the vDSO, two pages away, not at all. */
__attribute__((constructor(101))) static void stats_begin(void)
{
	load_ms = fm_now_ms();
}

uint64_t fm_stats_retired(struct fm_file_stats *sum,
			  void (*each)(const struct fm_retired *r, void *arg),
			  void *arg)
{
	uint64_t n;

	FM_HOLD(&lock);
	n = kept + unkept;
	fm_stats_sum(sum, &retired_sum);
	for (unsigned i = 0; each && i < kept; i++)
		each(&piece[i / PIECE][i % PIECE], arg);
	return n;
}

void fm_stats_closed(struct fm_file_stats *sum)
{
	fm_stats_retired(sum, NULL, NULL);
}

static void stats_forked(void)
{
	fm_lock_reset(&lock);
	load_ms = fm_now_ms();
	kept = 0;
	unkept = 0;
	fm_inode_clear(&retired_by_inode);
	memset(&retired_sum, 0, sizeof(retired_sum));
}

void fm_stats_unlock(void)
{
	fm_lock_reset(&lock);
}

uint64_t fm_stats_uptime_ms(void)
{
	return fm_now_ms() - load_ms;
}

/* ---- what follows from the counts -------------------------------------- */

static uint64_t stats_share(uint64_t part, uint64_t whole, uint64_t unit)
{
	return whole ? part * unit / whole : 0;
}

/* What a chunk of readahead answers is no other count's. */
static uint64_t from_chunks(const struct fm_file_stats *st)
{
	return atomic_load(&st->hits_ahead) + atomic_load(&st->hits_standby);
}

uint64_t fm_stats_faults(const struct fm_file_stats *st)
{
	return from_chunks(st) + atomic_load(&st->faults_read) +
	       atomic_load(&st->faults_write) + atomic_load(&st->faults_wp);
}

uint64_t fm_stats_hits(const struct fm_file_stats *st)
{
	const uint64_t hits = from_chunks(st) + atomic_load(&st->hits_alias);
	const uint64_t all = fm_stats_faults(st) - atomic_load(&st->faults_wp);

	/* counted one after the other: a fault may be in between */
	return stats_share(hits < all ? hits : all, all, 100000);
}

uint64_t fm_stats_amplification(const struct fm_file_stats *st)
{
	const uint64_t read = atomic_load(&st->load_bytes);
	const uint64_t waste = atomic_load(&st->ahead_waste) * FM_PAGE;

	return stats_share(read, waste < read ? read - waste : FM_PAGE, 1000);
}

bool fm_stats_managed(void)
{
	struct fm_file *f;

	if (kept || unkept)
		return true;
	fm_for_each_file(f, id)
		return true;
	return false;
}

FM_LIFE(stats, .level = FM_LIFE_RUNNING, .forked = stats_forked)
