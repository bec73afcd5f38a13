/* SPDX-License-Identifier: MIT */
#include "mem_bell.h"

struct fm_event fm_mem_bell;
_Atomic bool fm_mem_rests;
_Atomic bool fm_mem_woken;
