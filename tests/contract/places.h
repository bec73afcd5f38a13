/* SPDX-License-Identifier: MIT */
/* places.h - the files in which processes claim theirs, in a /dev/shm of our
 * own, where nobody else makes or removes them. */
#pragma once

#include "ct.h"

#include <sched.h>
#include <sys/mount.h>

static const char *const place_names[] = {
	"/dev/shm/fastmap-peers", "/dev/shm/fastmap-peers.0"
};
static const mode_t place_modes[] = { 0666, 0600 };

static void new_place(const char *name, mode_t mode)
{
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || fchmod(fd, mode))
		ct_die(name);
	close(fd);
}

static void own_places(void)
{
	if (geteuid())
		ct_skip("needs root");
	if (unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/dev/shm", "tmpfs", 0, "mode=1777"))
		ct_die("mount");
	for (int k = 0; k < 2; k++)
		new_place(place_names[k], place_modes[k]);
}
