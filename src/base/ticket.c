/* SPDX-License-Identifier: MIT */
#include "ticket.h"

#include <errno.h>
#include <sys/eventfd.h>

#include "fds.h"
#include "life.h"
#include "sys.h"

#define SLOT_SHIFT 6 /* bits: of FM_TICKETS */

enum { NO_FD }; /* 0 is never a number of ours */

/* `uses` moves when a ticket begins, and when it is over: odd between. */
static struct slot {
	_Atomic uint32_t uses; /* futex */
	_Atomic uint32_t left, sleepers;
	_Atomic int fd; /* NO_FD, or to be told when it is over */
} slots[FM_TICKETS];
static _Atomic uint64_t taken; /* mask */

static struct slot *slot_of(uint64_t ticket)
{
	return &slots[ticket % FM_TICKETS];
}

static uint64_t number(unsigned k)
{
	return (uint64_t)atomic_load(&slots[k].uses) << SLOT_SHIFT | k;
}

uint64_t fm_ticket_take(uint64_t *ret_mask)
{
	uint64_t was = atomic_load(&taken), bit;
	unsigned k;

	do {
		if (was == UINT64_MAX) {
			*ret_mask = 0;
			return 0;
		}
		k = (unsigned)__builtin_ctzll(~was);
		bit = (uint64_t)1 << k;
	} while (!atomic_compare_exchange_weak(&taken, &was, was | bit));
	atomic_store(&slots[k].left, 1);
	atomic_fetch_add(&slots[k].uses, 1);
	*ret_mask = bit;
	return number(k);
}

FM_FAULT void fm_ticket_add(uint64_t mask)
{
	for (; mask; mask &= mask - 1)
		atomic_fetch_add(&slots[__builtin_ctzll(mask)].left, 1);
}

static FM_FAULT void tell(struct slot *s)
{
	const uint64_t one = 1;
	const int fd = atomic_exchange(&s->fd, NO_FD);

	if (fd == NO_FD)
		return;
	if (fm_fd_still_ours(fd))
		fm_sys3(SYS_write, fd, &one, sizeof(one));
	fm_fd_drop(fd);
}

/* A descriptor may come until `uses` has moved, and after it whoever brings it
 * sees that (fm_ticket_fd). */
static FM_FAULT void ticket_over(unsigned k)
{
	struct slot *s = &slots[k];

	atomic_fetch_add(&s->uses, 1);
	tell(s);
	if (atomic_load(&s->sleepers))
		fm_futex_wake(&s->uses, INT32_MAX);
	atomic_fetch_and(&taken, ~((uint64_t)1 << k));
}

FM_FAULT void fm_ticket_drop(uint64_t mask)
{
	for (; mask; mask &= mask - 1) {
		const unsigned k = (unsigned)__builtin_ctzll(mask);

		if (atomic_fetch_sub(&slots[k].left, 1) == 1)
			ticket_over(k);
	}
}

int fm_ticket_over(uint64_t ticket)
{
	const uint32_t uses = (uint32_t)(ticket >> SLOT_SHIFT);
	const uint32_t now = atomic_load(&slot_of(ticket)->uses);

	if (!ticket)
		return 1;
	return uses % 2 && (int32_t)(now - uses) >= 0 ? now != uses : -EINVAL;
}

unsigned fm_ticket_count(void)
{
	return (unsigned)__builtin_popcountll(atomic_load(&taken));
}

static int sleep_until(struct slot *s, uint32_t uses, uint64_t end_ns)
{
	const uint64_t now = end_ns ? fm_now_ns() : 0;
	struct timespec t;
	int err;

	if (end_ns && now >= end_ns)
		return -ETIMEDOUT;
	t.tv_sec = (time_t)((end_ns - now) / 1000000000);
	t.tv_nsec = (long)((end_ns - now) % 1000000000);
	atomic_fetch_add(&s->sleepers, 1);
	err = fm_futex_wait(&s->uses, uses, end_ns ? &t : NULL);
	atomic_fetch_sub(&s->sleepers, 1);
	return err == -EINTR ? err : 0;
}

int fm_ticket_wait(uint64_t ticket, int ms)
{
	const uint64_t end = ms < 0 ? 0 :
			     fm_now_ns() + (uint64_t)ms * 1000000;
	int over = fm_ticket_over(ticket), err = 0;

	while (!over && !err) {
		err = sleep_until(slot_of(ticket),
				  (uint32_t)(ticket >> SLOT_SHIFT), end);
		over = fm_ticket_over(ticket);
	}
	return over < 0 ? over : over ? 0 : err;
}

/* Ours tells, whatever becomes of the program's number. */
static int ticket_fd_lend(struct slot *s, int fd, uint64_t ticket)
{
	int ours = (int)fm_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0);
	int none = NO_FD;

	ours = ours < 0 ? ours : fm_fd_raise(ours);
	if (ours < 0)
		return ours;
	if (!atomic_compare_exchange_strong(&s->fd, &none, ours)) {
		fm_fd_drop(ours);
		return -EBUSY;
	}
	if (fm_ticket_over(ticket))
		tell(s);
	return 0;
}

int fm_ticket_fd(uint64_t ticket)
{
	const int over = fm_ticket_over(ticket);
	int fd, err = 0;

	if (over < 0)
		return over;
	fd = (int)fm_sys2(SYS_eventfd2, over, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd >= 0 && !over)
		err = ticket_fd_lend(slot_of(ticket), fd, ticket);
	if (!err)
		return fd;
	fm_sys_close(fd);
	return err;
}

/* What the parent waits for is not done here. */
static void ticket_forked(void)
{
	for (unsigned k = 0; k < FM_TICKETS; k++) {
		const int fd = atomic_exchange(&slots[k].fd, NO_FD);

		if (fd != NO_FD)
			fm_fd_drop(fd);
		if (atomic_load(&slots[k].uses) % 2)
			atomic_fetch_add(&slots[k].uses, 1);
		atomic_store(&slots[k].left, 0);
		atomic_store(&slots[k].sleepers, 0);
	}
	atomic_store(&taken, 0);
}

FM_LIFE(ticket, .level = FM_LIFE_GATE, .forked = ticket_forked)
