/* SPDX-License-Identifier: MIT */
#include "posix_locks.h"
#include "store.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/fds.h"
#include "base/life.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/types.h"

#define LATER 256 /* size: more are never closed */

static struct {
	ino_t ino;
	int fd;
} later[LATER];
static unsigned nlater;

struct look_up {
	ino_t ino;
	bool held;
};

static bool posix_locks_look_at_line(const char *line, void *arg)
{
	struct look_up *l = arg;
	unsigned long n;

	l->held = sscanf(line, "%*d: POSIX %*s %*s %*d %*x:%*x:%lu", &n) == 1 &&
		  n == l->ino;
	return l->held;
}

bool fm_posix_locks_held(ino_t ino)
{
	int fd = fm_sys_open("/proc/locks", O_RDONLY | O_CLOEXEC, 0);
	struct look_up l = { .ino = ino };
	char text[4096];

	if (fd < 0)
		return false;
	fm_read_lines(fd, text, sizeof(text), posix_locks_look_at_line, &l);
	fm_sys_close(fd);
	return l.held;
}

static void close_unlocked(void)
{
	unsigned n = 0;

	for (unsigned k = 0; k < nlater; k++)
		if (fm_posix_locks_held(later[k].ino))
			later[n++] = later[k];
		else
			fm_fd_drop(later[k].fd);
	nlater = n;
}

static void close_later(ino_t ino, int fd)
{
	if (fd < 0 || nlater == LATER)
		return;
	later[nlater].ino = ino;
	later[nlater++].fd = fd;
}

void fm_posix_locks_close(struct fm_file *f)
{
	int *const fds[] = { &f->io->direct, &f->io->buffered, &f->io->was[0],
			     &f->io->was[1] };
	bool held;

	if (nlater)
		close_unlocked();
	held = fm_posix_locks_held(f->ino);
	for (size_t k = 0; k < sizeof(fds) / sizeof(*fds); k++) {
		if (held)
			close_later(f->ino, *fds[k]);
		else
			fm_fd_drop(*fds[k]);
		*fds[k] = -1;
	}
}

/* No record locks have come along. */
static void posix_locks_reset(void)
{
	struct stat st;

	for (unsigned k = 0; k < nlater; k++)
		if (!fm_sys_stat_notimes(later[k].fd, &st) &&
		    st.st_ino == later[k].ino)
			fm_fd_drop(later[k].fd);
		else
			fm_fd_forget(later[k].fd);
	nlater = 0;
}

FM_LIFE(posix_locks, .level = FM_LIFE_IO, .reset = posix_locks_reset)
