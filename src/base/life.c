/* SPDX-License-Identifier: MIT */
#include "life.h"

#include "engine.h"
#include "lock.h"
#include "log.h"
#include "sys.h"

bool fm_life_strict;
_Atomic bool fm_life_after_exec;

static enum { IDLE, RUNNING, REFUSED } state;
static _Atomic bool rests; /* its threads have been ended */
static bool is_child;
static int owner; /* process whose engine it is */

#define EACH_OF(l, lv)                                                    \
	FM_UP_EACH(life, l)                                               \
		if (l->level == (lv))

#define EACH_UP(l)                                                        \
	for (int lv = 0; lv < FM_LIFE_LEVELS; lv++)                       \
		EACH_OF(l, (enum fm_life_level)lv)

#define EACH_DOWN(l)                                                      \
	for (int lv = FM_LIFE_LEVELS - 1; lv >= 0; lv--)                  \
		EACH_OF(l, (enum fm_life_level)lv)

bool fm_life_running(void)
{
	return state == RUNNING;
}

bool fm_life_refused(void)
{
	return state == REFUSED || atomic_load(&rests);
}

void fm_life_rests(void)
{
	fm_use_begins();
	atomic_store(&rests, true);
}

bool fm_life_is_child(void)
{
	return is_child;
}

/* ---- start ------------------------------------------------------------- */

static int life_refuse(const struct fm_life *l, int err)
{
	state = REFUSED;
	fm_log(FM_LOG_ERROR,
	       "the kernel's mmap is used: %s failed, errno %d: %s (%s)",
	       l->what, -err, fm_error_text(-err), l->remedy);
	if (fm_life_strict) {
		fm_log(FM_LOG_ERROR, "FASTMAP_STRICT is set: giving up");
		fm_sys1(SYS_exit_group, 125);
	}
	return err;
}

static int start_level(int level)
{
	EACH_OF(l, (enum fm_life_level)level) {
		int err = l->start ? l->start() : 0;

		if (err && l->what)
			return life_refuse(l, err);
	}
	return 0;
}

static int life_start(void)
{
	for (int level = 0; level < FM_LIFE_LEVELS; level++) {
		int err;

		if (level == FM_LIFE_RUNNING) {
			owner = fm_sys_getpid();
			state = RUNNING;
		}
		err = start_level(level);
		if (err)
			return err;
	}
	return 0;
}

/* A child of raw clone would share the rings, memory and all. Asked for each
 * window that is mapped. */
static bool life_is_me(void)
{
	fm_up_shim_is_me *is_me = FM_UP_ONE(shim_is_me);

	return is_me ? is_me() : fm_sys_getpid() == owner;
}

int fm_life_need(void)
{
	if (atomic_load(&rests))
		return -ENOSYS;
	if (state == RUNNING)
		return life_is_me() ? 0 : -ECHILD;
	if (state == REFUSED)
		return -ENOSYS;
	return life_start();
}

bool fm_life_is_owner(void)
{
	return state == RUNNING && fm_sys_getpid() == owner;
}

/* ---- afterwards -------------------------------------------------------- */

void fm_life_beside(void)
{
	EACH_UP(l)
		if (l->beside)
			l->beside();
}

void fm_life_second(void)
{
	EACH_UP(l)
		if (l->second)
			l->second();
}

void fm_life_child(void)
{
	is_child = true;
}

void fm_life_forked(void)
{
	bool ran = state == RUNNING;

	fm_life_child();
	atomic_store(&rests, false);
	if (ran)
		state = IDLE;
	EACH_UP(l) {
		if (l->forked)
			l->forked();
		if (ran && l->reset)
			l->reset();
	}
}

void fm_life_stop(void)
{
	fm_use_begins();
	EACH_DOWN(l)
		if (l->stop)
			l->stop();
}

void fm_life_dead(int pid, bool executed)
{
	EACH_DOWN(l)
		if (l->dead)
			l->dead(pid, executed);
}
