/* SPDX-License-Identifier: MIT */
/* writeback.h - what other rooms may use of writeback/. */
#ifndef FM_WRITEBACK_ROOM_H
#define FM_WRITEBACK_ROOM_H

#include "wb.h"

#endif
