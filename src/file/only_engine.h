/* SPDX-License-Identifier: MIT */
/*
 * only_engine.h - files that the kernel cannot serve, for it does not have
 * their bytes (io/backing.h). What would make one of them the kernel's fails
 * with EOPNOTSUPP, and one line says what that was.
 */
#ifndef FM_ONLY_ENGINE_H
#define FM_ONLY_ENGINE_H

#include "engine.h"

/* [any] The kernel would have to serve this file from now on, or this part of
 * it. Said once for each cause. Returns -EOPNOTSUPP. */
int fm_only_engine_refuse(const char *path, const char *source,
			  enum fm_server_reason why);

#endif
