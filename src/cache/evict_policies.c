/* SPDX-License-Identifier: MIT */
#include "evict_policy.h"

const struct fm_evict_policy *const fm_evict_policies[] = {
#define FM_EVICTION(value, policy) &fm_evict_##policy,
#include "evictions.def"
};
