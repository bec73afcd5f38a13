/* SPDX-License-Identifier: MIT */
/*
 * tasks.c - the threads of this process as the kernel lists them, including
 * those that no hook has seen.
 */
#include "shim.h"

#include <stdio.h>

#include "tasks.h"

struct dirent_raw {
	uint64_t ino;
	int64_t off;
	unsigned short len;
	unsigned char type;
	char name[];
};

bool fm_task_is(const char *tid, fm_task_fn test)
{
	char path[64], text[4096];
	ssize_t n;
	int fd;

	/* not below /proc/self/task: src/base/proc.c */
	snprintf(path, sizeof(path), "/proc/%s/status", tid);
	fd = fm_sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return false; /* it has exited */
	n = fm_sys3(SYS_read, fd, text, sizeof(text) - 1);
	fm_sys_close(fd);
	text[n > 0 ? n : 0] = 0;
	return test(tid, text);
}

int fm_tasks_any(fm_task_fn test)
{
	char buf[2048] __attribute__((aligned(8)));
	struct dirent_raw *d;
	int found = 0;
	long n;
	int fd = fm_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0)
		return fd;
	while (!found &&
	       (n = fm_sys3(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		for (long at = 0; !found && at < n; at += d->len) {
			d = (struct dirent_raw *)(buf + at);
			if (d->name[0] != '.')
				found = fm_task_is(d->name, test);
		}
	}
	fm_sys_close(fd);
	return found;
}
