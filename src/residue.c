/* SPDX-License-Identifier: MIT */
#include "residue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "sys.h"

#define SLOTS 4096
#define PROBES 8

static struct entry {
	dev_t dev;
	ino_t ino;
	uintptr_t at; /* where it was mapped when last looked up */
} set[SLOTS];
static bool overflowed;

/* Linux 6.11: one mapping by its address, without printing all of them. */
struct map_query {
	uint64_t size, flags, addr;
	uint64_t start, end, vma_flags, page_size, offset, inode;
	uint32_t major, minor, name_size, id_size;
	uint64_t name, id;
};
#define MAP_QUERY _IOWR('f', 17, struct map_query)

static unsigned slot_of(const struct stat *st)
{
	return (unsigned)((st->st_ino * 0x9e3779b97f4a7c15ull) >> 40) % SLOTS;
}

static bool is(const struct entry *e, const struct stat *st)
{
	return e->ino == st->st_ino && e->dev == st->st_dev;
}

void fm_residue_add(const struct stat *st)
{
	for (unsigned k = 0; k < PROBES; k++) {
		struct entry *e = &set[(slot_of(st) + k) % SLOTS];

		if (is(e, st))
			return;
		if (e->ino)
			continue;
		*e = (struct entry){ st->st_dev, st->st_ino, 0 };
		return;
	}
	overflowed = true; /* from now on every file is looked up */
}

/*
 * One line of /proc/self/maps: "start-end perms offset maj:min inode path".
 * The device there is not that of stat on btrfs and overlayfs, so the inode
 * alone decides: a file taken for another stays the kernel's, no more.
 */
static bool line_names(const char *line, const struct stat *st)
{
	const char *p = line;

	for (int field = 0; field < 4; field++) {
		p = strchr(p, ' ');
		if (!p)
			return false;
		p++;
	}
	return strtoul(p, NULL, 10) == st->st_ino;
}

/* Still where it was? A program that maps a file piece by piece asks often. */
static bool mapped_at(int fd, uintptr_t at, const struct stat *st)
{
	struct map_query q = { .size = sizeof(q), .addr = at };

	return at && !fm_sys3(SYS_ioctl, fd, (long)MAP_QUERY, (long)&q) &&
	       q.inode == st->st_ino;
}

/* Where a line of the maps names the file; 0: nowhere. */
static uintptr_t look_up(int fd, const struct stat *st)
{
	static char buf[16384];
	uintptr_t found = 0;
	size_t have = 0;
	long n;

	while (!found &&
	       (n = fm_sys3(SYS_read, fd, buf + have,
			    sizeof(buf) - 1 - have)) > 0) {
		char *line = buf, *nl;

		have += (size_t)n;
		buf[have] = 0;
		while (!found && (nl = strchr(line, '\n')) != NULL) {
			*nl = 0;
			if (line_names(line, st))
				found = strtoul(line, NULL, 16);
			line = nl + 1;
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
		if (have == sizeof(buf) - 1)
			have = 0; /* a path longer than the buffer */
	}
	return found;
}

static bool still_mapped(const struct stat *st, uintptr_t *at)
{
	int fd = fm_sys_open("/proc/self/maps", O_RDONLY, 0);

	if (fd < 0)
		return true; /* cannot tell: assume the worst */
	if (!mapped_at(fd, *at, st))
		*at = look_up(fd, st);
	fm_sys_close(fd);
	return *at != 0;
}

bool fm_residue_has(const struct stat *st)
{
	uintptr_t nowhere = 0;

	for (unsigned k = 0; k < PROBES; k++) {
		struct entry *e = &set[(slot_of(st) + k) % SLOTS];

		if (is(e, st))
			return still_mapped(st, &e->at);
	}
	return overflowed && still_mapped(st, &nowhere);
}
