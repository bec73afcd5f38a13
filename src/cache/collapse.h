/* SPDX-License-Identifier: MIT */
/*
 * collapse.h - a thread that puts pages which were copied in one by one into
 * huge pages, once it looks as if they stay (as khugepaged does for the
 * kernel): only where readahead could have moved a frame in, and only while
 * the cache is not full. It also makes the frames that are bought (frame.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* [plain] MADV_COLLAPSE of the 2 MiB at `a`, whose pages are present: 0 (also
 * when it is a huge page already), -EINVAL where there can be none, -EBUSY when
 * pages are missing, dirty or in use, -ENOMEM. `ask`: only whether there can be
 * one, so that it is worth making them present. */
int fm_collapse(uintptr_t a, bool ask);
