/* SPDX-License-Identifier: MIT */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "glob.h"

#define SCRIPTS 5 /* in a row: the kernel's BINPRM limit */
#define HEAD 256  /* what the kernel reads of a script's first line */

/* ---- where it is ------------------------------------------------------- */

static int program_try(const char *file, char *ret)
{
	struct stat st;

	if (stat(file, &st))
		return errno;
	if (!S_ISREG(st.st_mode) || access(file, X_OK))
		return EACCES;
	return realpath(file, ret) ? 0 : errno;
}

/* As execvp(3): what may not be executed is passed over, and remembered. */
static int program_search(const char *name, char *ret)
{
	const char *path = getenv("PATH");
	int err = ENOENT;

	if (strchr(name, '/'))
		return program_try(name, ret);
	for (path = path ? path : "/bin:/usr/bin"; *name; path++) {
		char file[PATH_MAX * 2];
		size_t n = strcspn(path, ":");
		int r;

		snprintf(file, sizeof(file), "%.*s%s%s", (int)n, path,
			 n ? "/" : "", name);
		r = program_try(file, ret);
		if (!r)
			return 0;
		if (r == EACCES)
			err = EACCES;
		path += n;
		if (!*path)
			break;
	}
	return err;
}

/* "#! /usr/bin/perl -w": the interpreter, and what is given to it, as one. */
static bool script(int fd, char *ret_interpreter, char *ret_argument)
{
	char head[HEAD + 1], *p = head + 2;
	ssize_t n = pread(fd, head, HEAD, 0);
	size_t len;

	if (n < 3 || head[0] != '#' || head[1] != '!')
		return false;
	head[n] = 0;
	p[strcspn(p, "\n")] = 0;
	p += strspn(p, " \t");
	len = strcspn(p, " \t");
	snprintf(ret_argument, HEAD + 1, "%s", p + len);
	p[len] = 0;
	strcpy(ret_interpreter, p);
	return *p != 0;
}

/* "-S VAR=1 python3 -u" of env(1): what it executes, or NULL. The text is cut
 * up. */
static const char *of_env(char *text)
{
	char *at, *word = strtok_r(text, " \t", &at);

	while (word && (!strcmp(word, "-S") || !strcmp(word, "-i") ||
			!strcmp(word, "-") || !strcmp(word, "--split-string") ||
			strchr(word, '=')))
		word = strtok_r(NULL, " \t", &at);
	return word && *word != '-' ? word : NULL;
}

/* ---- privilege --------------------------------------------------------- */

/* The loader looks at nothing in the environment then (AT_SECURE). */
static const char *privileged(int fd, const struct stat *st)
{
	struct statvfs fs;
	char cap[64];

	if ((fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_NOSUID)) ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return NULL;
	if (((st->st_mode & S_ISUID) && st->st_uid != getuid()) ||
	    ((st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP) &&
	     st->st_gid != getgid()))
		return "set-user-ID or set-group-ID";
	if (getuid() && fgetxattr(fd, "security.capability", cap,
				  sizeof(cap)) > 0)
		return "a program with file capabilities";
	return NULL;
}

/* ---- to the last interpreter -------------------------------------------- */

static const char *out_of_reach(int fd, struct program *ret)
{
	const char *why;
	struct stat st;

	if (program_reach(fd, ret, &why))
		return why;
	return fstat(fd, &st) ? NULL : privileged(fd, &st);
}

/* The interpreter of a script, or what env(1) finds in its place. */
static int program_follow(const char *interpreter, char *argument,
			  struct program *ret)
{
	const char *name = NULL;

	if (!strcmp(fm_base_name(interpreter), "env"))
		name = of_env(argument);
	name = name ? name : interpreter;
	snprintf(ret->argv0, sizeof(ret->argv0), "%s", name);
	return program_search(name, ret->file);
}

static int follow_scripts(struct program *ret)
{
	for (int i = 0; i <= SCRIPTS; i++) {
		int r, fd = open(ret->file, O_RDONLY | O_CLOEXEC);
		char next[HEAD + 1], argument[HEAD + 1];

		if (fd < 0)
			return 0; /* may be executed, not read */
		if (!script(fd, next, argument)) {
			ret->out_of_reach = out_of_reach(fd, ret);
			close(fd);
			return 0;
		}
		close(fd);
		r = program_follow(next, argument, ret);
		if (r)
			return r;
	}
	return ELOOP;
}

int program_find(const char *name, struct program *ret)
{
	int err;

	memset(ret, 0, sizeof(*ret));
	snprintf(ret->argv0, sizeof(ret->argv0), "%s", name);
	err = program_search(name, ret->file);
	return err ? err : follow_scripts(ret);
}
