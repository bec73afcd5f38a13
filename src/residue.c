/* SPDX-License-Identifier: MIT */
#include "residue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "sys.h"

#define SLOTS 4096
#define PROBES 8

static struct {
	dev_t dev;
	ino_t ino;
} set[SLOTS];
static bool overflowed;

static unsigned slot_of(const struct stat *st)
{
	return (unsigned)((st->st_ino * 0x9e3779b97f4a7c15ull) >> 40) % SLOTS;
}

void fm_residue_add(const struct stat *st)
{
	for (unsigned k = 0; k < PROBES; k++) {
		unsigned i = (slot_of(st) + k) % SLOTS;

		if (set[i].ino && !(set[i].ino == st->st_ino &&
				    set[i].dev == st->st_dev))
			continue;
		set[i].ino = st->st_ino;
		set[i].dev = st->st_dev;
		return;
	}
	overflowed = true; /* from now on every file is looked up */
}

/* One line of /proc/self/maps: "start-end perms offset maj:min inode path" */
static bool line_names(const char *line, const struct stat *st)
{
	const char *p = line;
	unsigned long maj, min, ino;
	char *end;

	for (int field = 0; field < 3; field++) {
		p = strchr(p, ' ');
		if (!p)
			return false;
		p++;
	}
	maj = strtoul(p, &end, 16);
	if (*end != ':')
		return false;
	min = strtoul(end + 1, &end, 16);
	ino = strtoul(end, NULL, 10);
	return ino == st->st_ino && makedev(maj, min) == st->st_dev;
}

static bool still_mapped(const struct stat *st)
{
	static char buf[16384];
	int fd = fm_sys_open("/proc/self/maps", O_RDONLY, 0);
	size_t have = 0;
	bool found = fd < 0; /* cannot tell: assume the worst */
	long n;

	while (fd >= 0 && !found &&
	       (n = fm_sys3(SYS_read, fd, buf + have,
			    sizeof(buf) - 1 - have)) > 0) {
		char *line = buf, *nl;

		have += (size_t)n;
		buf[have] = 0;
		while (!found && (nl = strchr(line, '\n')) != NULL) {
			*nl = 0;
			found = line_names(line, st);
			line = nl + 1;
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
		if (have == sizeof(buf) - 1)
			have = 0; /* a path longer than the buffer */
	}
	if (fd >= 0)
		fm_sys_close(fd);
	return found;
}

bool fm_residue_has(const struct stat *st)
{
	bool listed = overflowed;

	for (unsigned k = 0; k < PROBES && !listed; k++) {
		unsigned i = (slot_of(st) + k) % SLOTS;

		listed = set[i].ino == st->st_ino && set[i].dev == st->st_dev;
	}
	return listed && still_mapped(st);
}
