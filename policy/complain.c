/* SPDX-License-Identifier: MIT */
/* complain.c - what is wrong with the settings, said once. */
#include <string.h>

#include "base/log.h"
#include "base/sys.h"
#include "heard.h"
#include "set.h"

/* While the settings are read for the first time, the environment. */
static char **loading;
static bool by_name;            /* the policy file, by a variable */
static char *to;                /* who wants to hear of bad lines */
static size_t room;

void fm_complain_start(char **envp, bool file_given)
{
	loading = envp;
	by_name = file_given;
}

void fm_complain_to(char *buf, size_t size)
{
	to = buf;
	room = size;
}

bool fm_heard_before(const char *variable)
{
	/* The parent may have found another file, by its own name. */
	if (!variable && by_name)
		variable = "FASTMAP_POLICY";
	return loading && (fm_heard_run(loading) == fm_sys_getpid() ||
			   (variable && fm_heard_by_parent(variable)));
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

static bool complain_heard(const struct fm_origin *o)
{
	return fm_heard_before(o->line ? NULL : o->file);
}

void fm_complain(const struct fm_origin *o, const char *what, const char *text,
		 const char *used)
{
	const int level = o->fatal ? FM_LOG_ERROR : FM_LOG_WARN;

	if (o->quiet || (!o->problems && complain_heard(o)))
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
	if (!o->quiet && !o->fatal && !complain_heard(o))
		fm_log(FM_LOG_WARN, "%s: %s '%s' %s", o->file, what, text, how);
}
