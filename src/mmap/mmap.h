/* SPDX-License-Identifier: MIT */
/* mmap.h - what other rooms may use of mmap/. */
#ifndef FM_MMAP_ROOM_H
#define FM_MMAP_ROOM_H

#include "judge.h"
#include "mmap_anew.h"
#include "nonresident.h"
#include "unserved.h"
#include "promote.h"
#include "vetoes.h"

#endif
