/* SPDX-License-Identifier: MIT */
#include "inflight_io.h"

#include <sys/stat.h>

#include "base/life.h"
#include "base/sys.h"
#include "base/types.h"
#include "engine.h"
#include "file/file.h"

#define PROBES 8

#define PATIENCE_MS 200
#define SEARCH_EVERY 64

/* Who is in it: thread id, descriptor + 1. 0: free. In one word, so that who
 * finds a thread dead takes its slot and no other. */
struct slot {
	_Atomic uint64_t owner;
	char pad[FM_CACHELINE - sizeof(uint64_t)];
};
static struct slot reads[FM_READS_FULL], writes[FM_READS_FULL];
static _Atomic unsigned crowd;  /* writes without a slot */
static _Atomic unsigned stored; /* files */
static _Atomic unsigned full;   /* times that no slot was found */
static _Thread_local uint32_t tid __attribute__((tls_model("initial-exec")));

static int fd_of(uint64_t owner)
{
	return (int)(uint32_t)owner - 1;
}

/* A thread that was cancelled, or left by pthread_exit from a signal handler,
 * has not left its slot. */
static bool died(struct slot *s, uint64_t owner)
{
	return fm_sys3(SYS_tgkill, fm_sys_getpid(), owner >> 32, 0) ==
		       -ESRCH &&
	       atomic_compare_exchange_strong(&s->owner, &owner, 0);
}

static void search(struct slot *slots)
{
	for (unsigned i = 0; i < FM_READS_FULL; i++) {
		uint64_t owner = atomic_load(&slots[i].owner);

		if (owner)
			died(&slots[i], owner);
	}
}

static unsigned enter(struct slot *slots, int fd)
{
	static _Thread_local unsigned last
		__attribute__((tls_model("initial-exec")));
	uint64_t me;
	unsigned i;

	/* No other thread has a call in flight, nor finds ours; and nothing is asked of the
	 * kernel: a child that has confined itself may write, and no more. */
	if (!fm_active() && !atomic_load_explicit(&fm_threads,
						   memory_order_relaxed))
		return FM_WRITE_OTHER;
	if (!tid)
		tid = (uint32_t)fm_sys_gettid();
	me = (uint64_t)tid << 32 | (uint32_t)(fd + 1);
	i = last ? last : tid * 7u;
	for (unsigned tries = 0; tries < PROBES; tries++, i++) {
		uint64_t none = 0;

		i %= FM_READS_FULL;
		if (atomic_load_explicit(&slots[i].owner,
					 memory_order_relaxed) ||
		    !atomic_compare_exchange_strong(&slots[i].owner, &none, me))
			continue;
		last = i;
		return i;
	}
	if (atomic_fetch_add(&full, 1) % SEARCH_EVERY == 0)
		search(slots);
	return FM_READS_FULL;
}

unsigned fm_read_enter(int fd)
{
	return enter(reads, fd);
}

unsigned fm_write_enter(int fd)
{
	unsigned slot = enter(writes, fd);
	struct stat st;

	if (slot != FM_READS_FULL)
		return slot;
	/* Pipes and sockets may block many for long. */
	if (fm_sys_look(fd, &st) || !S_ISREG(st.st_mode))
		return FM_WRITE_OTHER;
	atomic_fetch_add(&crowd, 1);
	return slot;
}

static void leave(struct slot *s)
{
	atomic_store_explicit(&s->owner, 0, memory_order_release);
}

void fm_read_leave(unsigned slot)
{
	if (slot < FM_READS_FULL)
		leave(&reads[slot]);
}

void fm_write_leave(unsigned slot)
{
	if (slot < FM_READS_FULL)
		leave(&writes[slot]);
	else if (slot == FM_READS_FULL)
		atomic_fetch_sub(&crowd, 1);
}

static bool in_flight(struct slot *slots, const struct stat *st)
{
	for (unsigned i = 0; i < FM_READS_FULL; i++) {
		uint64_t owner = atomic_load(&slots[i].owner);

		if (owner &&
		    fm_sys_is_file(fd_of(owner), st->st_dev, st->st_ino) &&
		    !died(&slots[i], owner))
			return true;
	}
	return false;
}

bool fm_writes_wait(const struct stat *st)
{
	const struct timespec pause = { 0, 100000 };
	uint64_t begin = fm_now_ms();

	while (atomic_load(&crowd) || in_flight(writes, st)) {
		if (fm_now_ms() - begin > PATIENCE_MS)
			return false;
		fm_sys_sleep(&pause);
	}
	return true;
}

bool fm_reads_look(void)
{
	return atomic_load(&stored) || atomic_load(&fm_fork_touch_file);
}

bool fm_reads_stored(const struct stat *st)
{
	/* Before the look at the slots: who enters after it sees this. */
	atomic_fetch_add(&stored, 1);
	return in_flight(reads, st);
}

void fm_reads_forget(void)
{
	atomic_fetch_sub(&stored, 1);
}

static void forked(void)
{
	atomic_store(&stored, 0);
	atomic_store(&crowd, 0);
	tid = 0;
	for (unsigned i = 0; i < FM_READS_FULL; i++) {
		atomic_store(&reads[i].owner, 0);
		atomic_store(&writes[i].owner, 0);
	}
}

/* ---- what becomes of files ------------------------------------------------ */

static bool now_stored(struct fm_file *f, const struct stat *st)
{
	return fm_reads_stored(st);
}

static void closed(struct fm_file *f)
{
	if (f->writable)
		fm_reads_forget();
}

static struct fm_file_observer observer = {
	.writable = now_stored,
	.closed = closed,
};

__attribute__((constructor)) static void observe(void)
{
	fm_file_observe(&observer);
}

FM_LIFE(inflight_io, .level = FM_LIFE_IO, .forked = forked)
