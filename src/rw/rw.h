/* SPDX-License-Identifier: MIT */
/* rw.h - what other rooms may use of rw/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* [plain] RLIMIT_FSIZE: could the engine not write up to there? */
bool fm_beyond_fsize(uint64_t end);
