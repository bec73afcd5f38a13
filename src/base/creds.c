/* SPDX-License-Identifier: MIT */
#include "creds.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "apart.h"
#include "engine.h"
#include "life.h"
#include "lock.h"
#include "log.h"
#include "proc.h"
#include "sys.h"
#include "text.h"
#include "thread.h"

#define GROUPS 65536 /* ABI: NGROUPS_MAX */

struct creds {
	uint32_t uid[3], gid[3]; /* real, effective, saved */
	bool caps_too;
	struct __user_cap_data_struct caps[2];
	uint32_t lost[2]; /* capabilities that one of several threads gave up */
	uint64_t unbound; /* left the bounding set */
	long ngroups;
	uint32_t *groups;
};

/* What is seen of the program without its help. */
struct seen {
	const char *status; /* of the main thread, proc_pid_status(5) */
	uint64_t lost;      /* capabilities */
};

/* `orders`: one at a time, while it is waited for. `lock`: around what is asked
 * for, which a thread that comes late may still read. */
static struct fm_lock orders = FM_LOCK(FM_RANK_HEAR);
static struct fm_lock lock = FM_LOCK(FM_RANK_LEAF);
static struct creds want;
static uint32_t number;
static bool looked; /* `want` has users and groups */

/* Of the calling thread (0), or another. */
static long get_caps(int tid, struct __user_cap_data_struct *caps)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3,
					      tid };

	/* valgrind takes only the first of the two to be written */
	caps[0] = caps[1] = (struct __user_cap_data_struct){ 0 };
	return fm_sys2(SYS_capget, &h, caps);
}

/* Never more than the thread has, which the kernel would refuse as a whole. */
static void set_caps(const struct creds *c)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct have[2], to[2];

	if (get_caps(0, have))
		return;
	memcpy(to, c->caps_too ? c->caps : have, sizeof(to));
	for (int i = 0; i < 2; i++) {
		to[i].permitted &= have[i].permitted & ~c->lost[i];
		to[i].effective &= to[i].permitted;
		to[i].inheritable &= have[i].inheritable;
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

/* A filter may end who calls what the program does not. */
static long creds_set_option(int option, long value)
{
	return fm_sys_confined() ? -EINVAL :
				   fm_sys5(SYS_prctl, option, value, 0, 0, 0);
}

static void set_bounds(uint64_t unbound)
{
	long r = 0;

	for (int cap = 0; unbound && r != -EINVAL; cap++, unbound >>= 1)
		if (unbound & 1)
			r = creds_set_option(PR_CAPBSET_DROP, cap);
}

/* All of it twice: who becomes root again can do the rest only then. The user
 * ids come last, for who gives root up cannot do the rest after it, unless the
 * program has kept capabilities. */
static bool set_creds(const struct creds *c)
{
	bool same;

	set_bounds(c->unbound);
	creds_set_option(PR_SET_KEEPCAPS, c->caps_too);
	for (int i = 0; i < 2; i++) {
		if (c->groups)
			fm_sys2(SYS_setgroups, c->ngroups, c->groups);
		fm_sys3(SYS_setresgid, c->gid[0], c->gid[1], c->gid[2]);
		fm_sys3(SYS_setresuid, c->uid[0], c->uid[1], c->uid[2]);
	}
	set_caps(c);
	creds_set_option(PR_SET_KEEPCAPS, 0);
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

/* Ours execute nothing. */
void fm_creds_begin(void)
{
	creds_set_option(PR_SET_NO_NEW_PRIVS, 1);
	if (want.lost[0] | want.lost[1])
		set_caps(&want);
}

/* In a thread of ours: what the program has. */
static void creds_take(void)
{
	FM_HOLD(&lock);
	set_creds(&want);
}

FM_UP(thread_begins, fm_creds_begin)
FM_UP(thread_ordered, creds_take)

static void look_at_bounds(struct creds *c)
{
	for (int cap = 0; cap < 64 && !fm_sys_confined(); cap++) {
		long in = fm_sys2(SYS_prctl, PR_CAPBSET_READ, cap);

		if (in < 0)
			break;
		c->unbound |= (uint64_t)!in << cap;
	}
}

static bool room_for_groups(struct creds *c)
{
	if (!c->groups)
		c->groups = fm_sys_anon(GROUPS * sizeof(*c->groups));
	return c->groups;
}

static void look_at_mine(struct creds *c)
{
	look_at_bounds(c);
	fm_sys3(SYS_getresuid, &c->uid[0], &c->uid[1], &c->uid[2]);
	fm_sys3(SYS_getresgid, &c->gid[0], &c->gid[1], &c->gid[2]);
	if (room_for_groups(c))
		c->ngroups = fm_sys2(SYS_getgroups, GROUPS, c->groups);
	c->caps_too = !atomic_load(&fm_threads) && !get_caps(0, c->caps);
}

/* What one thread of several gave up for good. Nothing new: false. */
static bool look_at_lost(struct creds *c)
{
	struct __user_cap_data_struct mine[2];
	bool more = false;

	if (get_caps(0, mine))
		return false;
	for (int i = 0; i < 2; i++) {
		more |= (~mine[i].permitted & ~c->lost[i]) != 0;
		c->lost[i] |= ~mine[i].permitted;
	}
	return more;
}

/* The numbers are looked at by all means: what is taken are these, too. */
static bool look_at_one(const struct seen *unused)
{
	bool more = look_at_lost(&want);

	if (more && !looked)
		look_at_mine(&want);
	return more;
}

static bool creds_look_at_all(const struct seen *unused)
{
	look_at_mine(&want);
	return true;
}

static bool creds_follow(void)
{
	fm_up_creds_follow *follow = FM_UP_ONE(creds_follow);

	return !follow || follow();
}

static bool find_out(bool (*look)(const struct seen *s), const struct seen *s)
{
	bool more;

	fm_lock(&lock);
	more = look(s);
	looked |= more;
	fm_unlock(&lock);
	return more;
}

/* Who is one of ours and waited here would carry out no order. */
static bool creds_begin(bool may_wait)
{
	if (!may_wait)
		return fm_trylock(&orders);
	fm_lock(&orders);
	return true;
}

static void creds_change(bool (*look)(const struct seen *s),
			 const struct seen *s)
{
	bool behind = false;
	uint64_t mask;
	int left = 0;

	fm_block_signals(&mask);
	if (creds_begin(!s)) {
		if (find_out(look, s)) {
			left = fm_thread_order(++number);
			behind = !creds_follow();
		}
		fm_unlock(&orders);
	}
	fm_restore_signals(&mask);
	if (left || behind)
		fm_log(FM_LOG_WARN, "%d threads%s of fastmap are busy and take "
		       "the new user and groups later", left,
		       behind ? " and the guardian" : "");
}

void fm_creds_changed(void)
{
	creds_change(creds_look_at_all, NULL);
}

void fm_creds_dropped(void)
{
	creds_change(look_at_one, NULL);
}

static void creds_reset(void)
{
	fm_lock_reset(&orders);
	fm_lock_reset(&lock);
	memset(want.lost, 0, sizeof(want.lost));
	want.unbound = 0;
	looked = false;
}

/* ---- what no hook has seen ---------------------------------------------- */

#define TEXT ((size_t)1 << 20) /* size: NGROUPS_MAX numbers, and the rest */

/* What cannot be told is not given up. */
static uint64_t permitted(int tid)
{
	struct __user_cap_data_struct d[2];
	long err = get_caps(tid, d);

	if (err)
		return err == -ESRCH ? 0 : ~0ull;
	return (uint64_t)d[1].permitted << 32 | d[0].permitted;
}

static void keeps_any(const char *name, void *arg)
{
	const int tid = atoi(name);
	uint64_t *lost = arg, has = permitted(tid);
	char state;

	if ((*lost & has) && !fm_thread_is(tid) &&
	    !fm_proc_is_worker(name, &state))
		*lost &= ~has;
}

/* Any of them: one may have been busy when the last order was given. */
static uint64_t permitted_to_ours(void)
{
	uint64_t all = 0;
	int tid;

	for (uint32_t i = 0; (tid = fm_thread_from(&i)); i++)
		all |= permitted(tid);
	return all;
}

/* What a thread of ours may do and none of the program's any more. */
static uint64_t lost_by_all(void)
{
	char buf[2048] __attribute__((aligned(8)));
	uint64_t lost;

	if (!fm_thread_any() || fm_sys_confined())
		return 0;
	lost = permitted_to_ours() & ~permitted(fm_sys_getpid());
	if (lost && fm_each_thread(buf, sizeof(buf), keeps_any, &lost) &&
	    atomic_load(&fm_threads))
		return 0;
	return lost;
}

static void read_status(void *arg)
{
	char *text = arg;
	size_t n = 0;
	long got = 0;
	int fd = fm_sys_open("/proc/self/status", O_RDONLY, 0);

	if (fd < 0)
		return;
	do {
		got = fm_sys3(SYS_read, fd, text + n, TEXT - 1 - n);
		n += got > 0 ? (size_t)got : 0;
	} while (got > 0);
	fm_sys_close(fd);
}

/* The numbers of a line, up to `most` of them. */
static long numbers(const char *text, const char *key, uint32_t *ret, long most)
{
	const char *at = strstr(text, key);
	long n = 0;
	uint64_t v;

	for (at = at ? at + strlen(key) : NULL; at && n < most; n++) {
		at += strspn(at, "\t ");
		at = fm_number(at, &v);
		if (!at)
			break;
		ret[n] = (uint32_t)v;
	}
	return n;
}

/* False: there is no /proc. */
static bool look_at_main(struct creds *c, const char *status)
{
	const char *bound = strstr(status, "\nCapBnd:");
	uint32_t uid[3], gid[3];

	if (!bound || numbers(status, "\nUid:", uid, 3) != 3 ||
	    numbers(status, "\nGid:", gid, 3) != 3 || !room_for_groups(c))
		return false;
	memcpy(c->uid, uid, sizeof(uid));
	memcpy(c->gid, gid, sizeof(gid));
	c->ngroups = numbers(status, "\nGroups:", c->groups, GROUPS);
	c->unbound |= ~strtoull(bound + strlen("\nCapBnd:"), NULL, 16);
	c->caps_too = !atomic_load(&fm_threads) &&
		      !get_caps(fm_sys_getpid(), c->caps);
	return true;
}

static bool look_at_seen(const struct seen *s)
{
	if (!look_at_main(&want, s->status) && !looked)
		look_at_mine(&want);
	want.lost[0] |= (uint32_t)s->lost;
	want.lost[1] |= (uint32_t)(s->lost >> 32);
	return true;
}

/* Each has given up the same, and is the main thread's user by now or one that
 * may do no more. */
void fm_creds_look(void)
{
	struct seen s = { NULL, lost_by_all() };
	char *text = s.lost ? fm_sys_anon(TEXT) : NULL;

	if (!text)
		return;
	fm_apart_from_fds(read_status, text);
	s.status = text;
	creds_change(look_at_seen, &s);
	fm_sys_munmap(text, TEXT);
}

FM_LIFE(creds, .level = FM_LIFE_IO, .second = fm_creds_look,
	.forked = creds_reset)
