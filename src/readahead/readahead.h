/* SPDX-License-Identifier: MIT */
/* readahead.h - what other rooms may use of readahead/. */
#ifndef FM_READAHEAD_ROOM_H
#define FM_READAHEAD_ROOM_H

#include "ahead.h"
#include "chunk.h"
#include "detect.h"
#include "fetch.h"
#include "kernel_ahead.h"

#endif
