/* SPDX-License-Identifier: MIT */
/* vm.h - what other rooms may use of vm/. */
#ifndef FM_VM_ROOM_H
#define FM_VM_ROOM_H

#include "demote_pagecache.h"
#include "fixed_replace.h"
#include "mapops.h"
#include "unmap_cache.h"

#endif
