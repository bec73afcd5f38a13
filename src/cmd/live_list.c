/* SPDX-License-Identifier: MIT */
/* live_list.c - which processes have a control socket, and whose it is. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/visible.h"
#include "call.h"
#include "glob.h"
#include "live.h"
#include "live_priv.h"

struct list {
	struct live_process *p;
	size_t n, size;
};

/* ---- what /proc says ---------------------------------------------------- */

ssize_t live_read_proc(pid_t pid, const char *what, char *buf, size_t size)
{
	char path[64];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	f = fopen(path, "r");
	if (!f)
		return -1;
	n = fread(buf, 1, size - 1, f);
	fclose(f);
	buf[n] = 0;
	return (ssize_t)n;
}

bool live_is_file(pid_t pid, const char *name)
{
	char path[64], file[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, file, sizeof(file) - 1);
	file[n > 0 ? n : 0] = 0;
	return n > 0 && !strcmp(fm_base_name(file), name);
}

/* By its first argument, as ps has it: a script's interpreter has that name. */
static void live_list_name_of(pid_t pid, char *name, size_t size)
{
	char line[PATH_MAX] = "";
	const char *base;

	if (live_read_proc(pid, "cmdline", line, sizeof(line)) <= 0 &&
	    live_read_proc(pid, "comm", line, sizeof(line)) > 0)
		line[strcspn(line, "\n")] = 0;
	base = fm_base_name(line);
	fm_visible(*base ? base : "?", false, name, size);
}

static bool live_list_owner_of(pid_t pid, uid_t *ret)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st))
		return false;
	*ret = st.st_uid;
	return true;
}

bool live_runs(pid_t pid)
{
	uid_t uid;

	return live_list_owner_of(pid, &uid);
}

/* The value of FASTMAP_SOCKET, as it was when the program was started. */
bool live_named_socket(pid_t pid, struct live_process *ret)
{
	static char env[1 << 17];
	ssize_t n = live_read_proc(pid, "environ", env, sizeof(env));
	bool had;

	for (char *s = env; n > 0 && s < env + n; s += strlen(s) + 1)
		if (!strncmp(s, "FASTMAP_SOCKET=/", 16) &&
		    !fm_expand_pid(s + 15, (int)pid, ret->socket,
				   sizeof(ret->socket), &had)) {
			ret->pid = pid;
			live_list_name_of(pid, ret->name, sizeof(ret->name));
			return had && live_list_owner_of(pid, &ret->uid);
		}
	return false;
}

/* ---- what lies in the folders ------------------------------------------- */

static bool nobody_listens(const struct live_process *p)
{
	int fd = call_connect(p);

	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == ECONNREFUSED;
}

/* "1234.sock" */
static pid_t pid_of(const char *file)
{
	char *end;
	long pid = *file >= '1' && *file <= '9' ? strtol(file, &end, 10) : 0;

	return pid > 0 && pid <= INT_MAX && !strcmp(end, ".sock") ?
		       (pid_t)pid : 0;
}

static void live_list_add(struct list *l, const struct live_process *p)
{
	if (l->n == l->size) {
		size_t size = l->size ? l->size * 2 : 16;
		void *more = realloc(l->p, size * sizeof(*p));

		if (!more)
			return;
		l->p = more;
		l->size = size;
	}
	l->p[l->n++] = *p;
}

/* Only what we own is taken away, and root owns all. */
static void live_list_look_at(struct list *l, const char *folder,
			      const char *file)
{
	struct live_process p = { .pid = pid_of(file) };
	struct stat st;

	if (!p.pid || snprintf(p.socket, sizeof(p.socket), "%s/%s", folder,
			       file) >= (int)sizeof(p.socket) ||
	    lstat(p.socket, &st) || !S_ISSOCK(st.st_mode) ||
	    (geteuid() && st.st_uid != geteuid()))
		return;
	p.uid = st.st_uid;
	if (nobody_listens(&p)) {
		/* A process that is starting does not listen yet. */
		if (!live_runs(p.pid))
			unlink(p.socket);
		return;
	}
	live_list_name_of(p.pid, p.name, sizeof(p.name));
	live_list_add(l, &p);
}

static void live_list_look_in(struct list *l, const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d)))
		live_list_look_at(l, folder, e->d_name);
	if (d)
		closedir(d);
}

/* Root sees everybody's. */
static void look_in_all(struct list *l)
{
	DIR *d = geteuid() ? NULL : opendir("/run/user");
	char folder[PATH_MAX];
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (*e->d_name != '.') {
			snprintf(folder, sizeof(folder), "/run/user/%s/fastmap",
				 e->d_name);
			live_list_look_in(l, folder);
		}
	if (d)
		closedir(d);
}

static void look_in_own(struct list *l)
{
	const char *own = getenv("XDG_RUNTIME_DIR");
	char folder[PATH_MAX];

	if (!own || *own != '/' ||
	    (!geteuid() && !strncmp(own, "/run/user/", 10)))
		return;
	snprintf(folder, sizeof(folder), "%s/fastmap", own);
	live_list_look_in(l, folder);
}

static int by_pid(const void *a, const void *b)
{
	const struct live_process *p = a, *q = b;

	return (p->pid > q->pid) - (p->pid < q->pid);
}

size_t live_list(struct live_process **ret)
{
	struct list l = { 0 };

	live_list_look_in(&l, "/run/fastmap");
	look_in_all(&l);
	look_in_own(&l);
	if (l.n)
		qsort(l.p, l.n, sizeof(*l.p), by_pid);
	*ret = l.p;
	return l.n;
}
