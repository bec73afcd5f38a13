/* SPDX-License-Identifier: MIT */
/*
 * program.h - what execvp(3) would run, to the last interpreter, and whether a
 * library that LD_PRELOAD names is loaded there.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

struct program {
	/* That is executed in the end: a script's interpreter, also one that
	 * env(1) finds. */
	char file[PATH_MAX];
	char argv0[PATH_MAX]; /* the name that it is started by */
	const char *out_of_reach; /* why LD_PRELOAD has no effect, or NULL */
	bool harmed; /* it would be stopped by our library */
	char loader[256]; /* that it names, with `harmed` */
};

/* 0, or the errno of execvp(3). */
int program_find(const char *name, struct program *ret);

/* Does it call fastmap_map itself? Then the library needs no paths. */
bool program_asks(const char *file);

/* True: *ret_why is why LD_PRELOAD has no effect on what stands in this file,
 * or NULL: it is no program of its own. Else ret->loader and harmed say
 * more. */
bool program_reach(int fd, struct program *ret, const char **ret_why);

/* Is this file our library, built for this machine? */
bool program_is_library(const char *file);
