/* SPDX-License-Identifier: MIT */
/*
 * only_engine.h - files that the kernel cannot serve, for it does not have
 * their bytes (io/backing.h). What would make one of them the kernel's fails
 * with EOPNOTSUPP, and one line says what that was.
 */
#pragma once

#include "engine.h"

/* [any] The kernel would have to serve this file from now on, or this part of
 * it. Said once for each cause. Returns -EOPNOTSUPP. */
int fm_only_engine_refuse(const char *path, const char *source,
			  enum fm_server_reason why);
