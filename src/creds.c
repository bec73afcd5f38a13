/* SPDX-License-Identifier: MIT */
#include "creds.h"

#include <linux/capability.h>
#include <string.h>

#include "engine.h"
#include "guardian.h"
#include "lock.h"
#include "log.h"
#include "sys.h"
#include "thread.h"

#define GROUPS 65536 /* NGROUPS_MAX */

struct creds {
	uint32_t uid[3], gid[3]; /* real, effective, saved */
	bool caps_too;
	struct __user_cap_data_struct caps[2];
	long ngroups;
	uint32_t *groups;
};

/* `orders`: one at a time, while it is waited for. `lock`: around what is asked for,
 * which a thread that comes late may still read. */
static struct fm_lock orders = FM_LOCK(FM_RANK_HEAR);
static struct fm_lock lock = FM_LOCK(FM_RANK_LEAF);
static struct creds want;
static uint32_t number;

static long get_caps(struct __user_cap_data_struct *caps)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };

	return fm_sys2(SYS_capget, &h, caps);
}

static void set_caps(const struct creds *c)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct have[2];

	if (c->caps_too && !get_caps(have) &&
	    memcmp(have, c->caps, sizeof(have)))
		fm_sys2(SYS_capset, &h, c->caps);
}

static bool same_ids(const struct creds *c)
{
	uint32_t u[3], g[3];

	fm_sys3(SYS_getresuid, &u[0], &u[1], &u[2]);
	fm_sys3(SYS_getresgid, &g[0], &g[1], &g[2]);
	return !memcmp(u, c->uid, sizeof(u)) && !memcmp(g, c->gid, sizeof(g));
}

/* Twice: who becomes root again can do the rest only then. The user's numbers come
 * last, for who gives root up cannot do the rest after it. */
static void take(const struct creds *c)
{
	for (int i = 0; i < 2; i++) {
		if (c->groups)
			fm_sys2(SYS_setgroups, c->ngroups, c->groups);
		fm_sys3(SYS_setresgid, c->gid[0], c->gid[1], c->gid[2]);
		fm_sys3(SYS_setresuid, c->uid[0], c->uid[1], c->uid[2]);
	}
	set_caps(c);
	if (!same_ids(c))
		fm_log(FM_LOG_ERROR, "a thread of fastmap did not get user %u",
		       c->uid[1]);
}

void fm_creds_take(void)
{
	uint64_t mask;

	fm_block_signals(&mask);
	fm_lock(&lock);
	take(&want);
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

void fm_creds_changed(void)
{
	uint64_t mask;
	int left;

	fm_guardian_left_behind();
	fm_block_signals(&mask);
	fm_lock(&orders);
	fm_lock(&lock);
	look_at_mine(&want);
	fm_unlock(&lock);
	left = fm_thread_order(++number);
	fm_unlock(&orders);
	fm_restore_signals(&mask);
	if (left)
		fm_log(FM_LOG_WARN, "%d threads of fastmap are busy and take the "
		       "new user and groups later", left);
}

void fm_creds_reset(void)
{
	fm_lock_reset(&orders);
	fm_lock_reset(&lock);
}
