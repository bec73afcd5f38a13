/* SPDX-License-Identifier: MIT */
/*
 * part.c - fastmap flush, drop, prefetch, demote, promote: a file of a
 * running process, or a part of it.
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/control.h"
#include "cmd.h"
#include "live.h"
#include "places.h"
#include "policy.h"

/* -1: it is bad, and said. */
static int part_size_of(const char *text, uint64_t *ret)
{
	if (!strchr(text, '%') && !fm_parse_size(text, 0, ret))
		return 0;
	fprintf(stderr, "fastmap: bad size '%s': bytes, or with K, M, G, T\n",
		text);
	return -1;
}

struct asked {
	const char *word, *who;
	const char *file;         /* NULL: all */
	const char *off, *length; /* or both NULL */
};

/* The path is known to the process by its full name, without symbolic links. 0,
 * or an exit status. */
static int full_path(const char *file, char *path)
{
	if (!realpath(file, path) && place_full(file, path)) {
		fprintf(stderr, "fastmap: %s: %m\n", file);
		return 1;
	}
	if (!strchr(path, '\n'))
		return 0;
	fprintf(stderr, "fastmap: a file with a line break in its name cannot "
		"be asked for\n");
	return 2;
}

/* " OFFSET LENGTH", or nothing. */
static int range_text(const struct asked *a, char *text, size_t size)
{
	uint64_t off, len;

	*text = 0;
	if (!a->off)
		return 0;
	if (part_size_of(a->off, &off) || part_size_of(a->length, &len))
		return 2;
	if (!len) {
		fprintf(stderr, "fastmap: the length is 0\n");
		return 2;
	}
	snprintf(text, size, " %llu %llu", (unsigned long long)off,
		 (unsigned long long)len);
	return 0;
}

static int send(const struct asked *a)
{
	char path[PATH_MAX], range[64], line[FM_CONTROL_LINE];
	int r;

	if (!a->file)
		return live_do(a->who, a->word);
	r = range_text(a, range, sizeof(range));
	if (!r)
		r = full_path(a->file, path);
	if (r)
		return r;
	snprintf(line, sizeof(line), "%s%s %s", a->word, range, path);
	return live_do(a->who, line);
}

/* WHO FILE [OFFSET LENGTH] */
static int ask_part(int argc, char **argv, const char *help)
{
	int r = cmd_options(argc, argv, 2, 4, help);
	char **a = argv + optind;

	if (r >= 0)
		return r;
	if (argc - optind == 3)
		return cmd_usage(help, "OFFSET needs a LENGTH");
	return send(&(struct asked){ argv[0], a[0], a[1], a[2],
				     a[2] ? a[3] : NULL });
}

/* WHO [FILE] */
static int ask_file(int argc, char **argv, const char *help)
{
	int r = cmd_options(argc, argv, 1, 2, help);
	char **a = argv + optind;

	return r >= 0 ? r : send(&(struct asked){ argv[0], a[0], a[1], NULL,
						  NULL });
}

#define WHO "WHO is a process id, the name of a program, or a socket"
#define PART                                                           \
	"\nOFFSET and LENGTH are bytes, or with K, M, G, T; without "   \
	"them all of the file.\n" WHO ".\n"

int cmd_flush(int argc, char **argv)
{
	return ask_part(argc, argv,
		   "usage: fastmap flush WHO FILE [OFFSET LENGTH]\n\n"
		   "What the process has stored into its mappings of the file "
		   "is written to it and\nmade durable. " PART);
}

int cmd_drop(int argc, char **argv)
{
	return ask_part(argc, argv,
		   "usage: fastmap drop WHO FILE [OFFSET LENGTH]\n\n"
		   "The file leaves the memory of the process, after what is "
		   "dirty has been written.\nWhat is locked or in use stays. "
		   PART);
}

int cmd_prefetch(int argc, char **argv)
{
	return ask_part(argc, argv,
		   "usage: fastmap prefetch WHO FILE [OFFSET LENGTH]\n\n"
		   "The file is read into the cache of the process, as much as "
		   "7/8 of it takes; by\nthe kernel into the page cache where "
		   "the kernel serves. " PART);
}

int cmd_demote(int argc, char **argv)
{
	return ask_file(argc, argv,
		   "usage: fastmap demote WHO [FILE]\n\n"
		   "The kernel serves the file (all) until it is promoted. "
		   WHO ".\n");
}

int cmd_promote(int argc, char **argv)
{
	return ask_file(argc, argv,
		   "usage: fastmap promote WHO [FILE]\n\n"
		   "The engine serves the file (all) again, if that is "
		   "possible. " WHO ".\n");
}
