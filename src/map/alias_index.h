/* SPDX-License-Identifier: MIT */
/*
 * alias_index.h - which mappings of a file lie over the same pages of it.
 *
 * A program may have tens of thousands of windows on one file; a new one must
 * not be compared with all. A mapping is entered by its size class, under the
 * part (of the class's size) in which it begins and that in which it ends, so
 * that whoever overlaps a range is found under the parts that the range
 * touches. For who holds the space lock; readers without it walk the file's
 * list.
 */
#pragma once

#include "base/types.h"

/* [any] Mappings only become shorter while they are in the index. */
void fm_alias_add(struct fm_map *m);
void fm_alias_remove(struct fm_map *m);

/* [any] Call fn(o, m) at least once for every mapping o in the index that
 * overlaps m in the file, m itself included, and for some that do not. */
void fm_alias_each(struct fm_map *m,
		     void (*fn)(struct fm_map *o, struct fm_map *m));
