/* SPDX-License-Identifier: MIT */
/*
 * vetoes.h - does something still forbid the engine a file that the kernel
 * serves? (serve/veto.h)
 */
#pragma once

#include <stdint.h>

#include "serve/serve.h"

struct fm_file;
struct fm_krange_all;

/* By how it is mapped, all of it. */
#define FM_VETO_RANGES (FM_VETO_PRIVATE | FM_VETO_USE | FM_VETO_UNMAPPED)
/* Who has one of these never comes back. */
#define FM_VETO_LASTING (FM_VETO_RANGES | FM_VETO_RINGS | FM_VETO_TABLES)

/* [any] Of `which`, those that forbid it: what can be looked at is looked at
 * anew, and noted in f's entry; what cannot be told just now is as it was.
 * all: its ranges, or NULL. */
uint32_t fm_vetoes(struct fm_file *f, uint32_t which,
		   const struct fm_krange_all *all);
