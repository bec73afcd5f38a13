/* SPDX-License-Identifier: MIT */
/* advise.h - what other rooms may use of advise/. */
#ifndef FM_ADVISE_H
#define FM_ADVISE_H

#include "asked.h"
#include "helper.h"
#include "krange.h"
#include "counted_calls.h"
#include "scan.h"
#include "source.h"
#include "streams.h"
#include "kernel_monitor.h"

#endif
