/* SPDX-License-Identifier: MIT */
/* reason.h - why the kernel serves a mapping, and how the faults of what the
 * engine serves reach it: words of all rooms and of the shim. */
#pragma once

enum fm_delivery { FM_DELIVERY_SIGNAL, FM_DELIVERY_THREAD };

enum fm_server_reason {
#define FM_REASON(name, ...) name,
#include "reasons.def"
	FM_WHYS
};
