/* SPDX-License-Identifier: MIT */
/*
 * peers_words.c - word goes out: before another process can hear of it, what we
 * have stored is in the file.
 *
 * Where nobody else has the file open that is a precaution for who opens it
 * next, and only so much time is spent on it.
 */
#include "base/epoch.h"
#include "base/lock.h"
#include "base/sys.h"
#include "engine.h"
#include "file/file.h"
#include "opens.h"
#include "peers_priv.h"
#include "tunables.h"
#include "vm/vm.h"
#include "writeback/writeback.h"

/* ---- what that may cost -------------------------------------------------- */

static _Atomic uint64_t shown_ns, shown_from;
static _Atomic uint64_t page_ns = 25000; /* to write one, of late */

/* of what that has cost with the engine, and would not with the kernel */
static _Atomic uint64_t not_weighed_ns;

/* ns: then there may be enough time again */
static _Atomic uint64_t not_before;

void fm_words_affordable(void)
{
	atomic_store(&shown_ns, 0);
	atomic_store(&shown_from, fm_now_ns());
	atomic_store(&not_before, 0);
}

static bool affordable(uint64_t pages)
{
	const uint64_t turn = fm_tune.resident_turn_ms * 1000000;
	const uint64_t price = atomic_load(&page_ns) + fm_wb_again_ns();
	uint64_t now = fm_now_ns(), from = 0, want, have;

	if (atomic_compare_exchange_strong(&shown_from, &from, now))
		from = now;
	want = atomic_load(&shown_ns) + pages * price;
	have = fm_tune.moment_ms * 1000000ull +
	       (now > from ? (now - from) / fm_tune.peers_part : 0);
	if (want > have) /* less may be dirty by then */
		atomic_store(&not_before,
			     now + fm_least(turn, (want - have) *
							  fm_tune.peers_part));
	return want <= have;
}

/* The kernel would take no time for that. */
static void words_compare(struct fm_file *f, uint64_t ns)
{
	fm_count(&f->st->words_ns, ns);
	if (atomic_fetch_add(&not_weighed_ns, ns) + ns >= fm_tune.serve_move_ns)
		fm_wb_kick();
}

static void charge(struct fm_file *f, uint64_t took, uint64_t pages)
{
	const uint64_t again = pages * fm_wb_again_ns();
	uint64_t usual = atomic_load(&page_ns);

	words_compare(f, took + again);
	took = fm_least(took, fm_tune.peers_dearer * usual * pages);
	atomic_fetch_add(&shown_ns, took + again);
	atomic_store(&page_ns, (usual * 3 + took / pages) / 4 + 1);
}

/* By the thread that writes back, which is woken for it. */
static void weigh_words(void)
{
	struct fm_file *f;

	FM_HOLD_SPACE();
	atomic_store(&not_weighed_ns, 0);
	fm_for_each_file(f, id)
		fm_words_weigh(f);
}

static void look_at_words(void)
{
	if (atomic_load(&not_weighed_ns) >= fm_tune.serve_move_ns)
		weigh_words();
}

FM_UP(wb_idle, look_at_words)

/* ---- what is done -------------------------------------------------------- */

static void write_before_ipc(struct fm_file *f, uint64_t pages)
{
	uint64_t from = fm_now_ns();

	if (fm_wb_refused(f))
		return;
	if (atomic_load(&fm_opens[f->id].since_ms)) {
		fm_file_flush(f, 0, 0);
		return;
	}
	if (!affordable(pages))
		return;
	fm_wb_ahead(f, true);
	charge(f, fm_now_ns() - from, pages);
}

static void write_all_before_ipc(void)
{
	for (uint32_t id = 0; id < fm_file_top(); id++) {
		FM_IN_EPOCH();
		struct fm_file *f = fm_file_at(id);
		int64_t pages = f ? fm_dirty_count(f) : 0;

		if (pages > 0 && !f->ephemeral) /* nobody else sees it */
			write_before_ipc(f, (uint64_t)pages);
	}
}

static void show_locked(int fd)
{
	struct fm_file *f = fm_file_by_fd(fd);

	if (!f)
		return;
	if (fm_dirty_count(f) > 0 && !fm_wb_refused(f))
		fm_file_flush(f, 0, 0);
	fm_file_put(f);
}

void fm_tell_locked(int fd)
{
	if (atomic_load(&fm_dirty_total) <= 0 || fm_signals_blocked ||
	    !fm_watch_is_us())
		return;
	FM_BLOCK_SIGNALS();
	show_locked(fd);
}

void fm_peers_release(void)
{
	if (atomic_load(&fm_dirty_total) <= 0 || fm_signals_blocked)
		return;
	/* Cheap where there is a word a microsecond. */
	if (!fm_open_pending() && fm_now_ns() < atomic_load(&not_before))
		return;
	if (!fm_watch_is_us())
		return;
	FM_BLOCK_SIGNALS();
	write_all_before_ipc();
}
