/* SPDX-License-Identifier: MIT */
/* kernel_ahead.h - how much the kernel reads ahead on a device. [plain] */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Bytes, as it was in the last ten seconds; 0: nothing tells (btrfs, no /sys),
 * or none. */
uint64_t fm_readahead_known(dev_t dev);
/* Likewise; a lot where nothing tells. */
uint64_t fm_readahead_bytes(dev_t dev);
