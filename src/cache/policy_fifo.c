/* SPDX-License-Identifier: MIT */
/* policy_fifo.c - first in, first out. */
#include "evict_policy.h"

const struct fm_evict_policy fm_evict_fifo FM_FAULT_CALLS = { .name = "fifo" };
