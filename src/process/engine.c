/* SPDX-License-Identifier: MIT */
/*
 * engine.c - configuration at load, whether the engine can start here, and the
 * end. What starts in between says so itself: base/life.h.
 */
#include <errno.h>
#include <sys/resource.h>

#include "base/go_binary.h"
#include "base/life.h"
#include "base/sys.h"
#include "base/thread.h"
#include "ending.h"
#include "engine.h"
#include "map/map.h"
#include "policy.h"

#define DESCRIPTORS 64ul /* size: what rings and some files take */

/* All but this starts with the first managed mapping, when it would be too
 * late to ask the loader: who holds its lock may be waiting for us. */
static bool init_wanted(void)
{
	if (fm_settings()->mode == FM_MODE_OFF || !fm_policy_any())
		return false;
	fm_backings_begin();
	fm_rawcalls_start();
	fm_thread_init();
	return true;
}

bool fm_engine_init(const char *argv0, char **envp)
{
	fm_policy_load(argv0, envp);
	return init_wanted();
}

bool fm_engine_init_asked(void)
{
	fm_policy_asks();
	return init_wanted();
}

bool fm_engine_may_serve(void)
{
	return fm_policy_engine();
}

static bool few_descriptors(void)
{
	struct rlimit rl = { DESCRIPTORS, DESCRIPTORS };

	fm_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &rl);
	return rl.rlim_cur < DESCRIPTORS;
}

static int pass_gate(void);

FM_LIFE(gate, .level = FM_LIFE_GATE, .start = pass_gate)

static int pass_gate(void)
{
	fm_life_strict = fm_settings()->strict;
	if (fm_arch_on_valgrind()) {
		life_gate.what = "starting on valgrind";
		life_gate.remedy =
			"it knows neither userfaultfd nor our clone";
		return -EOPNOTSUPP;
	}
	if (few_descriptors()) {
		life_gate.what = "reserving descriptors";
		life_gate.remedy = "ulimit -n is below 64: raise it";
		return -EMFILE;
	}
	return 0;
}

void fm_engine_exit(void)
{
	static _Atomic uint32_t done;

	/* Again each time: what was stored since must not be lost. */
	fm_engine_flush_all();
	if (!atomic_exchange(&done, 1))
		fm_life_stop();
}

/* The guardian writes the statistics of who has executed something. */
void fm_engine_before_exec(void)
{
	if (fm_life_is_owner())
		fm_ending(true);
}
