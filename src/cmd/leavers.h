/* SPDX-License-Identifier: MIT */
/*
 * leavers.h - processes that a program leaves behind when it ends: daemons, and
 * guardians. They become children of this process, which hears of them so; what
 * these have started is not seen.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

void leavers_begin(void);
/* Is any there? Those that have ended are reaped. */
bool leavers_any(void);
/* "redis-server (4711), ...", without guardians, which end by themselves. From
 * then on they do not count. */
void leavers_names(char *ret, size_t size);
