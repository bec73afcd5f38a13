/* SPDX-License-Identifier: MIT */
/* stats_why.c - the statistics of why a file is where it is, what the servers
 * cost, and what would change that. */
#include "base/json.h"
#include "base/sys.h"
#include "file/file.h"
#include "mmap/mmap.h"
#include "peers/peers.h"
#include "serve/serve.h"
#include "stats_priv.h"

static const char *stats_why_kind_of(enum fm_server_reason why)
{
	const uint32_t v = fm_server_reason_veto(why);

	return !why ? "" : !v ? "speed" : v >= FM_VETO_SETTING ? "setting" :
	       v >= FM_VETO_MEMORY ? "means" : "correctness";
}

static const struct {
	enum fm_veto veto;
	const char *text;
} vetoes[] = {
	{ FM_VETO_OTHERS, "another process uses it" },
	{ FM_VETO_GIVEN, "another process was given its descriptor" },
	{ FM_VETO_KERNEL, "the kernel serves a mapping of it" },
	{ FM_VETO_PRIVATE, "it is mapped privately" },
	{ FM_VETO_USE, "how the program uses its memory" },
	{ FM_VETO_INFLIGHT, "system calls that may use its memory" },
	{ FM_VETO_LOCKED, "memory is locked" },
	{ FM_VETO_RINGS, "the program has io_uring or libaio" },
	{ FM_VETO_RECORDS, "it has record locks, and there is no io_uring" },
	{ FM_VETO_LIMITS, "limits of the process" },
	{ FM_VETO_TABLES, "a thread has a table of descriptors of its own" },
	{ FM_VETO_MEMORY, "no memory for a cache" },
	{ FM_VETO_MEANS, "the engine cannot run here, or open it" },
	{ FM_VETO_UNMAPPED, "nothing of it is mapped" },
	{ FM_VETO_SETTING, "a setting" },
	{ FM_VETO_ASKED, "a command asked for it" },
};

static void vetoes_json(struct fm_json *o, uint32_t set)
{
	fm_json_open(o, "vetoes", '[');
	for (size_t i = 0; i < sizeof(vetoes) / sizeof(*vetoes); i++)
		if (set & vetoes[i].veto)
			fm_json_text(o, NULL, vetoes[i].text);
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

/* The registry has what is preloaded. A program without the library has been
 * found by a look at all processes, which is asked whether it is over. */
static void look_at_others(struct fm_file *f)
{
	const uint32_t was = atomic_load(&f->serve->vetoes) & FM_VETO_OTHERS;

	if (!fm_vetoes(f, FM_VETO_OTHERS, NULL) && was)
		fm_veto_put(f->serve, FM_VETO_OTHERS, fm_peers_in_use(f));
}

void fm_stats_why(struct fm_json *o, struct fm_file *f, bool alone)
{
	const bool kernel = fm_kernel_serves(f);
	const enum fm_server_reason why =
		kernel ? atomic_load(&f->st->demote_why) : FM_WHY_NONE;

	if (kernel && !alone)
		look_at_others(f);
	fm_json_open(o, "choice", '{');
	reason_json(o, why);
	vetoes_json(o, kernel ? atomic_load(&f->serve->vetoes) : 0);
	return_json(o, kernel && f->demote->passes,
		    why == FM_WHY_ASKED ? 0 : f->choice->back.until_ms);
	costs_json(o, atomic_load(&f->choice->cost_ns[FM_SERVER_ENGINE]),
		   atomic_load(&f->choice->cost_ns[FM_SERVER_KERNEL]));
	fm_json_close(o, '}');
}

void fm_stats_why_left(struct fm_json *o, const struct fm_unserved *l)
{
	const enum fm_server_reason why = l->last;

	fm_json_open(o, "choice", '{');
	reason_json(o, why);
	vetoes_json(o, atomic_load(&l->of->vetoes));
	return_json(o, fm_server_reason_passes(why), 0);
	costs_json(o, 0, 0);
	fm_json_close(o, '}');
}
