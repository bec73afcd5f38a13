/* SPDX-License-Identifier: MIT */
/* fuzz.h - libFuzzer's entry; replay.c calls it for files. */
#ifndef FM_FUZZ_H
#define FM_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
