/* SPDX-License-Identifier: MIT */
#include "creds.h"

#include <linux/capability.h>
#include <string.h>

#include "engine.h"
#include "lock.h"
#include "log.h"
#include "sys.h"
#include "thread.h"

#define GROUPS 65536 /* NGROUPS_MAX */

struct creds {
	uint32_t uid[3], gid[3]; /* real, effective, saved */
	bool caps_too;
	struct __user_cap_data_struct caps[2];
	uint32_t lost[2]; /* capabilities that one of several threads gave up */
	long ngroups;
	uint32_t *groups;
};

/* `orders`: one at a time, while it is waited for. `lock`: around what is asked
 * for, which a thread that comes late may still read. */
static struct fm_lock orders = FM_LOCK(FM_RANK_HEAR);
static struct fm_lock lock = FM_LOCK(FM_RANK_LEAF);
static struct creds want;
bool (*_Atomic fm_creds_follow)(void);
static uint32_t number;
static bool looked; /* `want` has users and groups */

static long get_caps(struct __user_cap_data_struct *caps)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };

	return fm_sys2(SYS_capget, &h, caps);
}

static void set_caps(const struct creds *c)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct have[2], to[2];

	if (get_caps(have))
		return;
	memcpy(to, c->caps_too ? c->caps : have, sizeof(to));
	for (int i = 0; i < 2; i++) {
		to[i].permitted &= ~c->lost[i];
		to[i].effective &= ~c->lost[i];
	}
	if (memcmp(have, to, sizeof(have)))
		fm_sys2(SYS_capset, &h, to);
}

static bool same_ids(const struct creds *c)
{
	uint32_t u[3], g[3];

	fm_sys3(SYS_getresuid, &u[0], &u[1], &u[2]);
	fm_sys3(SYS_getresgid, &g[0], &g[1], &g[2]);
	return !memcmp(u, c->uid, sizeof(u)) && !memcmp(g, c->gid, sizeof(g));
}

/* All of it twice: who becomes root again can do the rest only then. The user
 * ids come last, for who gives root up cannot do the rest after it. */
static bool set_creds(const struct creds *c)
{
	bool same;

	for (int i = 0; i < 2; i++) {
		if (c->groups)
			fm_sys2(SYS_setgroups, c->ngroups, c->groups);
		fm_sys3(SYS_setresgid, c->gid[0], c->gid[1], c->gid[2]);
		fm_sys3(SYS_setresuid, c->uid[0], c->uid[1], c->uid[2]);
	}
	set_caps(c);
	same = same_ids(c);
	if (!same)
		fm_log(FM_LOG_ERROR, "a thread of fastmap did not get user %u",
		       c->uid[1]);
	return same;
}

bool fm_creds_take_unlocked(void)
{
	return set_creds(&want);
}

void fm_creds_begin(void)
{
	if (want.lost[0] | want.lost[1])
		set_caps(&want);
}

void fm_creds_take(void)
{
	uint64_t mask;

	fm_block_signals(&mask);
	fm_lock(&lock);
	set_creds(&want);
	fm_unlock(&lock);
	fm_restore_signals(&mask);
}

static void look_at_mine(struct creds *c)
{
	if (!c->groups)
		c->groups = fm_sys_anon(GROUPS * sizeof(*c->groups));
	fm_sys3(SYS_getresuid, &c->uid[0], &c->uid[1], &c->uid[2]);
	fm_sys3(SYS_getresgid, &c->gid[0], &c->gid[1], &c->gid[2]);
	if (c->groups)
		c->ngroups = fm_sys2(SYS_getgroups, GROUPS, c->groups);
	c->caps_too = !atomic_load(&fm_threads) && !get_caps(c->caps);
}

/* What one thread of several gave up for good. Nothing new: false. */
static bool look_at_lost(struct creds *c)
{
	struct __user_cap_data_struct mine[2];
	bool more = false;

	if (get_caps(mine))
		return false;
	for (int i = 0; i < 2; i++) {
		more |= (~mine[i].permitted & ~c->lost[i]) != 0;
		c->lost[i] |= ~mine[i].permitted;
	}
	return more;
}

/* The numbers are looked at by all means: what is taken are these, too. */
static bool look_at_creds(bool one)
{
	bool more;

	fm_lock(&lock);
	more = !one || look_at_lost(&want);
	if (more && (!one || !looked))
		look_at_mine(&want);
	looked |= more;
	fm_unlock(&lock);
	return more;
}

static bool follow(void)
{
	bool (*fn)(void) = atomic_load(&fm_creds_follow);

	return !fn || fn();
}

static void change(bool one)
{
	bool behind = false;
	uint64_t mask;
	int left = 0;

	fm_block_signals(&mask);
	fm_lock(&orders);
	if (look_at_creds(one)) {
		left = fm_thread_order(++number);
		behind = !follow();
	}
	fm_unlock(&orders);
	fm_restore_signals(&mask);
	if (left || behind)
		fm_log(FM_LOG_WARN, "%d threads%s of fastmap are busy and take "
		       "the new user and groups later", left,
		       behind ? " and the guardian" : "");
}

void fm_creds_changed(void)
{
	change(false);
}

void fm_creds_dropped(void)
{
	change(true);
}

void fm_creds_reset(void)
{
	fm_lock_reset(&orders);
	fm_lock_reset(&lock);
	memset(want.lost, 0, sizeof(want.lost));
	looked = false;
}
