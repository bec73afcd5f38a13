/* SPDX-License-Identifier: MIT */
#include "demote_queue.h"

#include "base/file_part.h"
#include "base/life.h"
#include "base/sys.h"
#include "base/thread.h"
#include "engine.h"
#include "file.h"
#include "tunables.h"

FM_FILE_PART(demote)

static _Atomic bool wanted; /* some file is */
static _Atomic uint8_t shared; /* enum fm_server_reason */

/* ---- asking -------------------------------------------------------------- */

/* The reason, the count, the flag: who finds one of them finds those before
 * it. */
FM_FAULT uint32_t fm_demote_ask(struct fm_file *f, enum fm_server_reason why)
{
	uint32_t n;

	atomic_store(&f->demote->why, why);
	n = atomic_fetch_add(&f->demote->asked, 1) + 1;
	atomic_store(&wanted, true);
	return n;
}

static bool is_answered(uint32_t answered, uint32_t asked)
{
	return (int32_t)(answered - asked) >= 0;
}

bool fm_demote_wait(struct fm_file *f, uint32_t asked, unsigned ms)
{
	const struct timespec look = { 0,
				       fm_tune.resident_turn_ms * 1000000 };
	const uint64_t until = fm_now_ms() + ms;
	uint32_t v;

	while (!is_answered(v = atomic_load(&f->demote->answered), asked)) {
		if (fm_now_ms() >= until || !fm_thread_any())
			return false;
		fm_futex_wait(&f->demote->answered, v, &look);
	}
	return true;
}

void fm_demote_ask_shared(enum fm_server_reason why)
{
	atomic_store(&shared, why);
}

/* ---- serving ------------------------------------------------------------- */

void fm_demote_queue_serve(void)
{
	FM_UP_EACH(demote_queue, serve)
		serve();
}

enum fm_server_reason fm_demote_take_shared(void)
{
	return (enum fm_server_reason)atomic_exchange(&shared, FM_WHY_NONE);
}

bool fm_demote_take(void)
{
	return atomic_exchange(&wanted, false);
}

/* A request that comes while this runs raises the flag again, or is seen here:
 * the count is read before the demotion begins. */
void fm_demote_each(int (*demote)(struct fm_file *f, enum fm_server_reason why))
{
	struct fm_file *f;

	fm_for_each_file(f, id) {
		uint32_t asked = atomic_load(&f->demote->asked);

		if (asked == atomic_load(&f->demote->answered))
			continue;
		demote(f, (enum fm_server_reason)atomic_load(&f->demote->why));
		atomic_store(&f->demote->answered, asked);
		fm_futex_wake(&f->demote->answered, INT32_MAX);
	}
}

void fm_demote_queue_reset(void)
{
	atomic_store(&wanted, false);
	atomic_store(&shared, FM_WHY_NONE);
}

FM_LIFE(demote_queue, .level = FM_LIFE_HELPERS, .second = fm_demote_queue_serve,
	.forked = fm_demote_queue_reset)
