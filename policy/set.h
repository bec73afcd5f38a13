/* SPDX-License-Identifier: MIT */
/*
 * set.h - one immutable set of settings, and the table of options that says
 * how text becomes one. Inside policy/ only.
 */
#pragma once

#include "base/text.h"
#include "policy.h"

struct fm_texts {
	const char *text;
	struct fm_texts *next;
};

struct fm_section {
	const char *pattern;
	struct fm_policy policy;
	struct fm_section *next;
};

struct fm_set {
	struct fm_settings process;
	struct fm_policy defaults;      /* for FASTMAP_PATHS without section */
	struct fm_texts *prefixes;      /* resolved */
	struct fm_texts *deny, *allow;  /* allow is stronger */
	struct fm_texts *cmds, *skip_cmds;
	struct fm_section *sections;    /* last of the file first: it wins */
	uint64_t least_size;            /* of all min_size */
	bool sources;                   /* any path has one */
	uint64_t said;                  /* bits: options of `process` and
					 * `defaults` that have been given a
					 * value, the one built in, too */
	struct fm_arena arena;
};

/* Where a value comes from, for messages; line 0: the environment. */
struct fm_origin {
	const char *file;
	int line;
	bool quiet;
	bool fatal;    /* nothing is used instead */
	int *problems; /* counted here unless NULL */
};

/* While the settings are loaded: has somebody else told of what is wrong with
 * this variable, or (NULL) with the policy file? See heard.h. */
bool fm_heard_before(const char *variable);
void fm_remark_unknown(char **envp); /* variables */

/* envp: they are loaded now, NULL: no longer; whether a variable names the
 * policy file. */
void fm_complain_start(char **envp, bool file_given);
/* While the file is read for somebody who wants to hear of the first bad line;
 * NULL: nobody does. */
void fm_complain_to(char *buf, size_t size);

/* At the end of buf, cut where that ends; a number with the largest unit. */
void fm_text_add(char *buf, size_t size, const char *s);
void fm_text_add_number(char *buf, size_t size, uint64_t v, bool bytes);

/* One line: "FILE:LINE: WHAT 'TEXT', USED". */
void fm_complain(const struct fm_origin *o, const char *what, const char *text,
		 const char *used);
/* "FILE: WHAT 'TEXT' HOW", of what need not be wrong. */
void fm_remark(const struct fm_origin *o, const char *what, const char *text,
	       const char *how);

struct fm_option {
	const char *name;     /* in files */
	const char *env;      /* or NULL */
	enum { OPT_PROCESS, OPT_PATH, OPT_LIST } scope;
	enum {
		T_BOOL,
		T_U32,
		T_SIZE,       /* uint64_t bytes */
		T_SIZE_AUTO,  /* the same, or FM_SIZE_AUTO */
		T_SIZE32,     /* uint32_t bytes */
		T_POW2,       /* uint32_t bytes, 0 or a power of two */
		T_MEMORY,     /* struct fm_cache_size */
		T_PART,       /* struct fm_cache_part */
		T_PIN,        /* uint64_t bytes, or FM_PIN_MINUTE */
		T_LEVEL,      /* int */
		T_CHOICE,     /* an enum */
		T_FILE,       /* const char *, made absolute */
		T_SOCKET,     /* the same, FM_SOCKET_AUTO or none */
		T_STATS,      /* the same, 1 means stderr */
		T_STATES,     /* the same, or auto; off: none */
		T_SOURCE,     /* const char *, as it stands */
		T_PATHS,      /* list, colon separated, resolved */
		T_GLOBS,      /* list, colon or comma separated */
	} type;
	size_t offset;        /* in fm_settings, fm_policy, or fm_set */
	const char *standard; /* default value, as text */
	uint64_t min, max;
	const char *choices;  /* "auto|signal|thread", enum order */
	bool whole;           /* of a path's, and yet one for the process */
	bool live;            /* may change while the process runs */
};

extern const struct fm_option fm_options[];
extern const unsigned fm_option_count;

const struct fm_option *fm_option_find(const char *name);

/* Set one option from text; complains and leaves the old value when the text
 * is bad; of a list, what is good is added. `policy` is where OPT_PATH options
 * go. 0 or -errno. */
int fm_option_set(const struct fm_option *o, struct fm_set *set,
		   struct fm_policy *policy, const char *value,
		   const struct fm_origin *from);
void fm_options_default(struct fm_set *set);
bool fm_option_said(const struct fm_set *set, const char *name);
/* "4K to 8M", "yes or no": what may be given for an option that is no text. */
#define FM_RANGE 96
void fm_option_range(const struct fm_option *o, char *ret, size_t size);

/* The current set. */
const struct fm_set *fm_set_now(void);
/* The option has that value, which is good, from now on. 0 or -ENOMEM. */
int fm_policy_keep(const struct fm_option *o, const char *value);

struct fm_who {
	const char *name; /* short program name */
	const char *exe;  /* absolute path, or "" */
};
/* Read the file's text into the set (read.c). Bad lines are told of on stderr
 * and, unless it is NULL, added to *problems. */
void fm_parse_text(struct fm_set *set, const char *file, const char *text,
		   const struct fm_who *who, int *problems);

/* Does any pattern of the list match? */
bool fm_texts_match(const struct fm_texts *l, const char *text,
		    bool (*match)(const char *pattern, const char *text));
