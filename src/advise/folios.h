/* SPDX-License-Identifier: MIT */
/*
 * folios.h - large folios leave where a program begins to store here and there.
 *
 * What the kernel reads ahead by megabytes lies in folios of up to 2 MiB, of
 * which a store to one page dirties all: write-back writes 2 MiB for 4 KiB.
 * Read again at MADV_RANDOM each page has its own. The helper thread's own.
 * [plain]
 */
#pragma once

#include <stdint.h>

/* What is mapped in of [start, end) of range id. */
void fm_folios_leave(uint32_t id, uintptr_t start, uintptr_t end);
/* Goes on with it. */
void fm_folios_turn(void);
