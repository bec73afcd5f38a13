/* SPDX-License-Identifier: MIT */
/*
 * go_binary.h - is there code in the process that is known to make system calls
 * of its own, which no hook sees? Go's runtime does: its programs, and
 * libraries that are written in it. Their read(2) and write(2) with mapped
 * memory fail with EFAULT where faults come as signals, which nobody raises for
 * the kernel.
 */
#pragma once

#include <stdbool.h>

/* [plain] In the constructor: later the loader's lock may be held. */
void fm_rawcalls_start(void);
/* [plain] Is there such code? As it was when the library was loaded. */
bool fm_go_binary(void);
