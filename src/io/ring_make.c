/* SPDX-License-Identifier: MIT */
/*
 * ring_make.c - io_urings whose memory lies where we want it.
 *
 * Linux 6.5 takes memory of ours (IORING_SETUP_NO_MMAP); up to 6.9 what is
 * longer than a page must be contiguous, which a huge page is. Up to 6.3 the
 * kernel's memory can be mapped at an address. What is left is mapped where the
 * kernel puts it.
 */
#include "base/fds.h"
#include "ring_priv.h"
#include "tunables.h"

#include <string.h>

#ifndef IORING_SETUP_NO_MMAP /* Linux 6.5 */
#define IORING_SETUP_NO_MMAP (1U << 14) /* ABI: 6.5 */
#endif
#define USER_ADDR 32 /* ABI: of sq_off and cq_off: `resv2` in older headers */
#define HEADER 512 /* size: before completions; the kernel's struct: 320 */

struct fm_home fm_home = { .lock = FM_LOCK(FM_RANK_HOME) };

FM_FAULT bool fm_rings_uring(void)
{
	return fm_home.on;
}

struct memory {
	char *rings, *sqes;
	size_t rings_size, sqes_size;
};

/* ---- what the kernel and we agree on ------------------------------------- */

static FM_FAULT void *ring_make_at(const struct memory *m, uint32_t off)
{
	return m->rings + off;
}

static FM_FAULT void ring_make_fill(struct io_uring *r, int fd,
				    const struct memory *m,
				    const struct io_uring_params *p)
{
	struct io_uring_sq *sq = &r->sq;
	struct io_uring_cq *cq = &r->cq;

	memset(r, 0, sizeof(*r));
	sq->khead = ring_make_at(m, p->sq_off.head);
	sq->ktail = ring_make_at(m, p->sq_off.tail);
	sq->kflags = ring_make_at(m, p->sq_off.flags);
	sq->kdropped = ring_make_at(m, p->sq_off.dropped);
	sq->array = ring_make_at(m, p->sq_off.array);
	sq->sqes = (void *)m->sqes;
	sq->ring_mask = p->sq_entries - 1;
	sq->ring_entries = p->sq_entries;
	cq->khead = ring_make_at(m, p->cq_off.head);
	cq->ktail = ring_make_at(m, p->cq_off.tail);
	cq->koverflow = ring_make_at(m, p->cq_off.overflow);
	cq->cqes = ring_make_at(m, p->cq_off.cqes);
	if (p->cq_off.flags)
		cq->kflags = ring_make_at(m, p->cq_off.flags);
	cq->ring_mask = p->cq_entries - 1;
	cq->ring_entries = p->cq_entries;
	sq->ring_ptr = cq->ring_ptr = m->rings;
	sq->ring_sz = cq->ring_sz = m->rings_size;
	for (uint32_t i = 0; i < p->sq_entries; i++)
		sq->array[i] = i;
	r->flags = p->flags;
	r->features = p->features;
	r->ring_fd = r->enter_ring_fd = fd;
}

static FM_FAULT void ring_make_drop(struct memory *m)
{
	if (m->rings)
		fm_sys_munmap(m->rings, m->rings_size);
	if (m->sqes)
		fm_sys_munmap(m->sqes, m->sqes_size);
}

/* ---- memory of ours ------------------------------------------------------ */

static FM_FAULT void ring_make_give(void *offsets, const void *mem)
{
	uint64_t addr = (uintptr_t)mem;

	memcpy((char *)offsets + USER_ADDR, &addr, sizeof(addr));
}

/* The child of fork gets none of it. */
static FM_FAULT int setup(unsigned entries, struct io_uring_params *p,
			  const struct memory *m)
{
	fm_sys_madvise(m->rings, m->rings_size, MADV_DONTFORK);
	fm_sys_madvise(m->sqes, m->sqes_size, MADV_DONTFORK);
	p->flags |= IORING_SETUP_NO_MMAP;
	ring_make_give(&p->cq_off, m->rings);
	ring_make_give(&p->sq_off, m->sqes);
	return (int)fm_sys2(SYS_io_uring_setup, entries, p);
}

static FM_FAULT int on_pages(unsigned entries, struct io_uring_params *p,
			     struct memory *m)
{
	int fd;

	m->rings = fm_sys_anon(m->rings_size);
	m->sqes = fm_sys_anon(m->sqes_size);
	fd = m->rings && m->sqes ? setup(entries, p, m) : -ENOMEM;
	if (fd < 0)
		ring_make_drop(m);
	return fd;
}

/* Each needs a part of one huge page; the rest of it is given back. */
static FM_FAULT int on_huge(unsigned entries, struct io_uring_params *p,
			    struct memory *m)
{
	char *mem = fm_sys_anon(2 * FM_HUGE), *begin, *end;
	size_t used = m->rings_size + m->sqes_size;
	int fd;

	if (!mem)
		return -ENOMEM;
	begin = (char *)(((uintptr_t)mem + FM_HUGE - 1) & ~(FM_HUGE - 1));
	end = begin + used;
	fm_sys_madvise(begin, FM_HUGE, MADV_HUGEPAGE);
	*(volatile char *)begin = 0;
	m->rings = begin;
	m->sqes = begin + m->rings_size;
	fd = setup(entries, p, m);
	if (fd < 0) {
		fm_sys_munmap(mem, 2 * FM_HUGE);
		return fd;
	}
	if (begin > mem)
		fm_sys_munmap(mem, (size_t)(begin - mem));
	fm_sys_munmap(end, (size_t)(mem + 2 * FM_HUGE - end));
	return fd;
}

/* ---- memory of the kernel's ---------------------------------------------- */

#define RW (PROT_READ | PROT_WRITE)

static FM_FAULT char *ring_make_map(int fd, size_t size, off_t off)
{
	char *far = fm_sys_far(size, PROT_NONE);
	void *p = (void *)-(intptr_t)ENOMEM;

	if ((uintptr_t)far < (uintptr_t)-4095) {
		fm_sys_munmap(far, size);
		p = fm_sys_mmap(far, size, RW, MAP_SHARED | MAP_POPULATE |
				MAP_FIXED_NOREPLACE, fd, off);
	}
	if ((uintptr_t)p >= (uintptr_t)-4095)
		p = fm_sys_mmap(NULL, size, RW, MAP_SHARED | MAP_POPULATE, fd,
				off);
	return (uintptr_t)p >= (uintptr_t)-4095 ? NULL : p;
}

static FM_FAULT int mapped(unsigned entries, struct io_uring_params *p,
			   struct memory *m)
{
	int fd = (int)fm_sys2(SYS_io_uring_setup, entries, p);

	if (fd < 0)
		return fd;
	m->rings_size = fm_page_up(p->cq_off.cqes +
				   p->cq_entries * sizeof(struct io_uring_cqe));
	if (m->rings_size < p->sq_off.array + p->sq_entries * sizeof(uint32_t))
		m->rings_size = fm_page_up(p->sq_off.array +
					   p->sq_entries * sizeof(uint32_t));
	m->sqes_size = fm_page_up(p->sq_entries * sizeof(struct io_uring_sqe));
	m->rings = ring_make_map(fd, m->rings_size, IORING_OFF_SQ_RING);
	m->sqes = ring_make_map(fd, m->sqes_size, (off_t)IORING_OFF_SQES);
	if (m->rings && m->sqes) {
		fm_sys_madvise(m->rings, m->rings_size, MADV_DONTFORK);
		fm_sys_madvise(m->sqes, m->sqes_size, MADV_DONTFORK);
		return fd;
	}
	ring_make_drop(m);
	fm_sys_close(fd);
	return -ENOMEM;
}

/* ---- making one -------------------------------------------------------- */

/* Completions wait for a system call of the thread instead of being announced
 * by an interrupt: who sleeps here makes one, who polls is told by a flag that
 * it is time for it (Linux 5.19). */
static const struct io_uring_params wanted = {
	.flags = IORING_SETUP_CLAMP | IORING_SETUP_COOP_TASKRUN |
		 IORING_SETUP_TASKRUN_FLAG,
};

typedef int (*maker)(unsigned entries, struct io_uring_params *p,
		     struct memory *m);

static FM_FAULT int make(struct io_uring *r, unsigned entries, maker how)
{
	struct io_uring_params p = wanted;
	struct memory m = {
		.rings_size = fm_page_up(HEADER + entries *
					 (2 * sizeof(struct io_uring_cqe) +
					  sizeof(uint32_t))),
		.sqes_size = fm_page_up(entries * sizeof(struct io_uring_sqe)),
	};
	int fd = how(entries, &p, &m);

	if (fd >= 0)
		ring_make_fill(r, fd, &m, &p);
	return fd < 0 ? fd : 0;
}

static int make_any(struct io_uring *r, unsigned entries)
{
	static const maker makers[] = { on_pages, on_huge, mapped };
	static _Atomic unsigned first; /* that works here */
	int err = -EINVAL;

	for (unsigned i = atomic_load(&first); err && i < 3; i++) {
		err = make(r, entries, makers[i]);
		if (!err)
			atomic_store(&first, i);
		else if (err == -EMFILE || err == -ENFILE || err == -EPERM ||
			 err == -ENOSYS)
			break;
	}
	return err;
}

/* entries: a power of two. A child that forks must not submit into our
 * rings. */
int fm_ring_create(struct io_uring *r, unsigned entries, uint32_t slots)
{
	struct io_uring_rsrc_register files = {
		.nr = slots,
		.flags = 1, /* IORING_RSRC_REGISTER_SPARSE */
	};
	int err = make_any(r, entries);

	if (err)
		return err;
	err = (int)fm_sys4(SYS_io_uring_register, r->ring_fd,
			   IORING_REGISTER_FILES2, &files, sizeof(files));
	if (err) {
		fm_sys_close(r->ring_fd);
		fm_ring_unmap(r);
		return err;
	}
	r->ring_fd = r->enter_ring_fd = fm_fd_raise(r->ring_fd);
	return 0;
}

FM_FAULT ino_t fm_ring_ino(const struct io_uring *r)
{
	struct stat st;

	return fm_sys_stat_notimes(r->ring_fd, &st) ? 0 : st.st_ino;
}

FM_FAULT bool fm_ring_is_other(const struct io_uring *r, ino_t was)
{
	const ino_t ino = fm_ring_ino(r);

	return ino && was && ino != was;
}

/* Only its maker may enter it, or its thread is gone: no ring of ours. */
static FM_FAULT bool is_refused(long err)
{
	return err == -EEXIST || err == -EOWNERDEAD;
}

/* Nothing may ever complete in another ring: a wait ends after a while. */
static FM_FAULT long enter(const struct io_uring *r, unsigned n, unsigned wait)
{
	struct __kernel_timespec most = {
		.tv_sec = fm_tune.moment_ms / 1000,
		.tv_nsec = fm_tune.moment_ms % 1000 * 1000000,
	};
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&most };
	unsigned flags = IORING_ENTER_GETEVENTS;

	if (!wait)
		return fm_sys6(SYS_io_uring_enter, r->ring_fd, n, 0, 0, 0, 0);
	if (!(r->features & IORING_FEAT_EXT_ARG))
		return fm_sys6(SYS_io_uring_enter, r->ring_fd, n, wait, flags,
			       0, 0);
	flags |= IORING_ENTER_EXT_ARG;
	return fm_sys6(SYS_io_uring_enter, r->ring_fd, n, wait, flags,
		       (long)&arg, sizeof(arg));
}

FM_FAULT long fm_ring_enter(struct io_uring *r, ino_t ino, unsigned wait)
{
	struct io_uring_sq *sq = &r->sq;
	const unsigned head = __atomic_load_n(sq->khead, __ATOMIC_ACQUIRE);
	const unsigned left = sq->sqe_tail - head;
	long n;

	sq->sqe_head = sq->sqe_tail;
	__atomic_store_n(sq->ktail, sq->sqe_tail, __ATOMIC_RELEASE);
	n = enter(r, left, wait);
	if (n == -ETIME)
		return fm_ring_is_other(r, ino) ? -EBADF : 0;
	if (n >= 0 && left &&
	    __atomic_load_n(sq->khead, __ATOMIC_ACQUIRE) == head)
		return -EBADF;
	return is_refused(n) ? -EBADF : n;
}

FM_FAULT void fm_ring_unmap(struct io_uring *r)
{
	struct memory m = {
		.rings = r->sq.ring_ptr,
		.rings_size = r->sq.ring_sz,
		.sqes = (char *)r->sq.sqes,
		.sqes_size = fm_page_up(r->sq.ring_entries *
					sizeof(struct io_uring_sqe)),
	};

	ring_make_drop(&m);
}
