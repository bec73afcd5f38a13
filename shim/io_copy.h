/* SPDX-License-Identifier: MIT */
/* io_copy.h - the ioctls that copy file ranges (hook in io_ioctl.c). */
#ifndef FM_IO_COPY_H
#define FM_IO_COPY_H

#include <stdbool.h>

bool fm_ioctl_is_clone(unsigned long req);
int fm_ioctl_clone(int fd, unsigned long req, void *arg);
/* For syscall(). */
long fm_syscall_ioctl(int fd, unsigned long req, void *arg);
/* The next ioctl, no guard. */
int fm_pass_ioctl(int fd, unsigned long req, void *arg);

#endif
