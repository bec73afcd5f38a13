/* SPDX-License-Identifier: MIT */
/* control.c - the loop on a thread of its own, and what it does each second. */
#include "control.h"

#include <string.h>

#include "alloc.h"
#include "control_priv.h"
#include "engine_priv.h"
#include "log.h"
#include "policy.h"
#include "room.h"
#include "sys.h"

#define MAX_TIMERS 8

static struct timer {
	void (*fn)(void);
	unsigned ms;
	uv_timer_t handle;
} timers[MAX_TIMERS];
static int ntimers;

static uv_loop_t loop;
static uv_timer_t second;
static struct stat policy_seen;

/* ---- the cache's size -------------------------------------------------- */

static void say_size(void)
{
	static uint64_t said;
	uint64_t now = fm_room_target();

	if (now >= said - said / 8 && now <= said + said / 8)
		return;
	if (said)
		fm_log(FM_LOG_INFO, "cache is now %lu KiB",
		       (unsigned long)(now >> 10));
	said = now;
}

/* ---- the policy file --------------------------------------------------- */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       !memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim));
}

/* By stat, not inotify: it costs a microsecond a second, and follows editors
 * that replace the file. */
static void look_at_policy(void)
{
	const struct fm_settings *s = fm_settings();
	const struct fm_cache_size before = s->cache;
	const uint64_t lazy = s->lazy;
	struct stat st;

	if (!s->source || fm_sys2(SYS_stat, s->source, &st) < 0 ||
	    same_file(&st, &policy_seen))
		return;
	policy_seen = st;
	fm_policy_reload();
	s = fm_settings();
	fm_log(FM_LOG_INFO, "policy file read again");
	if (s->cache.bytes != before.bytes ||
	    s->cache.percent != before.percent ||
	    s->cache.automatic != before.automatic || s->lazy != lazy)
		fm_room_set(&s->cache);
}

static void every_second(uv_timer_t *t)
{
	look_at_policy();
	say_size();
}

/* ---- the loop ---------------------------------------------------------- */

static void *uv_calloc(size_t n, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(n, size, &bytes) ? NULL :
							 fm_alloc(bytes);
}

static void run_timer(uv_timer_t *t)
{
	((struct timer *)t->data)->fn();
}

void fm_control_add_timer(unsigned ms, void (*fn)(void))
{
	if (ntimers == MAX_TIMERS) {
		fm_log(FM_LOG_ERROR, "too many timers");
		return;
	}
	timers[ntimers].fn = fn;
	timers[ntimers++].ms = ms;
}

static void start_timers(void)
{
	for (int i = 0; i < ntimers; i++) {
		struct timer *t = &timers[i];

		uv_timer_init(&loop, &t->handle);
		t->handle.data = t;
		uv_timer_start(&t->handle, run_timer, t->ms, t->ms);
	}
	uv_timer_init(&loop, &second);
	uv_timer_start(&second, every_second, 1000, 1000);
}

static int prepare(void)
{
	int err;

	uv_replace_allocator(fm_alloc, fm_realloc, uv_calloc, fm_free);
	memset(&loop, 0, sizeof(loop));
	err = uv_loop_init(&loop);
	if (err) {
		fm_log(FM_LOG_WARN, "no control loop (errno %d: %s)", -err,
		       fm_error_text(-err));
		return err;
	}
	start_timers();
	err = fm_control_listen(&loop);
	if (err)
		fm_log(FM_LOG_WARN, "no control socket %s (errno %d: %s)",
		       fm_settings()->socket, -err, fm_error_text(-err));
	return 0;
}

/* The loop is made on its own thread too: libuv calls abort when it gets no
 * descriptors, which must not stop a thread of the program. */
static void *run(void *arg)
{
	fm_thread_begin("fastmap-control");
	if (!prepare())
		uv_run(&loop, UV_RUN_DEFAULT);
	return NULL;
}

int fm_control_start(void)
{
	const struct fm_settings *s = fm_settings();

	if (s->source)
		fm_sys2(SYS_stat, s->source, &policy_seen);
	return fm_thread_create(run, NULL);
}

void fm_control_reset(void)
{
	fm_control_drop_fds();
	ntimers = 0;
}
