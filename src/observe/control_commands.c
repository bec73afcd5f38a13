/* SPDX-License-Identifier: MIT */
/* control_commands.c - the commands on the process as a whole. */

#include "base/sys.h"
#include "control_priv.h"
#include "mmap/mmap.h"
#include "stats.h"
#include "vm/vm.h"

/* ---- help -------------------------------------------------------------- */

static void control_commands_help(struct fm_request *r)
{
	for (const struct fm_control *c = NULL; (c = fm_control_next(c));) {
		fm_json_raw(&r->answer, c->word);
		fm_json_raw(&r->answer, *c->args ? " " : "");
		fm_json_raw(&r->answer, c->args);
		fm_json_raw(&r->answer, "\t");
		fm_json_raw(&r->answer, c->help);
		fm_json_raw(&r->answer, "\n");
	}
}

FM_CONTROL(control_commands_help, .word = "help", .args = "",
	   .run = control_commands_help, .help = "the commands, a line each")

/* ---- statistics -------------------------------------------------------- */

static void stats(struct fm_request *r)
{
	if (fm_stats_json(&r->answer, fm_sys_getpid(), false))
		fm_answer_error(r, "no memory");
}

FM_CONTROL(stats, .word = "stats", .args = "", .run = stats,
	   .help = "the statistics as JSON")

/* ---- who serves a file ------------------------------------------------- */

static void control_commands_demote(struct fm_request *r)
{
	if (fm_demote_now(r->args))
		fm_answer_ok(r, "%s", "");
	else
		fm_answer_error(r, "nothing such is served by the engine");
}

static void control_commands_promote(struct fm_request *r)
{
	struct fm_promote_refusal no;

	if (fm_promote_all(r->args, &no))
		fm_answer_ok(r, "%s", "");
	else
		fm_answer_error(r, "%s%s", no.what, no.why);
}

FM_CONTROL(control_commands_demote, .word = "demote", .args = "[FILE]",
	   .run = control_commands_demote, .job = true,
	   .help = "the kernel serves the file (all) until it is "
		   "promoted")
FM_CONTROL(control_commands_promote, .word = "promote", .args = "[FILE]",
	   .run = control_commands_promote, .job = true,
	   .help = "the engine serves the file (all) again, if it "
		   "can")
