/* SPDX-License-Identifier: MIT */
/*
 * read.c - from the text of a policy file to a set.
 *
 *	cache = 50%              before any section: all programs, all paths
 *	[process mserver5]       until the next [process]: this program only
 *	[path /data/[*].mdb]     until the next section: these files only
 *
 * inih splits the lines. It sees them one by one through our reader, which
 * counts them, keeps section names whole (inih cuts them at 50 characters),
 * and reports what inih would pass over in silence.
 */
#include <ini.h>
#include <string.h>

#include "glob.h"
#include "set.h"

#define SECTION 1024

struct reader {
	struct fm_set *set;
	const struct fm_who *who;
	const char *at;              /* next line */
	struct fm_origin origin;
	bool applies;                /* the [process] section is ours */
	struct fm_section *section;  /* current [path], or NULL */
	bool first_pass;             /* everything but [path] sections */
	char name[SECTION];
};

static void read_complain(struct reader *r, const char *what, const char *text,
			  const char *used)
{
	fm_complain(&r->origin, what, text, used);
}

static bool process_matches(const char *pattern, const struct fm_who *who)
{
	if (strchr(pattern, '/'))
		return fm_glob(pattern, who->exe);
	return fm_glob(pattern, who->name) ||
	       fm_glob(pattern, fm_base_name(who->exe));
}

static void begin_path(struct reader *r, const char *pattern)
{
	static struct fm_section scratch;
	struct fm_section *s;

	if (fm_never_matches(pattern))
		read_complain(r, "path", pattern,
			      "matches no path: they begin with /");
	if (r->first_pass || !r->applies) {
		/* Parse for the sake of messages; keep nothing. */
		scratch.policy = r->set->defaults;
		r->section = &scratch;
		return;
	}
	s = fm_arena_get(&r->set->arena, sizeof(*s));
	if (!s)
		return;
	s->pattern = fm_arena_text(&r->set->arena, pattern, strlen(pattern));
	if (!s->pattern)
		return;
	s->policy = r->set->defaults;
	s->next = r->set->sections;
	r->set->sections = s;
	r->section = s;
}

/* "process NAME" or "path GLOB", behind the bracket. */
static void begin_section(struct reader *r, const char *s)
{
	const char *arg = s + strcspn(s, " \t");
	const size_t kind = (size_t)(arg - s);

	arg += strspn(arg, " \t");
	r->section = NULL;
	if (kind == 7 && !memcmp(s, "process", 7) && *arg) {
		r->applies = process_matches(arg, r->who);
	} else if (kind == 4 && !memcmp(s, "path", 4) && *arg) {
		begin_path(r, arg);
	} else {
		read_complain(r, "unknown section", s,
			      "ignored up to the next one; known: "
			      "[process NAME], [path GLOB]");
		r->applies = false;
	}
}

/* Copy a section's name up to its last closing bracket. */
static bool section_name(struct reader *r, const char *line, size_t n)
{
	while (n && line[n - 1] != ']')
		n--;
	if (n < 2 || n >= SECTION)
		return false;
	memcpy(r->name, line + 1, n - 2);
	r->name[n - 2] = 0;
	return true;
}

/* Length without a trailing comment and space. */
static size_t trimmed(const char *line, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if ((line[i] == '#' || line[i] == ';') &&
		    (line[i - 1] == ' ' || line[i - 1] == '\t'))
			n = i;
	while (n && strchr(" \t\r", line[n - 1]))
		n--;
	return n;
}

/* A line for inih: key = value, or blank when there is nothing for it. */
static size_t filter(struct reader *r, const char *line, size_t n, size_t room)
{
	if (!n || *line == '#' || *line == ';')
		return 0;
	if (*line == '[') {
		if (section_name(r, line, n)) {
			begin_section(r, r->name);
		} else {
			read_complain(r, "bad section header", "[",
				      "ignored up to the next one");
			r->applies = false;
		}
		return 0;
	}
	if (!memchr(line, '=', n)) {
		read_complain(r, "expected", "key = value", "line ignored");
		return 0;
	}
	if (n >= room) {
		read_complain(
			r, "expected", "a shorter line",
			"line ignored; lists may be given in several lines");
		return 0;
	}
	return n;
}

/* The reader that inih calls in place of fgets. */
static char *next_line(char *buf, int size, void *stream)
{
	struct reader *r = stream;
	const char *line = r->at;
	size_t n = strcspn(line, "\n");

	if (!*line)
		return NULL;
	r->at = line + n + (line[n] == '\n');
	r->origin.line++;
	if (r->origin.line == 1 && !strncmp(line, "\xEF\xBB\xBF", 3)) {
		line += 3;
		n -= 3;
	}
	/* inih takes an indented line for a continuation; we do not. */
	while (n && (*line == ' ' || *line == '\t')) {
		line++;
		n--;
	}
	n = filter(r, line, trimmed(line, n), (size_t)size - 1);
	memcpy(buf, line, n);
	buf[n] = '\n';
	buf[n + 1] = 0;
	return buf;
}

static int one_value(void *user, const char *section, const char *name,
		     const char *value)
{
	struct reader *r = user;
	const struct fm_option *o = fm_option_find(name);
	struct fm_policy *policy = &r->set->defaults;

	if (!o) {
		read_complain(r, "unknown option", name, "line ignored");
		return 1;
	}
	if (r->section) {
		if (o->scope != OPT_PATH) {
			read_complain(
				r, "not for a path", name,
				"line ignored; move it to the top or under "
				"[process]");
			return 1;
		}
		if (o->whole)
			read_complain(
				r, "without effect for a path", name,
				"one value for the process; move it to the top "
				"or under [process]");
		policy = &r->section->policy;
	} else if (!r->first_pass) {
		return 1;
	}
	if (!r->applies) {
		/* Check the value all the same, in a place that is thrown
		 * away: another program will read this line. */
		static struct fm_set scratch;

		fm_option_set(o, &scratch, &scratch.defaults, value,
			      &r->origin);
		return 1;
	}
	fm_option_set(o, r->set, policy, value, &r->origin);
	return 1;
}

static void read_pass(struct reader *r, const char *text, bool first,
		      int *problems)
{
	r->at = text;
	r->origin.line = 0;
	r->origin.problems = problems;
	r->origin.quiet = !first; /* each line is read twice; speak once */
	r->applies = true;
	r->section = NULL;
	r->first_pass = first;
	ini_parse_stream(next_line, r, one_value, r);
}

/* Defaults first, wherever they stand; then path sections start from them. */
void fm_parse_text(struct fm_set *set, const char *file, const char *text,
		   const struct fm_who *who, int *problems)
{
	struct reader r = { .set = set, .who = who, .origin.file = file };

	read_pass(&r, text, true, problems);
	read_pass(&r, text, false, problems);
}
