/* SPDX-License-Identifier: MIT */
/* vm.h - what other rooms may use of vm/. */
#pragma once

#include "demote_pagecache.h"
#include "fixed_replace.h"
#include "mapops.h"
#include "unmap_cache.h"
#include "unmap_loss.h"
