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

/* Do readers in order wait for what the kernel reads ahead on dev? By what its
 * reads take (io/device.h), or is assumed where none has been seen. */
enum fm_late {
	FM_LATE_NO,
	FM_LATE_MAYBE, /* a fifth of the time and more; or nothing tells */
	FM_LATE_MOSTLY,
};
enum fm_late fm_readahead_late(dev_t dev);
