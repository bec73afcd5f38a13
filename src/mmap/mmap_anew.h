/* SPDX-License-Identifier: MIT */
/* mmap_anew.h - a mapping is made again in a child of fork. */
#pragma once

#include "vm/vm.h"

/* [any] Under the space lock: the engine of this process serves fd's file
 * there, in place of whatever is there. Not where only the kernel could. 0 or
 * -errno. */
int fm_mmap_anew(int fd, const struct fm_kmap *k);
