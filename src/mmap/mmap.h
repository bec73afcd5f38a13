/* SPDX-License-Identifier: MIT */
/* mmap.h - what other rooms may use of mmap/. */
#pragma once

#include "judge.h"
#include "mmap_anew.h"
#include "nonresident.h"
#include "unserved.h"
#include "promote.h"
#include "vetoes.h"
