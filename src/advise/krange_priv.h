/* SPDX-License-Identifier: MIT */
/* krange_priv.h - the table itself, under its lock. All [any]. */
#pragma once

#include "krange.h"

/* False: this is not the process whose table it is (a child by clone(2) alone,
 * or one that borrows the memory), and nobody may ever unlock it. */
bool fm_kranges_lock(uint64_t *ret_mask);
void fm_kranges_unlock(const uint64_t *mask);

extern struct fm_krange fm_kranges_v[FM_KRANGES]; /* by address */

/* The first that ends above a. */
unsigned fm_kranges_from(uintptr_t a);
/* Around changes of the table. */
void fm_kranges_change(void);
void fm_kranges_changed(void);
/* Within them: */
void fm_kranges_remove(unsigned i, unsigned n);
/* So that none reaches over either. */
void fm_kranges_cut(uintptr_t start, uintptr_t end);
/* What is one but for its borders becomes one, from number i to j. */
void fm_kranges_join(unsigned i, unsigned j);
uint32_t fm_kranges_new_id(void);
void fm_kranges_incomplete(void);
