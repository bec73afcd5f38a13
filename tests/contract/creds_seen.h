/* SPDX-License-Identifier: MIT */
/* creds_seen.h - who of this process, or in its memory, shows something else in
 * /proc than its main thread. */
#ifndef CREDS_SEEN_H
#define CREDS_SEEN_H

#include "ct.h"

#include <dirent.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>

/* The lines of /proc/PID/status that count, by their beginnings; then NULL. */
static const char *const *creds_keys;

static bool says(const char *line)
{
	for (size_t i = 0; creds_keys[i]; i++)
		if (!strncmp(line, creds_keys[i], strlen(creds_keys[i])))
			return true;
	return false;
}

/* These of one thread. Empty for one that has ended, or is a worker of the
 * kernel's. */
static void lines(const char *dir, const char *tid, char *buf, size_t size)
{
	char path[300], line[2048];
	FILE *f;

	buf[0] = 0;
	snprintf(path, sizeof(path), "%s/%s/status", dir, tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "Name:\tiou-", 10))
			break;
		if (says(line))
			strncat(buf, line, size - strlen(buf) - 1);
	}
	if (f)
		fclose(f);
}

/* Who is in our memory and is not of our process. */
static char beside[16];

static void find_beside(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;

	beside[0] = 0;
	while (dir && (d = readdir(dir))) {
		int pid = atoi(d->d_name);

		if (pid > 0 && pid != getpid() &&
		    ct_raw(SYS_kcmp, pid, getpid(), KCMP_VM, 0) == 0)
			snprintf(beside, sizeof(beside), "%d", pid);
	}
	if (dir)
		closedir(dir);
}

static int other_than(const char *mine, const char *dir, const char *tid)
{
	char other[4096];

	lines(dir, tid, other, sizeof(other));
	return other[0] && strcmp(mine, other);
}

/* Threads that show something else; and, as 0 or 1, who is beside. */
static void creds_differ(int *ret_threads, int *ret_beside)
{
	char mine[4096], me[16];
	DIR *dir = opendir("/proc/self/task");
	struct dirent *d;

	*ret_threads = 0;
	snprintf(me, sizeof(me), "%d", getpid());
	lines("/proc", me, mine, sizeof(mine));
	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			*ret_threads += other_than(mine, "/proc/self/task",
						   d->d_name);
	if (dir)
		closedir(dir);
	*ret_beside = beside[0] ? other_than(mine, "/proc", beside) : 0;
}

#endif
