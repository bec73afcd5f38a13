/* SPDX-License-Identifier: MIT */
/*
 * sigthreads.c - before faults are delivered by signal: does any thread have
 * SIGBUS blocked in the kernel after all (created before our constructor ran,
 * or by raw system calls)? It would be killed by its first fault.
 */
#include "shim.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "sigstack.h"

struct dirent_raw {
	uint64_t ino;
	int64_t off;
	unsigned short len;
	unsigned char type;
	char name[];
};

/* libc blocks everything for moments (pthread_create, posix_spawn). */
#define TRIES 20

/* Kernel workers of io_uring show up as threads, with everything blocked;
 * they never run program code. */
static bool status_blocks_bus(const char *text)
{
	const char *p;

	if (!strncmp(text, "Name:\tiou-", 10))
		return false;
	p = strstr(text, "\nSigBlk:");
	return p && (strtoull(p + 8, NULL, 16) & FM_BUS_BIT);
}

static bool task_blocks_bus(const char *tid)
{
	char path[64], text[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	fd = fm_sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return false; /* it has exited */
	n = fm_sys3(SYS_read, fd, text, sizeof(text) - 1);
	fm_sys_close(fd);
	text[n > 0 ? n : 0] = 0;
	return status_blocks_bus(text);
}

static bool any_task_blocks_bus(void)
{
	char buf[2048] __attribute__((aligned(8)));
	bool found = false;
	long n;
	int fd = fm_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0)
		return false; /* no /proc: nothing to go by */
	while (!found &&
	       (n = fm_sys3(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		struct dirent_raw *d;

		for (long at = 0; !found && at < n; at += d->len) {
			d = (struct dirent_raw *)(buf + at);
			if (d->name[0] != '.')
				found = task_blocks_bus(d->name);
		}
	}
	fm_sys_close(fd);
	return found;
}

int fm_sig_threads_ready(void)
{
	const struct timespec ms = { 0, 1000000 };
	uint64_t bit = FM_BUS_BIT;

	fm_sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, 8);
	for (int i = 0; i < TRIES; i++) {
		if (!any_task_blocks_bus())
			return 0;
		fm_sys2(SYS_nanosleep, &ms, NULL);
	}
	fm_log(FM_LOG_WARN, "a thread of this program has SIGBUS blocked "
			    "beyond our reach; not using signals for faults");
	return -EBUSY;
}
