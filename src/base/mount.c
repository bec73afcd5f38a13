/* SPDX-License-Identifier: MIT */
#include "mount.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "apart.h"
#include "sys.h"
#include "text.h"

#define BUF 32768 /* size: bytes: a line of overlayfs is long */

struct mount_look {
	uint64_t id;
	char *buf;
	dev_t dev;
	bool found;
};

/* "id parent major:minor root ...", proc_pid_mountinfo(5). */
static bool mount_is_it(const char *line, void *arg)
{
	struct mount_look *l = arg;
	unsigned maj;
	char *p;

	if (strtoul(line, &p, 10) != l->id || *p != ' ')
		return false;
	strtoul(p, &p, 10); /* the parent */
	maj = (unsigned)strtoul(p, &p, 10);
	if (*p != ':')
		return false;
	l->dev = makedev(maj, (unsigned)strtoul(p + 1, &p, 10));
	l->found = *p == ' ';
	return l->found;
}

static void read_mounts(void *arg)
{
	struct mount_look *l = arg;
	int fd = fm_sys_open("/proc/self/mountinfo", O_RDONLY, 0);

	if (fd < 0)
		return;
	fm_read_lines(fd, l->buf, BUF, mount_is_it, l);
	fm_sys_close(fd);
}

bool fm_mount_dev(const char *path, dev_t dev, ino_t ino, dev_t *ret)
{
	struct mount_look l = { .id = fm_sys_mount_id(path, dev, ino) };

	if (!l.id)
		return false;
	l.buf = fm_sys_anon(BUF);
	if (!l.buf)
		return false;
	fm_apart_from_fds(read_mounts, &l);
	fm_sys_munmap(l.buf, BUF);
	if (l.found)
		*ret = l.dev;
	return l.found;
}
