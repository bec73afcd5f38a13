/* SPDX-License-Identifier: MIT */
/* writeback.h - what other rooms may use of writeback/. */
#pragma once

#include "wb.h"
