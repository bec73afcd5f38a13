/* SPDX-License-Identifier: MIT */
/* stats_why.c - the statistics of why a file is where it is, what the servers
 * cost, and what would change that. */
#include <string.h>

#include "base/json.h"
#include "base/sys.h"
#include "file/file.h"
#include "peers/peers.h"
#include "serve/serve.h"
#include "stats_priv.h"

static const char *stats_why_kind_of(enum fm_server_reason why)
{
	static const char *const text[] = {
		[FM_REASON_CORRECT] = "correctness",
		[FM_REASON_MEANS] = "means",
		[FM_REASON_SETTING] = "setting",
		[FM_REASON_SPEED] = "speed",
	};

	return why ? text[fm_server_reason_kind(why)] : "";
}

static bool is_veto(enum fm_server_reason why)
{
	return why && fm_server_reason_kind(why) != FM_REASON_SPEED;
}

static bool tells_of_others(enum fm_server_reason why)
{
	return !strcmp(fm_server_reason_until(why),
		       fm_server_reason_until(FM_WHY_SHARED));
}

/* others: another process uses it now, which the reason may not say. */
static void vetoes_json(struct fm_json *o, enum fm_server_reason why,
			bool others)
{
	fm_json_open(o, "vetoes", '[');
	if (is_veto(why))
		fm_json_text(o, NULL, fm_server_reason_text(why));
	if (others && !tells_of_others(why))
		fm_json_text(o, NULL, fm_server_reason_text(FM_WHY_SHARED));
	fm_json_close(o, ']');
}

static void reason_json(struct fm_json *o, enum fm_server_reason why)
{
	fm_json_text(o, "why", fm_server_reason_text(why));
	fm_json_text(o, "kind", stats_why_kind_of(why));
	fm_json_text(o, "remedy", fm_server_reason_remedy(why));
	fm_json_text(o, "until", fm_server_reason_until(why));
}

static void costs_json(struct fm_json *o, uint64_t engine, uint64_t kernel)
{
	fm_json_uint(o, "engine_cost_ns", engine);
	fm_json_uint(o, "kernel_cost_ns", kernel);
}

static void return_json(struct fm_json *o, bool may, uint64_t not_before_ms)
{
	const uint64_t now = fm_now_ms();

	fm_json_bool(o, "may_return", may);
	fm_json_uint(o, "not_before_ms",
		     may && not_before_ms > now ? not_before_ms - now : 0);
}

void fm_stats_why(struct fm_json *o, struct fm_file *f, bool alone)
{
	const bool kernel = fm_kernel_serves(f);
	const enum fm_server_reason why =
		kernel ? atomic_load(&f->st.demote_why) : FM_WHY_NONE;

	fm_json_open(o, "choice", '{');
	reason_json(o, why);
	vetoes_json(o, why, kernel && !alone && fm_peers_others(f));
	return_json(o, kernel && f->demote.passes,
		    why == FM_WHY_ASKED ? 0 : f->choice->back.until_ms);
	costs_json(o, atomic_load(&f->choice->cost_ns[FM_SERVER_ENGINE]),
		   atomic_load(&f->choice->cost_ns[FM_SERVER_KERNEL]));
	fm_json_close(o, '}');
}

void fm_stats_why_left(struct fm_json *o, enum fm_server_reason why)
{
	fm_json_open(o, "choice", '{');
	reason_json(o, why);
	vetoes_json(o, why, false);
	return_json(o, fm_server_reason_passes(why), 0);
	costs_json(o, 0, 0);
	fm_json_close(o, '}');
}
