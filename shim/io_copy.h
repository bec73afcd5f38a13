/* SPDX-License-Identifier: MIT */
/* io_copy.h - the ioctls that copy file ranges, or change one (hook in
 * io_ioctl.c). */
#pragma once

#include <stdbool.h>

/* One ioctl; with `raw` behind it is the kernel, see FM_PASS_VIA. */
struct fm_ioctl {
	bool raw;
	int fd;
	unsigned long req;
};

bool fm_ioctl_is_clone(unsigned long req);
int fm_ioctl_clone(const struct fm_ioctl *c, void *arg);
bool fm_ioctl_is_space(unsigned long req);
int fm_ioctl_space(const struct fm_ioctl *c, void *arg);
/* io_pointed.c: before the request, what arg points to is the kernel's, or
 * stays in memory until fm_unpin. */
struct fm_pin;
void fm_ioctl_pointed(unsigned long req, const char *arg, struct fm_pin *pin);
/* The next ioctl, no guard. */
int fm_pass_ioctl(const struct fm_ioctl *c, void *arg);
