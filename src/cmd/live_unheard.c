/* SPDX-License-Identifier: MIT */
/* live_unheard.c - why a process has no control socket, as far as can be seen
 * from outside: the first cause that applies. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live_priv.h"
#include "shown.h"

struct unheard {
	pid_t pid;
	uid_t uid; /* that it runs as */
	char env[1 << 17];
	size_t env_size;
};

/* The value that it was started with; NULL: none. */
static const char *unheard_env(const struct unheard *u, const char *name)
{
	const size_t len = strlen(name);

	for (const char *s = u->env; s < u->env + u->env_size;
	     s += strlen(s) + 1)
		if (!strncmp(s, name, len) && s[len] == '=')
			return s + len + 1;
	return NULL;
}

/* -1: it cannot be seen. */
static int unheard_has_library(pid_t pid)
{
	char path[64], line[PATH_MAX + 128];
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, "/libfastmap.so") != NULL;
	if (ferror(f))
		found = -1;
	fclose(f);
	return found;
}

/* What the library asks of it (observe/control_socket.c). NULL: it will do. */
static const char *unheard_folder(const char *dir, uid_t uid)
{
	const mode_t others = S_IWGRP | S_IWOTH;
	struct stat st;

	if (lstat(dir, &st))
		return "is not there";
	if (!S_ISDIR(st.st_mode))
		return "is no folder";
	if (st.st_uid && st.st_uid != uid)
		return "belongs to another user";
	if ((st.st_mode & others) && !(st.st_mode & S_ISVTX))
		return "may be written by others and is not sticky (chmod "
		       "1777)";
	if (uid && st.st_uid != uid && !(st.st_mode & S_IWOTH))
		return "may not be written by its user (chmod 1777)";
	return NULL;
}

/* Where no folder will do: of both, what is wrong with the first. */
static bool unheard_say_folders(const struct unheard *u)
{
	const char *run = unheard_folder("/run/fastmap", u->uid);
	const char *above = unheard_env(u, "XDG_RUNTIME_DIR");
	char own[PATH_MAX];

	snprintf(own, sizeof(own), "%s/fastmap", above ? above : "");
	if (!run || (above && !unheard_folder(own, u->uid)))
		return false;
	fprintf(stderr, "fastmap: process %d has no control socket: the folder "
		"/run/fastmap %s%s%s; make it ('install -d -m 1777 "
		"/run/fastmap') and start the program again\n", (int)u->pid,
		run, above ? ", nor will " : "", above ? own : "");
	return true;
}

static void unheard_say_setting(const struct unheard *u)
{
	const char *set = unheard_env(u, "FASTMAP_SOCKET");

	if (set && !strcmp(set, "none"))
		fprintf(stderr, "fastmap: process %d has no control socket: it "
			"was started with FASTMAP_SOCKET=none\n", (int)u->pid);
	else if (set && strcmp(set, "auto"))
		fprintf(stderr, "fastmap: process %d does not listen where "
			"FASTMAP_SOCKET says: it has mapped no file below its "
			"paths yet, or could not (FASTMAP_LOG=2 says so)\n",
			(int)u->pid);
	else if (!unheard_say_folders(u))
		fprintf(stderr, "fastmap: process %d has no control socket "
			"yet: it has mapped no file below its paths since the "
			"folder was there (FASTMAP_PATHS=%s)\n", (int)u->pid,
			unheard_env(u, "FASTMAP_PATHS") ?
				unheard_env(u, "FASTMAP_PATHS") : "");
}

void live_say_unheard(pid_t pid)
{
	static struct unheard u;
	char path[64];
	struct stat st;
	ssize_t n;
	int has;

	u.pid = pid;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st))
		return; /* it has just ended */
	u.uid = st.st_uid;
	has = unheard_has_library(pid);
	n = live_read_proc(pid, "environ", u.env, sizeof(u.env));
	u.env_size = n > 0 ? (size_t)n : 0;
	if (has < 0)
		fprintf(stderr, "fastmap: process %d is user %s's: only that "
			"user and root may ask it\n", (int)pid,
			shown_user(u.uid));
	else if (!has)
		fprintf(stderr, "fastmap: process %d has no control socket: "
			"the library is not in it (start it by fastmap run, or "
			"with LD_PRELOAD; what is linked statically cannot "
			"have it)\n", (int)pid);
	else
		unheard_say_setting(&u);
}
