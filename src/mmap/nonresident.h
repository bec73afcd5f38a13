/* SPDX-License-Identifier: MIT */
/*
 * nonresident.h - which part of what is mapped of some files is not in memory,
 * by a sample of its pages. Whoever serves them, engine or kernel. All [plain],
 * by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fm_file;

/* Forget what was entered; enter f's mappings, under the space lock. */
void fm_nonresident_begin(void);
void fm_nonresident_add(struct fm_file *f);
/* Without a lock. In thousandths; 0: nothing, or the kernel does not tell, as
 * of files that the program neither owns nor may write to. */
uint32_t fm_nonresident_look(void);
