/* SPDX-License-Identifier: MIT */
#include "group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "fastmap-compare."
#define GUARDIAN_MS 60000 /* it writes to a slow device */

/* ---- files of a group -------------------------------------------------- */

static int group_put(const char *dir, const char *file, const char *text)
{
	char path[PATH_MAX + 64];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* "" where there is none. */
static const char *group_get(const char *dir, const char *file)
{
	static char text[8192];
	char path[PATH_MAX + 64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = 0;
	return text;
}

static bool has_word(const char *text, const char *word)
{
	const size_t n = strlen(word);

	for (; (text = strstr(text, word)); text += n)
		if (!text[n] || strchr(" \n,", text[n]))
			return true;
	return false;
}

/* ---- where ------------------------------------------------------------- */

/* One line of /proc/self/mountinfo: is the memory controller there? */
static bool is_memory(char *line, bool *ret_v2, char **ret_root,
		      char **ret_point)
{
	char *tail = strstr(line, " - "), *word[5], *at = line;
	char type[16] = "", options[1024] = "";

	if (!tail || sscanf(tail, " - %15s %*s %1023s", type, options) != 2)
		return false;
	for (int i = 0; i < 5; i++)
		word[i] = strsep(&at, " ");
	*ret_root = word[3];
	*ret_point = word[4];
	*ret_v2 = !strcmp(type, "cgroup2");
	if (*ret_v2)
		return has_word(group_get(word[4], "cgroup.controllers"),
				"memory");
	return !strcmp(type, "cgroup") && has_word(options, "memory");
}

/* Our group's path below the mount point of its hierarchy: "/a/b". */
static void own_path(bool v2, const char *root, char *ret, size_t size)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX + 64];
	size_t n = strcmp(root, "/") ? strlen(root) : 0;

	*ret = 0;
	while (f && fgets(line, sizeof(line), f)) {
		char *names = strchr(line, ':'), *path;

		path = names ? strchr(names + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = 0;
		path[strcspn(path, "\n")] = 0;
		if ((v2 ? !names[1] : has_word(names + 1, "memory")) &&
		    !strncmp(path, root, n) && strcmp(path + n, "/"))
			snprintf(ret, size, "%s", path + n);
	}
	if (f)
		fclose(f);
}

static bool find_hierarchy(bool *ret_v2, char *ret_point, char *ret_own)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[PATH_MAX * 2], *root, *point;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		found = is_memory(line, ret_v2, &root, &point);
		if (!found)
			continue;
		snprintf(ret_point, PATH_MAX, "%s", point);
		own_path(*ret_v2, root, ret_own, PATH_MAX);
	}
	if (f)
		fclose(f);
	return found;
}

/* Those of commands that were killed: their process is no more. */
static void remove_left(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		int pid = !strncmp(e->d_name, NAME, strlen(NAME)) ?
			atoi(e->d_name + strlen(NAME)) : 0;

		if (pid > 0 && kill(pid, 0) && errno == ESRCH)
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
}

static bool enters(const struct group *g)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(group_enter(g) ? 1 : 0);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && status == 0;
}

/* With version 2 the group above says which controllers its groups have. */
static int enable(struct group *g, const char *dir)
{
	int err;

	if (!g->v2 ||
	    has_word(group_get(dir, "cgroup.subtree_control"), "memory"))
		return 0;
	err = group_put(dir, "cgroup.subtree_control", "+memory");
	if (!err && snprintf(g->enabled, sizeof(g->enabled), "%s", dir) >=
			    (int)sizeof(g->enabled))
		err = -ENAMETOOLONG;
	return err;
}

static int try_below(struct group *g, const char *dir)
{
	int err = enable(g, dir);

	if (err)
		return err;
	remove_left(dir);
	snprintf(g->dir, sizeof(g->dir), "%.*s/" NAME "%d", PATH_MAX - 40, dir,
		 (int)getpid());
	err = group_make(g, (uint64_t)1 << 30);
	if (!err) {
		err = enters(g) ? 0 : -EACCES;
		group_end(g, 1000);
	}
	if (err)
		group_forget(g);
	return err;
}

/* A group that has processes has no groups with controllers below it, with
 * version 2: ours is beside us. */
static int try_all(struct group *g, const char *point, const char *own)
{
	char dir[3][PATH_MAX * 2 + 8];
	int err = -ENOENT;

	snprintf(dir[0], sizeof(dir[0]), "%s%s", point, own);
	snprintf(dir[1], sizeof(dir[1]), "%s%s", point, own);
	snprintf(dir[2], sizeof(dir[2]), "%s", point);
	if (g->v2 && *own)
		*strrchr(dir[0], '/') = 0;
	for (int i = 0; i < 3 && err; i++)
		if (strlen(dir[i]) < PATH_MAX - 40)
			err = try_below(g, dir[i]);
	return err;
}

int group_find(struct group *ret, const char **ret_why)
{
	static char why[256];
	char point[PATH_MAX], own[PATH_MAX];
	int err;

	memset(ret, 0, sizeof(*ret));
	*ret_why = "no memory control group is mounted here";
	if (!find_hierarchy(&ret->v2, point, own))
		return -1;
	err = try_all(ret, point, own);
	snprintf(why, sizeof(why), "no memory control group can be made (%s): "
		 "run as root%s", strerror(-err), ret->v2 ?
		 ", or by 'systemd-run --user --scope'" : "");
	*ret_why = why;
	return err ? -1 : 0;
}

void group_forget(struct group *g)
{
	if (*g->enabled)
		group_put(g->enabled, "cgroup.subtree_control", "-memory");
	*g->enabled = 0;
	*g->dir = 0;
}

/* ---- one group --------------------------------------------------------- */

int group_make(const struct group *g, uint64_t limit)
{
	char text[24];
	int err;

	snprintf(text, sizeof(text), "%lu", (unsigned long)limit);
	if (mkdir(g->dir, 0755))
		return -errno;
	err = group_put(g->dir, g->v2 ? "memory.max" : "memory.limit_in_bytes",
			text);
	if (err)
		rmdir(g->dir);
	return err;
}

int group_enter(const struct group *g)
{
	return group_put(g->dir, "cgroup.procs", "0");
}

uint64_t group_peak(const struct group *g)
{
	return strtoull(group_get(g->dir, g->v2 ? "memory.peak"
						: "memory.max_usage_in_bytes"),
			NULL, 10);
}

bool group_killed(const struct group *g)
{
	const char *text = group_get(g->dir, g->v2 ? "memory.events"
						   : "memory.oom_control");
	const char *line = strstr(text, "oom_kill ");

	return line && atoi(line + 9) > 0;
}

static bool is_empty(const struct group *g)
{
	return !*group_get(g->dir, "cgroup.procs");
}

bool group_is_guardian(int pid)
{
	char dir[32];

	snprintf(dir, sizeof(dir), "/proc/%d", pid);
	return !strncmp(group_get(dir, "comm"), "fastmap-guard", 13);
}

static void kill_all(const struct group *g, bool guardians)
{
	char *list, *at;

	if (guardians && g->v2 && !group_put(g->dir, "cgroup.kill", "1"))
		return;
	list = strdup(group_get(g->dir, "cgroup.procs"));
	for (at = list; at && *at; at += strcspn(at, "\n"), at += !!*at)
		if (atoi(at) > 1 && (guardians || !group_is_guardian(atoi(at))))
			kill(atoi(at), SIGKILL);
	free(list);
}

static bool only_guardians(const struct group *g)
{
	char *list = strdup(group_get(g->dir, "cgroup.procs")), *at;
	bool only = true;

	for (at = list; only && at && *at; at += strcspn(at, "\n"), at += !!*at)
		only = group_is_guardian(atoi(at));
	free(list);
	return only;
}

static void wait_empty(const struct group *g, int ms, int guardian_ms)
{
	for (int t = 0; t < guardian_ms && !is_empty(g); t += 10) {
		if (t >= ms && !only_guardians(g))
			return;
		usleep(10000);
	}
}

void group_end(const struct group *g, int ms)
{
	if (!*g->dir)
		return;
	wait_empty(g, ms, GUARDIAN_MS);
	for (int i = 0; i < 100 && !is_empty(g); i++) {
		kill_all(g, i > 20);
		wait_empty(g, 50, i ? 50 : GUARDIAN_MS);
	}
	for (int i = 0; i < 100 && rmdir(g->dir) && errno == EBUSY; i++)
		usleep(10000);
}
