/* SPDX-License-Identifier: MIT */
#include "ahead.h"
#include "sys.h"
int fm_ahead_start(void) { return 0; }
void fm_ahead_reset(void) { }
FM_FAULT void fm_ahead_fault(struct fm_map *m, uint64_t i, bool write) { }
FM_FAULT bool fm_ahead_take(struct fm_map *m, uint64_t i, _Atomic uint8_t *p) { return false; }
void fm_ahead_want(struct fm_map *m, uint64_t i, uint64_t n) { }
void fm_ahead_forget(struct fm_map *m) { }
void fm_ahead_forget_range(struct fm_file *f, uint64_t first, uint64_t stop) { }
