/* SPDX-License-Identifier: MIT */
/* major.h - does anybody wait for the device? Inside warm/ only. [plain] */
#pragma once

#include <stdint.h>

/* Faults on this machine so far that have waited for a read; of this process
 * alone where the machine does not tell. */
uint64_t fm_warm_major_faults(void);
