/* SPDX-License-Identifier: MIT */
/* stats.h - what the engine has done, as JSON. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

struct fm_file;

/* [plain] Everything as text; give it back with fm_json_free. `alone`: in the
 * guardian, of the dead program pid. 0 or -ENOMEM. */
int fm_stats_json(struct fm_json *ret, int pid, bool alone);
