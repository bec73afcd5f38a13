/* SPDX-License-Identifier: MIT */
#include "seen_fd.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/life.h"
#include "engine.h"
#include "policy.h"
#include "serve/serve.h"
#include "tunables.h"
#include "unserved.h"

#define FDS 4 /* size: that a thread has in mind */

static _Atomic uint32_t closed; /* how often descriptors have been */

/* again is 0 while the rest is not to be trusted: a signal handler of the
 * program may map in the middle. */
static _Thread_local struct seen {
	volatile uint32_t again;
	uint32_t closed;
	int fd;
	struct fm_unserved *left; /* NULL: it is outside */
	const struct fm_policy *policy; /* or NULL: see seen_fd.h */
	const struct fm_policy *among; /* of those that were read then */
	dev_t dev;
	ino_t ino;
	struct timespec changed;
} seen[FDS] __attribute__((tls_model("initial-exec")));

void fm_seen_fd_closed(void)
{
	atomic_fetch_add_explicit(&closed, 1, memory_order_relaxed);
}

static struct seen *seen_at(int fd)
{
	return &seen[(unsigned)fd % FDS];
}

/* Is it what it was? */
static bool is_same(const struct seen *s, int fd)
{
	return s->again && s->fd == fd && s->closed == atomic_load(&closed);
}

void fm_seen_fd_note(int fd, const struct stat *st, struct fm_unserved *l,
		     const struct fm_policy *p)
{
	struct seen *s = seen_at(fd);

	s->again = 0;
	if (!l && st->st_nlink > 1)
		return;
	atomic_signal_fence(memory_order_seq_cst);
	s->fd = fd;
	s->closed = atomic_load(&closed);
	s->left = l;
	s->policy = p;
	s->among = p ? fm_policy_default() : NULL;
	s->dev = st->st_dev;
	s->ino = st->st_ino;
	s->changed = st->st_ctim;
	atomic_signal_fence(memory_order_seq_cst);
	s->again = fm_tune.windows_unasked;
}

struct fm_unserved *fm_seen_fd_short(int fd, size_t len)
{
	struct seen *s = seen_at(fd);

	if (!is_same(s, fd) || !s->left || len > s->left->too_short)
		return NULL;
	s->again--;
	return s->left;
}

static bool is_of(const struct seen *s, const struct stat *st)
{
	return s->ino == st->st_ino && s->dev == st->st_dev;
}

bool fm_seen_fd_outside(int fd, const struct stat *st)
{
	struct seen *s = seen_at(fd);

	if (!is_same(s, fd) || s->left || !is_of(s, st) ||
	    s->changed.tv_sec != st->st_ctim.tv_sec ||
	    s->changed.tv_nsec != st->st_ctim.tv_nsec)
		return false;
	s->again--;
	return true;
}

/* Closed and opened again, by a program that maps a file for each thing that it
 * does, it is the same: unless it has the number of one that is gone. */
static bool is_again(struct seen *s, const struct stat *st)
{
	const uint32_t now = atomic_load(&closed);

	if (s->closed == now)
		return true;
	if (st->st_nlink > 1)
		return false;
	fm_serve_seen(st, s->fd);
	s->closed = now;
	return true;
}

/* A policy file that was read again has others, and a file that had another's
 * number has another note. */
const struct fm_policy *fm_seen_fd_policy(int fd, const struct stat *st)
{
	struct seen *s = seen_at(fd);

	if (!s->again || s->fd != fd || !s->policy || !is_of(s, st) ||
	    s->among != fm_policy_default() || !is_again(s, st) ||
	    !fm_unserved_stands(s->left))
		return NULL;
	s->again--;
	return s->policy;
}

/* What was seen has another number, or none. */
FM_LIFE(seen, .level = FM_LIFE_HELPERS, .forked = fm_seen_fd_closed)
