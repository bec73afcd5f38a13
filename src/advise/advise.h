/* SPDX-License-Identifier: MIT */
/* advise.h - what other rooms may use of advise/. */
#pragma once

#include "asked.h"
#include "helper.h"
#include "krange.h"
#include "counted_calls.h"
#include "scan.h"
#include "source.h"
#include "streams.h"
#include "waiters.h"
#include "kernel_monitor.h"
