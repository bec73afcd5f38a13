/* SPDX-License-Identifier: MIT */
/* read_ahead.h - how much the kernel reads ahead on a device. [plain] */
#ifndef FM_READ_AHEAD_H
#define FM_READ_AHEAD_H

#include <stdint.h>
#include <sys/types.h>

/* Bytes; a lot where nothing tells (btrfs, no /sys). Asked for anew after ten
 * seconds. For one thread. */
uint64_t fm_readahead_bytes(dev_t dev);
/* As it is now; 0: nothing tells, or none. */
uint64_t fm_readahead_known(dev_t dev);

#endif
