/* SPDX-License-Identifier: MIT */
/* complain.c - what is wrong with the settings, said once. */
#include <string.h>

#include "base/log.h"
#include "heard.h"
#include "said.h"
#include "set.h"

/* While the settings are read for the first time, the environment. */
static char **loading;
static bool by_name;            /* the policy file, by a variable */
static const char *said_in;     /* the folder of what was said before */
static char *to;                /* who wants to hear of bad lines */
static size_t room;

void fm_complain_start(char **envp, bool file_given, const char *runtime_dir)
{
	loading = envp;
	by_name = file_given;
	said_in = runtime_dir;
}

void fm_complain_to(char *buf, size_t size)
{
	to = buf;
	room = size;
}

bool fm_heard_before(bool of_file)
{
	static bool by_run, by_parent, asked;

	if (!loading)
		return false;
	if (!asked) {
		by_run = fm_heard_from_run(loading);
		by_parent = !by_run && fm_heard_from_parent(loading);
		asked = true;
	}
	/* The parent may have found another, by its own name. */
	return by_run || (by_parent && (!of_file || by_name));
}

bool fm_told_before(const char *what, const char *text)
{
	return loading && fm_said_before(said_in, what, text);
}

static void complain_hear(const struct fm_origin *o, const char *what,
			  const char *text, const char *used)
{
	char line[16];

	if (!to || *to)
		return;
	fm_number_text(line, (unsigned)o->line);
	fm_text_add(to, room, o->file);
	fm_text_add(to, room, ":");
	fm_text_add(to, room, line);
	fm_text_add(to, room, ": ");
	fm_text_add(to, room, what);
	fm_text_add(to, room, " '");
	fm_text_add(to, room, text);
	fm_text_add(to, room, "', ");
	fm_text_add(to, room, used);
}

/* By another process. Of variables only those that are read at the start are
 * complained of. */
static bool complain_heard(const struct fm_origin *o)
{
	return fm_heard_before(o->line) ||
	       (!o->line && fm_heard_by_parent(o->file));
}

/* Or by this one, before it executed this program: the whole line. */
static bool complain_told(const struct fm_origin *o, const char *what,
			  const char *text, const char *used)
{
	char where[512] = "", line[16];

	fm_number_text(line, (unsigned)o->line);
	fm_join(where, sizeof(where), o->file, line, what);
	fm_join(where + strlen(where), sizeof(where) - strlen(where), " ", used,
		"");
	return fm_told_before(where, text);
}

void fm_complain(const struct fm_origin *o, const char *what, const char *text,
		 const char *used)
{
	const int level = o->fatal ? FM_LOG_ERROR : FM_LOG_WARN;

	if (o->quiet || (!o->problems && (complain_told(o, what, text, used) ||
					  complain_heard(o))))
		return;
	if (o->line)
		complain_hear(o, what, text, used);
	if (o->problems)
		++*o->problems;
	if (o->line)
		fm_log(level, "%s:%d: %s '%s', %s", o->file, o->line,
		       what, text, used);
	else
		fm_log(level, "%s: %s '%s', %s", o->file, what, text,
		       used);
}

void fm_remark(const struct fm_origin *o, const char *what,
	       const char *text, const char *how)
{
	if (!o->quiet && !o->fatal && !complain_told(o, what, text, how) &&
	    !complain_heard(o))
		fm_log(FM_LOG_WARN, "%s: %s '%s' %s", o->file, what, text, how);
}
