/* SPDX-License-Identifier: MIT */
#include "inflight_io.h"

#include <sys/stat.h>

#include "base/file_part.h"
#include "base/life.h"
#include "base/pause.h"
#include "base/sys.h"
#include "base/types.h"
#include "engine.h"
#include "io/io.h"
#include "tunables.h"
#include "wb_errseq.h"

FM_FILE_PART(calls)

#define PROBES 8 /* size: of the table */

/*
 * Who is in it: thread id, descriptor + 1, calls that had closed one like it;
 * 0: free. In one word, so that who finds a thread dead takes its slot and no
 * other, and who looks sees what belongs together. The kernel's thread ids have
 * 22 bits at most. That the number of closes comes round to the same within one
 * call takes 2^24 of them.
 */
#define CLOSES_BITS 24 /* bits: of a slot */
#define FD_BITS 18 /* bits: of a slot */
#define ANY_FD ((1u << FD_BITS) - 1) /* bits: too large to be told */

struct slot {
	_Atomic uint64_t owner;
	char pad[FM_CACHELINE - sizeof(uint64_t)];
};
struct calls {
	struct slot slots[FM_READS_FULL];
	_Atomic unsigned crowd; /* without a slot, of files */
};
static struct calls reads, writes;
static _Atomic unsigned stored; /* files */
static _Atomic unsigned full;   /* times that no slot was found */
static _Thread_local uint32_t tid __attribute__((tls_model("initial-exec")));

/* By descriptor; the last is of calls that close many. */
#define KINDS 256
static struct {
	_Atomic uint32_t begun, ended;
} closes[KINDS + 1];

static FM_FAULT uint32_t inflight_io_kind_of(int fd)
{
	return fd == FM_ALL_FDS ? KINDS : (uint32_t)fd % KINDS;
}

void fm_close_begins(int fd)
{
	atomic_fetch_add(&closes[inflight_io_kind_of(fd)].begun, 1);
}

void fm_close_ends(int fd)
{
	atomic_fetch_add(&closes[inflight_io_kind_of(fd)].ended, 1);
}

static uint64_t inflight_io_owner_of(int fd)
{
	uint32_t number = (uint32_t)fd + 1, n;

	if (!tid)
		tid = (uint32_t)fm_sys_gettid();
	if (number > ANY_FD)
		number = ANY_FD;
	n = atomic_load(&closes[inflight_io_kind_of(fd)].ended) +
	    atomic_load(&closes[KINDS].ended);
	return (uint64_t)tid << (FD_BITS + CLOSES_BITS) |
	       (uint64_t)number << CLOSES_BITS |
	       (n & ((1u << CLOSES_BITS) - 1));
}

static FM_FAULT uint32_t tid_of(uint64_t owner)
{
	return (uint32_t)(owner >> (FD_BITS + CLOSES_BITS));
}

static FM_FAULT uint32_t number_of(uint64_t owner)
{
	return (uint32_t)(owner >> CLOSES_BITS) & ANY_FD;
}

static FM_FAULT bool was_closed(uint64_t owner)
{
	int fd = (int)number_of(owner) - 1;
	uint32_t n = atomic_load(&closes[inflight_io_kind_of(fd)].begun) +
		     atomic_load(&closes[KINDS].begun);

	return (n - (uint32_t)owner) & ((1u << CLOSES_BITS) - 1);
}

/* A thread that was cancelled, or left by pthread_exit from a signal handler,
 * has not left its slot. */
static FM_FAULT bool died(struct slot *s, uint64_t owner)
{
	return fm_sys_ended((int)tid_of(owner)) &&
	       atomic_compare_exchange_strong(&s->owner, &owner, 0);
}

static void inflight_io_search(struct slot *slots)
{
	for (unsigned i = 0; i < FM_READS_FULL; i++) {
		uint64_t owner = atomic_load(&slots[i].owner);

		if (owner)
			died(&slots[i], owner);
	}
}

/* Pipes and sockets may block many for long. */
static unsigned crowd_enter(struct calls *c, int fd)
{
	struct stat st;

	if (atomic_fetch_add(&full, 1) % FM_READS_FULL == 0)
		inflight_io_search(c->slots);
	if (fm_sys_stat_notimes(fd, &st) || !S_ISREG(st.st_mode))
		return FM_CALL_OTHER;
	atomic_fetch_add(&c->crowd, 1);
	return FM_READS_FULL;
}

static unsigned slot_enter(struct calls *c, int fd)
{
	static _Thread_local unsigned last
		__attribute__((tls_model("initial-exec")));
	const uint64_t me = inflight_io_owner_of(fd);
	unsigned i = last ? last : tid * 7u;

	for (unsigned tries = 0; tries < PROBES; tries++, i++) {
		uint64_t none = 0;

		i %= FM_READS_FULL;
		if (atomic_load_explicit(&c->slots[i].owner,
					 memory_order_relaxed) ||
		    !atomic_compare_exchange_strong(&c->slots[i].owner, &none,
						    me))
			continue;
		last = i;
		return i;
	}
	return crowd_enter(c, fd);
}

unsigned fm_read_slot(int fd)
{
	return slot_enter(&reads, fd);
}

unsigned fm_write_slot(int fd)
{
	return slot_enter(&writes, fd);
}

static void slot_leave(struct calls *c, unsigned slot)
{
	if (slot < FM_READS_FULL)
		atomic_store_explicit(&c->slots[slot].owner, 0,
				      memory_order_release);
	else if (slot == FM_READS_FULL)
		atomic_fetch_sub(&c->crowd, 1);
}

void fm_read_leave(unsigned slot)
{
	slot_leave(&reads, slot);
}

void fm_write_leave(unsigned slot)
{
	slot_leave(&writes, slot);
}

/* The descriptor is looked at first: one that is another file by then was
 * closed before. Of a confined program nothing is asked. */
static FM_FAULT bool inflight_io_may_be(uint64_t owner, dev_t dev, ino_t ino)
{
	struct stat st;

	if (number_of(owner) == ANY_FD || fm_sys_confined() ||
	    fm_sys_which((int)number_of(owner) - 1, &st))
		return true;
	return (st.st_ino == ino && st.st_dev == dev) || was_closed(owner);
}

static FM_FAULT bool inflight_io_in_flight(struct calls *c, dev_t dev,
					   ino_t ino)
{
	if (atomic_load(&c->crowd))
		return true;
	for (unsigned i = 0; i < FM_READS_FULL; i++) {
		uint64_t owner = atomic_load(&c->slots[i].owner);

		if (owner && inflight_io_may_be(owner, dev, ino) &&
		    (fm_sys_confined() || !died(&c->slots[i], owner)))
			return true;
	}
	return false;
}

bool fm_writes_wait(const struct stat *st)
{
	const struct fm_wait w = fm_wait_for(fm_tune.moment_ms);

	while (inflight_io_in_flight(&writes, st->st_dev, st->st_ino))
		if (!fm_wait_on(&w))
			return false;
	return true;
}

bool fm_inflight_any_stored(void)
{
	return atomic_load(&stored);
}

FM_FAULT void fm_inflight_stored(struct fm_file *f)
{
	bool not_yet = false;

	atomic_fetch_add(&stored, 1);
	if (!atomic_compare_exchange_strong(&f->calls->stored, &not_yet, true))
		atomic_fetch_sub(&stored, 1);
}

void fm_inflight_forget(struct fm_file *f)
{
	if (atomic_exchange(&f->calls->stored, false))
		atomic_fetch_sub(&stored, 1);
}

/* Several may look at the same time: who writes directly has found nothing, or
 * sees that another one has found nothing. */
FM_FAULT bool fm_inflight_allow_direct(struct fm_file *f)
{
	if (!fm_store_of(f)->direct || atomic_load(&f->wb->buffered))
		return false;
	if (!atomic_load(&f->calls->reads_over)) {
		if (inflight_io_in_flight(&reads, f->dev, f->ino))
			atomic_store(&f->wb->buffered, true);
		else
			atomic_store(&f->calls->reads_over, true);
	}
	return !atomic_load(&f->wb->buffered);
}

static void inflight_io_empty(struct calls *c)
{
	atomic_store(&c->crowd, 0);
	for (unsigned i = 0; i < FM_READS_FULL; i++)
		if (atomic_load(&c->slots[i].owner))
			atomic_store(&c->slots[i].owner, 0);
}

static void inflight_io_forked(void)
{
	atomic_store(&stored, 0);
	tid = 0;
	inflight_io_empty(&reads);
	inflight_io_empty(&writes);
	for (unsigned i = 0; i <= KINDS; i++) {
		atomic_store(&closes[i].begun, 0);
		atomic_store(&closes[i].ended, 0);
	}
}

FM_LIFE(inflight_io, .level = FM_LIFE_IO, .forked = inflight_io_forked)
