/* SPDX-License-Identifier: MIT */
/* readahead.h - what other rooms may use of readahead/. */
#pragma once

#include "ahead.h"
#include "chunk.h"
#include "detect.h"
#include "fetch.h"
#include "first_read.h"
#include "kernel_ahead.h"
