/* SPDX-License-Identifier: MIT */
/* demote_lay.h - the kernel's mappings in the place of ours. */
#pragma once

#include "base/types.h"

struct fm_list;

/* [plain] Under the space lock, f is frozen and clean: over each of l, whose
 * order changes. 0; or -errno, and *ret_n of them, the first, have been laid:
 * none, but where what is beyond all care failed for long. */
int fm_demote_lay_all(struct fm_file *f, struct fm_list *l, size_t *ret_n);
/* [plain] For fm_map_each, once the kernel has the page. */
void fm_clear_modes(struct fm_map *m, uint64_t i, void *arg);
