/* SPDX-License-Identifier: MIT */
/*
 * mount.h - the file system that a file is on, by the number that the kernel
 * has for it. maps (proc.h) shows that one; stat(2) shows another on btrfs (one
 * for each subvolume) and overlayfs.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* [any] Of the file at path, if it is still the one with that device and inode
 * number as stat has them. Nobody but its own file system is asked. False: not
 * to be had. */
bool fm_mount_dev(const char *path, dev_t dev, ino_t ino, dev_t *ret);
