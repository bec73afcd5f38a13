/* SPDX-License-Identifier: MIT */
/* observe.h - what other rooms may use of observe/. */
#pragma once

#include "base/types.h"

/* [plain] Add the counts of all files that are not mapped any more. */
void fm_stats_closed(struct fm_file_stats *sum);
/* [any] Of any kind: those that readahead had answered, too. */
uint64_t fm_stats_faults(const struct fm_file_stats *st);

/* [plain] The option has another value from now on, as by `fastmap set`. 0 or
 * -errno. No lock is held; the text lies in no mapping. */
int fm_settings_set(const char *key, const char *value);
